// SPDX-License-Identifier: Apache-2.0
// Timer2 with nobody's interrupt on: its count, its flags, and what a PWM pin reads (1000 reads over many periods).
#include "say.h"

int main(void) {
  uint16_t high = 0;
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS10);
  DDRD = _BV(3);
  OCR2B = 63;
  TCCR2A = _BV(WGM21) | _BV(WGM20) | _BV(COM2B1);
  TCNT1 = 0;
  TCCR2B = _BV(CS20);
  TIFR2 = 0xFF;
  say("flags", TIFR2 & 7);
  _delay_us(100);
  say("later", TIFR2 & 7);
  for (uint16_t i = 0; i < 1000; i++) {
    if (PIND & _BV(3)) high++;
    _delay_us(0.8125);  // 13 cycles, so that all phases come
  }
  say("high", high);
  const uint8_t from = TCNT2;
  const uint16_t from1 = TCNT1;
  _delay_us(50);
  const uint8_t to = TCNT2;
  const uint16_t to1 = TCNT1;
  say("apart", (uint8_t)((to - from) - (uint8_t)(to1 - from1)));
  end();
}
