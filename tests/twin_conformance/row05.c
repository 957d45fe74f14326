// SPDX-License-Identifier: Apache-2.0
// A2 goes up with the write of one zero byte.
#include "say.h"

int main(void) {
  link_up();
  DDRC = _BV(2);
  _delay_ms(1);
  PORTC = _BV(2);
  UDR0 = 0;
  for (;;) {}
}
