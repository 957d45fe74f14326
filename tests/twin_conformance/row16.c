// SPDX-License-Identifier: Apache-2.0
// Captures every edge at ICP1, and INT0 edges, while the loop is busy with instructions of one to four cycles.
#include "say.h"

enum { MAX = 400 };
volatile uint16_t captured[MAX], seen[MAX], n, m;

ISR(TIMER1_CAPT_vect) {
  const uint16_t at = ICR1;
  TCCR1B ^= _BV(ICES1);
  TIFR1 = _BV(ICF1);
  if (n < MAX) captured[n++] = at;
}

ISR(INT0_vect) {
  const uint16_t at = TCNT1;
  if (m < MAX) seen[m++] = at;
}

static __attribute__((noinline)) uint16_t work(uint16_t x) { return x * 3 + 1; }

int main(void) {
  TCCR1A = 0;
  TCCR1B = _BV(CS10);  // falling edge first
  TIMSK1 = _BV(ICIE1);
  EICRA = _BV(ISC00);
  EIMSK = _BV(INT0);
  sei();
  volatile uint16_t x = 0;
  for (;;) x = work(x);
}
