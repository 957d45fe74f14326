// SPDX-License-Identifier: Apache-2.0
// Sends a line, then polls the receiver's status with nothing to receive and nothing to tell of.
#include "say.h"

int main(void) {
  link_up();
  say("polling", 1);
  while (!(UCSR0A & _BV(TXC0))) {}
  UCSR0A = _BV(U2X0) | _BV(TXC0);
  for (;;)
    if (UCSR0A & _BV(RXC0)) (void)UDR0;
}
