// SPDX-License-Identifier: Apache-2.0
// Cycles from the overflow of Timer1 to the first instruction of its routine, asleep (SLEEP = 1) or in a row of NOPs.
#include "say.h"

static volatile uint16_t count;

ISR(TIMER1_OVF_vect, ISR_NAKED) {
  __asm__ volatile("lds r24, %0\n lds r25, %0+1\n" ::"n"(0x84) : "r24", "r25");
  __asm__ volatile("sts %0, r24\n sts %0+1, r25\n reti\n" ::"i"(&count));
}

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  TCNT1 = 0xFF00;
  TIMSK1 = _BV(TOIE1);
  sei();
#if SLEEP
  SMCR = _BV(SE);
  sleep_cpu();
#else
  for (uint8_t i = 0; i < 100; i++) __asm__ volatile("nop\n nop\n nop\n nop\n");
#endif
  cli();
  say("cycles", count);
  end();
}
