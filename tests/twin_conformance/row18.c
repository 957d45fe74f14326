// SPDX-License-Identifier: Apache-2.0
// A running watchdog is changed from 2 s to 16 ms: whether it barks within 100 ms.
#include "say.h"

static volatile uint8_t barks;

ISR(WDT_vect) { barks++; }

int main(void) {
  link_up();
  cli();
  WDTCSR = _BV(WDCE) | _BV(WDE);
  WDTCSR = _BV(WDIE) | _BV(WDP2) | _BV(WDP1) | _BV(WDP0);
  wdt_reset();
  WDTCSR = _BV(WDCE) | _BV(WDE);
  WDTCSR = _BV(WDIE);
  sei();
  _delay_ms(100);
  cli();
  say("barked", barks != 0);
  end();
}
