// SPDX-License-Identifier: Apache-2.0
// One conversion of channel 0, after a first one; A2 goes up with its start.
#include "say.h"

int main(void) {
  link_up();
  DDRC = _BV(2);
  ADMUX = _BV(REFS0);
  ADCSRA = _BV(ADEN) | _BV(ADSC) | 7;
  while (ADCSRA & _BV(ADSC)) {}
  _delay_ms(3);
  PORTC = _BV(2);
  ADCSRA |= _BV(ADSC);
  while (ADCSRA & _BV(ADSC)) {}
  say("count", ADC);
  end();
}
