// SPDX-License-Identifier: Apache-2.0
// Cycles of the second ADC conversion with the clock divided by 128, and what channels 0 and 1 read.
#include "say.h"

static uint16_t convert(uint8_t channel) {
  ADMUX = _BV(REFS0) | channel;
  ADCSRA |= _BV(ADSC);
  while (ADCSRA & _BV(ADSC)) {}
  return ADC;
}

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  ADCSRA = _BV(ADEN) | 7;
  convert(0);
  const uint16_t from = TCNT1;
  ADCSRA |= _BV(ADSC);
  while (ADCSRA & _BV(ADSC)) {}
  const uint16_t to = TCNT1;
  say("cycles", to - from);
  say("channel0", convert(0));
  say("channel1", convert(1));
  end();
}
