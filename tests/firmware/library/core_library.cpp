// SPDX-License-Identifier: Apache-2.0
// The core as a library of plain functions, so that Python can hold it against the host's side of the same protocol:
// the reader by itself, and the whole firmware on the stub board. See core.py.
#include <string.h>

#include <memory>

#include "app.h"
#include "stub_board.h"

using stub::the;
namespace due = board::due;

namespace {

std::unique_ptr<core::App> app;
uint8_t overflows = 0;

constexpr double kStepMs = 0.25;

// What the interrupts would do in this time; nobody turns the roller or presses, so that there is nothing to sample.
void step() {
  stub::later_ms(kStepMs);
  const uint64_t now = the.tick >> 16;
  if (static_cast<uint8_t>(now) != overflows) {
    overflows = static_cast<uint8_t>(now);
    if (overflows == the.alarm) the.due |= due::alarm;
  }
  if (the.exact_set && the.tick >= the.exact) {
    the.exact_set = false;
    the.due |= due::moment;
  }
}

void pass() {
  the.due |= due::sent;
  while (the.due) {
    const uint8_t what = the.due;
    const size_t sent = the.tx.size();
    the.due = 0;
    app->pass(what);
    if (the.tx.size() != sent) the.due |= due::sent;
  }
}

}  // namespace

extern "C" {

struct Found {
  uint8_t good, type, session, seq, ack, length;
  uint8_t payload[protocol::kMaxPayload];
};

void* reader_new() { return new core::FrameReader; }
void reader_free(void* reader) { delete static_cast<core::FrameReader*>(reader); }

// Feeds `count` bytes; tells what they completed, at most one for each byte.
uint32_t reader_feed(void* opaque, const uint8_t* bytes, uint32_t count, Found* found) {
  core::FrameReader& reader = *static_cast<core::FrameReader*>(opaque);
  uint32_t number = 0;
  for (; count; --count) {
    const core::FrameReader::Outcome outcome = reader.feed(*bytes++);
    if (outcome == core::FrameReader::Outcome::nothing) continue;
    Found& one = found[number++];
    one.good = outcome == core::FrameReader::Outcome::frame;
    if (!one.good) continue;
    one.type = reader.type();
    one.session = reader.session();
    one.seq = reader.seq();
    one.ack = reader.ack();
    one.length = reader.payload_length();
    memcpy(one.payload, reader.payload(), one.length);
  }
  return number;
}

// The only board there is, switched on anew.
void board_start() {
  stub::reset();
  stub::at_ms(200);
  overflows = 0;
  app.reset(new core::App);
  app->start();
}

// `count` bytes arrive, then `steps` of 0.25 ms pass. Returns how many bytes the board has to say; board_take() has them.
uint32_t board_run(const uint8_t* bytes, uint32_t count, uint32_t steps) {
  the.rx.insert(the.rx.end(), bytes, bytes + count);
  if (count) the.due |= due::received;
  pass();
  for (; steps; --steps) {
    step();
    pass();
  }
  return static_cast<uint32_t>(the.tx.size());
}

void board_take(uint8_t* out) {
  memcpy(out, the.tx.data(), the.tx.size());
  the.tx.clear();
}

uint16_t board_energised() { return the.on; }

}  // extern "C"
