// SPDX-License-Identifier: Apache-2.0
// Deaf for 10 ms, then how many bytes are there and whether DOR0 tells of the others. A2 says when it is deaf.
#include "say.h"

int main(void) {
  link_up();
  DDRC = PORTC = _BV(2);
  _delay_ms(10);
  uint8_t bytes = 0, overrun = 0, sum = 0;
  for (uint8_t i = 0; i < 200; i++) {
    const uint8_t status = UCSR0A;
    if (!(status & _BV(RXC0))) continue;
    if (status & _BV(DOR0)) overrun++;
    sum = sum * 10 + UDR0;
    bytes++;
  }
  say("bytes", bytes);
  say("overruns", overrun);
  say("first", sum);
  end();
}
