// SPDX-License-Identifier: Apache-2.0
// The far side of a link under test: sends back what it receives, byte for byte, however fast it comes.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static volatile uint8_t ring[256], head, tail;

ISR(USART_RX_vect) {
  ring[head++] = UDR0;
  UCSR0B |= _BV(UDRIE0);
}

ISR(USART_UDRE_vect) {
  UDR0 = ring[tail++];
  if (tail == head) UCSR0B &= (uint8_t)~_BV(UDRIE0);
}

int main(void) {
  UCSR0A = _BV(U2X0);
  UBRR0 = 16;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(TXEN0) | _BV(RXEN0) | _BV(RXCIE0);
  SMCR = _BV(SE);
  sei();
  for (;;) sleep_cpu();
}
