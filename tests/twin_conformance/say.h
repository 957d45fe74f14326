// SPDX-License-Identifier: Apache-2.0
// What every conformance firmware needs: a link at 115200 Bd, a line `name=value`, and an end that simavr understands.
#pragma once
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>
#include <stdint.h>
#include <stdlib.h>
#include <util/delay.h>

static void link_up(void) {
  UCSR0A = _BV(U2X0);  // first: simavr works its byte time out when UBRR0 is written
  UBRR0 = 16;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(TXEN0) | _BV(RXEN0);
}

static void put(char c) {
  while (!(UCSR0A & _BV(UDRE0))) {}
  UCSR0A = _BV(U2X0) | _BV(TXC0);
  UDR0 = c;
}

static void say(const char *name, uint32_t value) {
  char digits[12];
  ultoa(value, digits, 10);
  while (*name) put(*name++);
  put('=');
  for (char *d = digits; *d; d++) put(*d);
  put('\n');
}

static void end(void) __attribute__((noreturn));
static void end(void) {
  while (!(UCSR0A & _BV(TXC0))) {}
  cli();
  wdt_reset();
  SMCR = _BV(SE);
  for (;;) sleep_cpu();
}
