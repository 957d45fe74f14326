// SPDX-License-Identifier: Apache-2.0
// Cycles from a write to UDR0 until TXC0, at 115200 8N1.
#include "say.h"

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  put('\n');
  _delay_ms(1);
  UCSR0A = _BV(U2X0) | _BV(TXC0);
  const uint16_t from = TCNT1;
  UDR0 = '\n';
  while (!(UCSR0A & _BV(TXC0))) {}
  const uint16_t to = TCNT1;
  say("cycles", to - from);
  end();
}
