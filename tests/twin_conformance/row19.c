// SPDX-License-Identifier: Apache-2.0
// Four sources become pending with interrupts off, 278 times; each must be served exactly once a round.
#include "say.h"

static volatile uint16_t served[4];

ISR(TIMER0_OVF_vect) { TIMSK0 = 0; served[0]++; }
ISR(TIMER1_OVF_vect) { TIMSK1 = 0; served[1]++; }
ISR(TIMER2_OVF_vect) { TIMSK2 = 0; served[2]++; }
ISR(PCINT0_vect) { PCICR = 0; served[3]++; }

int main(void) {
  link_up();
  TCCR0A = TCCR1A = TCCR2A = 0;
  TCCR0B = TCCR1B = TCCR2B = 1;
  DDRB = PCMSK0 = _BV(1);
  for (uint16_t i = 0; i < 278; i++) {
    cli();
    TCNT1 = 0xFF80 + (i & 63);
    TIMSK0 = TIMSK1 = TIMSK2 = PCICR = 1;
    for (uint8_t wait = i & 31; wait; wait--) __asm__ volatile("nop");
    PORTB ^= _BV(1);
    _delay_us(20);
    sei();
    _delay_us(20);
  }
  cli();
  for (uint8_t i = 0; i < 4; i++) say("served", served[i]);
  end();
}
