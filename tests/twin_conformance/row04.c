// SPDX-License-Identifier: Apache-2.0
// When ten bytes arrive for a reader that takes 0.9 byte times to fetch each. A2 says when it listens.
#include "say.h"

int main(void) {
  uint16_t first = 0, last = 0;
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  DDRC = PORTC = _BV(2);
  for (uint8_t i = 0; i < 10; i++) {
    while (!(UCSR0A & _BV(RXC0))) {}
    last = TCNT1;
    if (!i) first = last;
    _delay_us(76);
    (void)UDR0;
  }
  say("cycles", (uint16_t)(last - first));
  end();
}
