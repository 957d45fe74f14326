// SPDX-License-Identifier: Apache-2.0
// Phase-correct PWM on D3, as the Arduino core's analogWrite() makes it. DRIVEN = 0 is the core's init() alone.
#include "say.h"

int main(void) {
  TCCR1A = _BV(WGM10);
  TCCR1B = _BV(CS11) | _BV(CS10);
  TCCR2A = _BV(WGM20);
  TCCR2B = _BV(CS22);
#if DRIVEN
  DDRD = _BV(3);
  OCR2B = 51;
  TCCR2A |= _BV(COM2B1);
#endif
  for (;;) {}
}
