// SPDX-License-Identifier: Apache-2.0
// Sleeps from overflow to overflow. ENABLED = 1 relies on the low level of INT0 besides.
#include "say.h"

ISR(TIMER1_OVF_vect) {}
ISR(INT0_vect) { EIMSK = 0; }

int main(void) {
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  TIMSK1 = _BV(TOIE1);
#if ENABLED
  EIMSK = _BV(INT0);
#endif
  sei();
  for (;;) sleep_mode();
}
