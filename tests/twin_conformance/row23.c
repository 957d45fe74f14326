// SPDX-License-Identifier: Apache-2.0
// Watchdog in interrupt and reset mode at 64 ms, hung with interrupts off. A2 goes up with the last WDR.
#include "say.h"

int main(void) {
  const uint8_t cause = MCUSR;
  MCUSR = 0;
  wdt_disable();
  link_up();
  if (cause & _BV(WDRF)) {
    say("cause", cause);
    end();
  }
  WDTCSR = _BV(WDCE) | _BV(WDE);
  WDTCSR = _BV(WDE) | _BV(WDIE) | _BV(WDP1);
  DDRC = _BV(2);
  wdt_reset();
  PORTC = _BV(2);
  for (;;) {}
}
