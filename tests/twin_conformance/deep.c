// SPDX-License-Identifier: Apache-2.0
// Uses the stack to a known depth, keeps interrupts off for a known time, stays in a routine for a known time.
#include "say.h"

ISR(TIMER1_COMPA_vect) { _delay_us(20); TIMSK1 = 0; }

static __attribute__((noinline)) uint8_t dig(uint8_t depth) {
  volatile uint8_t pad[8];
  pad[0] = depth;
  return depth ? dig(depth - 1) + pad[0] : pad[0];
}

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  OCR1A = 5000;
  TIMSK1 = _BV(OCIE1A);
  sei();
  _delay_ms(1);
  cli();
  _delay_us(50);
  sei();
  __asm__ volatile("nop");
  say("sum", dig(20));
  const uint16_t sp = SP;
  say("sp", sp);
  end();
}
