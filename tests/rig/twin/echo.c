// SPDX-License-Identifier: Apache-2.0
// A board for the twin's own tests: sleeps; sends back each byte; 'r' and 's' switch the roller (duty 1/4) on and off,
// 'l' presses the launch button for 10 ms, 'p' and 'q' switch toy power; edges of beam A come back as 'A' or 'a' and a zero.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/delay.h>

volatile uint32_t marker = 0x12345678;
static volatile uint8_t got, fresh, edge;

ISR(USART_RX_vect) {
  got = UDR0;
  fresh = 1;
}

ISR(TIMER1_CAPT_vect) {
  edge = TCCR1B & _BV(ICES1) ? 'a' : 'A';  // rising: clear
  TCCR1B ^= _BV(ICES1);
  TIFR1 = _BV(ICF1);
}

static void put(uint8_t byte) {
  while (!(UCSR0A & _BV(UDRE0))) {}
  UDR0 = byte;
}

int main(void) {
  UCSR0A = _BV(U2X0);
  UBRR0 = 16;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(TXEN0) | _BV(RXEN0) | _BV(RXCIE0);
  TCCR1A = 0;
  TCCR1B = _BV(CS10);  // falling: blocked
  TIMSK1 = _BV(ICIE1);
  OCR2B = 63;
  TCCR2A = _BV(WGM21) | _BV(WGM20);
  TCCR2B = _BV(CS21);
  SMCR = _BV(SE);
  for (;;) {
    cli();
    if (!fresh && !edge) {
      sei();
      sleep_cpu();
      continue;
    }
    const uint8_t byte = got, is_new = fresh, change = edge;
    fresh = edge = 0;
    sei();
    if (change) {
      put(change);
      put(0);
    }
    if (!is_new) continue;
    if (byte == 'r') { DDRD |= _BV(3); TCCR2A |= _BV(COM2B1); }
    if (byte == 's') { TCCR2A &= ~_BV(COM2B1); DDRD &= ~_BV(3); }
    if (byte == 'p') { DDRC |= _BV(5); PORTC |= _BV(5); }
    if (byte == 'q') { PORTC &= ~_BV(5); }
    if (byte == 'l') {
      DDRC |= _BV(2);
      PORTC |= _BV(2);
      _delay_ms(10);
      PORTC &= ~_BV(2);
    }
    put(byte);
    put(0);
  }
}
