// SPDX-License-Identifier: Apache-2.0
// The link's bytes: a ring in, one frame's buffer out, both by interrupt. STOP is counted here, where nothing that
// happens to the loop can delay it.
#include <avr/interrupt.h>

#include "../core/frame.h"
#include "interrupts.h"
#include "uno.h"

#ifndef LAUNCHRIG_BAUD
#define LAUNCHRIG_BAUD protocol::kBaud
#endif

namespace uno {

volatile uint8_t lost_bytes;
volatile uint8_t bad_bytes;

namespace {

constexpr uint8_t kRing = 64;
constexpr uint16_t kBuiltDivisor = (F_CPU / 4 / LAUNCHRIG_BAUD - 1) / 2;  // to the nearest, with U2X

volatile uint8_t ring[kRing];
volatile uint8_t head, tail;
uint8_t zeros;  // in a row, up to kStopRun

uint8_t out[core::kMaxFrame];
volatile uint8_t out_at, out_count;

}  // namespace

void start_usart() {
  UCSR0A = _BV(U2X0);
  UBRR0 = kBuiltDivisor;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXCIE0) | _BV(RXEN0) | _BV(TXEN0);
  GPIOR0 |= board::due::sent;
}

}  // namespace uno

using namespace uno;

// A byte with a bad stop bit is read as a delimiter: it ends the frame that it spoiled. If all its bits are zero it is
// a line break, of which the receiver tells only once however long it is, and that is a STOP by itself.
ISR(USART_RX_vect) {
  const uint8_t status = UCSR0A;
  uint8_t byte = UDR0;
  uint8_t run = zeros;
  if (status & (_BV(FE0) | _BV(DOR0))) {
    if (status & _BV(DOR0)) count_lost(lost_bytes);
    if (status & _BV(FE0)) {
      count_lost(bad_bytes);
      if (byte == 0) run = protocol::kStopRun - 1;
      byte = 0;
    }
  }
  if (byte) {
    zeros = 0;
  } else {
    GPIOR0 |= board::due::received;
    if (run < protocol::kStopRun) {
      zeros = ++run;
      if (run == protocol::kStopRun) {
        trip(protocol::Cause::stop_received);
        return;  // a delimiter less does no harm, and this is the longest way through
      }
    }
  }
  const uint8_t at = head;
  const uint8_t held = static_cast<uint8_t>(at - tail);
  if (held >= kRing) {
    count_lost(lost_bytes);
    return;
  }
  ring[at & (kRing - 1)] = byte;
  head = static_cast<uint8_t>(at + 1);
  if (held >= kRing / 2) GPIOR0 |= board::due::received;
}

ISR(USART_UDRE_vect) {
  const uint8_t at = out_at;
  UDR0 = out[at];
  const uint8_t next = static_cast<uint8_t>(at + 1);
  out_at = next;
  if (next == out_count) {
    UCSR0B = _BV(RXCIE0) | _BV(RXEN0) | _BV(TXEN0);
    GPIOR0 |= board::due::sent;
  }
}

namespace board {

bool receive(uint8_t& byte) {
  const uint8_t at = tail;
  if (at == head) return false;
  byte = ring[at & (kRing - 1)];
  tail = static_cast<uint8_t>(at + 1);
  return true;
}

bool can_send() { return !(UCSR0B & _BV(UDRIE0)); }

uint8_t* send_buffer() { return out; }

// Written only when it differs: a write restarts the prescaler in the middle of whatever is on the line.
void set_rate(uint8_t divisor) {
  const uint16_t wanted = divisor ? divisor : kBuiltDivisor;
  if (UBRR0 != wanted) UBRR0 = wanted;
}

void send(uint8_t count) {
  out_at = 0;
  out_count = count;
  UCSR0B = _BV(RXCIE0) | _BV(RXEN0) | _BV(TXEN0) | _BV(UDRIE0);
}

}  // namespace board
