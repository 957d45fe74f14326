// SPDX-License-Identifier: Apache-2.0
// Instructions that run between SEI and a pending interrupt.
#include "say.h"

register uint8_t after __asm__("r2");
static volatile uint8_t ran;

ISR(TIMER0_OVF_vect) {
  ran = after;
  TIMSK0 = 0;
}

int main(void) {
  link_up();
  TCCR0A = 0;
  TCCR0B = 1;
  TIMSK0 = 1;
  after = 0;
  _delay_us(40);
  __asm__ volatile(
      "sei\n inc r2\n inc r2\n inc r2\n inc r2\n cli\n" ::: "memory");
  say("instructions", ran);
  end();
}
