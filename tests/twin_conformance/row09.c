// SPDX-License-Identifier: Apache-2.0
// After every reset: tells the reset cause, then each byte and each edge at ICP1 that comes. A2 is up from then on.
#include "say.h"

int main(void) {
  const uint8_t cause = MCUSR;
  MCUSR = 0;
  wdt_disable();
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(ICES1) | _BV(CS10);
  say("cause", cause);
  DDRC = PORTC = _BV(2);
  for (;;) {
    if (TIFR1 & _BV(ICF1)) {
      TIFR1 = _BV(ICF1);
      say("edge", PINB & 1);
    }
    if (UCSR0A & _BV(RXC0)) {
      const uint8_t byte = UDR0;
      if (byte == 'w') {  // hang with the watchdog on
        wdt_enable(WDTO_15MS);
        for (;;) {}
      }
      say("byte", byte);
    }
  }
}
