// SPDX-License-Identifier: Apache-2.0
// Overflows of Timer1 in one second, while captures clear ICF1 at the end of a long routine.
#include "say.h"

static volatile uint16_t overflows;

ISR(TIMER1_OVF_vect) { overflows++; }

ISR(TIMER1_CAPT_vect) {
  TCCR1B ^= _BV(ICES1);
  _delay_us(8);
  TIFR1 = _BV(ICF1);
}

int main(void) {
  link_up();
  DDRB = _BV(0);  // ICP1 as output: the firmware makes its own edges
  TCCR1A = 0;
  TCCR1B = _BV(ICES1) | _BV(CS10);
  TIMSK1 = _BV(TOIE1) | _BV(ICIE1);
  OCR0A = 186;  // 5 kHz
  TCCR0A = _BV(WGM01);
  TCCR0B = _BV(CS01);
  sei();
  TCNT1 = 0;
  for (uint16_t i = 0; i < 10695; i++) {  // 1 s in steps of 187 * 8 cycles
    while (!(TIFR0 & _BV(OCF0A))) {}
    TIFR0 = _BV(OCF0A);
    if (i & 1) PORTB ^= _BV(0);
  }
  cli();
  say("overflows", overflows);
  end();
}
