// SPDX-License-Identifier: Apache-2.0
// Flags: SBI clears one, EIFR and PCIFR can be cleared, a mask that opens on a flag that is up interrupts at once,
// ADIF is cleared by a one, SLEEP without SE does nothing, and SBI on PIN toggles one pin.
#include "say.h"

static volatile uint8_t late, int0, pins;

ISR(TIMER0_OVF_vect) { late++; TIMSK0 = 0; }
ISR(INT0_vect) { int0++; }
ISR(PCINT1_vect) { pins++; }

int main(void) {
  link_up();
  TCCR1A = TCCR0A = 0;
  TCCR1B = TCCR0B = 1;
  OCR1A = 10;
  TCNT1 = 0xFF00;
  _delay_us(40);
  TIFR1 |= _BV(OCF1A);  // an SBI
  say("overflow_kept", (TIFR1 & _BV(TOV1)) != 0);
  say("match_cleared", !(TIFR1 & _BV(OCF1A)));

  TIMSK0 = _BV(TOIE0);  // its flag has been up for long
  sei();
  __asm__ volatile("nop\n nop\n");
  cli();
  say("late", late);

  DDRD = _BV(2);  // INT0 and PCINT10 driven by the firmware itself
  EICRA = _BV(ISC00);
  EIMSK = _BV(INT0);
  DDRC = PCMSK1 = _BV(2);
  PCICR = _BV(PCIE1);
  PORTD ^= _BV(2);
  PORTC ^= _BV(2);
  EIFR = _BV(INTF0);
  PCIFR = _BV(PCIF1);
  sei();
  __asm__ volatile("nop\n nop\n nop\n");
  cli();
  say("cleared", int0 + pins);

  ADMUX = _BV(REFS0);
  ADCSRA = _BV(ADEN) | _BV(ADSC);
  while (ADCSRA & _BV(ADSC)) {}
  say("adif_up", (ADCSRA & _BV(ADIF)) != 0);
  ADCSRA |= _BV(ADIF);
  say("adif_down", !(ADCSRA & _BV(ADIF)));

  SMCR = 0;
  sleep_cpu();
  say("awake", 1);

  DDRB = PORTB = 0x06;
  PINB |= _BV(1);  // an SBI
  say("portb", PORTB & 0x06);
  end();
}
