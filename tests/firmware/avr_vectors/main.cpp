// SPDX-License-Identifier: Apache-2.0
// The golden frames on the AVR's own compiler and arithmetic: decodes and encodes every one with src/core, tells the
// failures and then PASS or FAIL over the UART, and stops.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <string.h>

#include "frame.h"
#include "vectors.h"

namespace board {
void rom_read(const void* from, void* to, uint8_t count) { memcpy_P(to, from, count); }
}  // namespace board

static void say(char letter) {
  while (!(UCSR0A & _BV(UDRE0))) {
  }
  UDR0 = static_cast<uint8_t>(letter);
}

static void say(const char* text) {
  while (*text) say(*text++);
}

static bool decodes(const Vector& vector) {
  core::FrameReader reader;
  for (uint8_t n = 0; n < vector.frame_length; ++n) {
    const core::FrameReader::Outcome outcome = reader.feed(vector.frame[n]);
    const bool last = n + 1 == vector.frame_length;
    if ((outcome == core::FrameReader::Outcome::frame) != last) return false;
  }
  return reader.type() == vector.type && reader.session() == vector.session && reader.seq() == vector.seq &&
         reader.ack() == vector.ack && reader.payload_length() == vector.payload_length &&
         memcmp(reader.payload(), vector.payload, vector.payload_length) == 0;
}

static bool encodes(const Vector& vector) {
  uint8_t out[core::kMaxFrame];
  core::FrameWriter writer(out, vector.payload_length, vector.type, vector.session, vector.seq, vector.ack);
  writer.append(vector.payload, vector.payload_length);
  return writer.finish() == vector.frame_length && memcmp(out, vector.frame, vector.frame_length) == 0;
}

int main() {
  UCSR0A = _BV(U2X0);
  UBRR0 = 16;
  UCSR0B = _BV(TXEN0);
  bool good = true;
  for (uint8_t n = 0; n < kVectorCount; ++n) {
    const Vector vector = core::rom(kVectors[n]);
    const bool passed = decodes(vector) && encodes(vector);
    if (!passed) {
      say("vector ");
      say(static_cast<char>('0' + n / 10));
      say(static_cast<char>('0' + n % 10));
      say(" fails\n");
    }
    good = good && passed;
  }
  say(good ? "PASS\n" : "FAIL\n");
  say('\0');  // a delimiter, for listeners that cut the stream into frames
  UCSR0A |= _BV(TXC0);
  while (!(UCSR0A & _BV(TXC0))) {
  }
  cli();
  sleep_enable();
  sleep_cpu();
}
