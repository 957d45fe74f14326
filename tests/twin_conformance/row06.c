// SPDX-License-Identifier: Apache-2.0
// ICP1 with its pull-up on and 0 V outside, read after each of 100 writes to its port.
#include "say.h"

int main(void) {
  uint8_t wrong = 0, captures = 0;
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(ICES1) | _BV(CS10);
  DDRB = _BV(1);
  PORTB = _BV(0);
  _delay_ms(1);
  TIFR1 = _BV(ICF1);
  for (uint8_t i = 0; i < 100; i++) {
    PORTB ^= _BV(1);
    _delay_us(1);
    if (PINB & _BV(0)) wrong++;
    if (TIFR1 & _BV(ICF1)) {
      TIFR1 = _BV(ICF1);
      captures++;
    }
  }
  say("wrong", wrong);
  say("captures", captures);
  end();
}
