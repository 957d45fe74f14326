// SPDX-License-Identifier: Apache-2.0
// When a falling edge at ICP1 is captured. CANCELER = 1 switches the input noise canceler on. A2 says when it looks.
#include "say.h"

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = (CANCELER ? _BV(ICNC1) : 0) | _BV(CS10);
  TIFR1 = _BV(ICF1);
  DDRC = PORTC = _BV(2);
  while (!(TIFR1 & _BV(ICF1))) {}
  say("captured", ICR1);
  end();
}
