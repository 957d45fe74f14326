// SPDX-License-Identifier: Apache-2.0
// Polls the receiver's status for a second, with nothing to receive, and sends a line.
#include "say.h"

int main(void) {
  link_up();
  say("polling", 1);
  for (;;)
    if (UCSR0A & _BV(RXC0)) (void)UDR0;
}
