// SPDX-License-Identifier: Apache-2.0
// Watchdog in interrupt-only mode at 16 ms: how often it interrupts in 100 ms.
#include "say.h"

static volatile uint8_t barks;

ISR(WDT_vect) { barks++; }

int main(void) {
  link_up();
  cli();
  WDTCSR = _BV(WDCE) | _BV(WDE);
  WDTCSR = _BV(WDIE);
  sei();
  _delay_ms(100);
  cli();
  say("barks", barks);
  end();
}
