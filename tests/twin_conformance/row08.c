// SPDX-License-Identifier: Apache-2.0
// Fast PWM on D3: 16 MHz / 32 / 256, high for 64 of 256 counts.
#include "say.h"

int main(void) {
  DDRD = _BV(3);
  OCR2B = 63;
  TCCR2A = _BV(WGM21) | _BV(WGM20) | _BV(COM2B1);
  TCCR2B = _BV(CS21) | _BV(CS20);
  for (;;) {}
}
