// SPDX-License-Identifier: Apache-2.0
// Shortest and longest time between ten bytes, for a reader that is busy for HOLD_US after each. A2 says when it listens.
#include "say.h"

int main(void) {
  uint16_t last = 0, shortest = 0xFFFF, longest = 0;
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  DDRC = PORTC = _BV(2);
  for (uint8_t i = 0; i < 10; i++) {
    while (!(UCSR0A & _BV(RXC0))) {}
    const uint16_t now = TCNT1, between = now - last;
    (void)UDR0;
    last = now;
    if (i && between < shortest) shortest = between;
    if (i && between > longest) longest = between;
    _delay_us(HOLD_US);
  }
  say("shortest", shortest);
  say("longest", longest);
  end();
}
