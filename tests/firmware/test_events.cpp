// SPDX-License-Identifier: Apache-2.0
// The event ring and the edge queues: full, empty, wrapped.
#include <deque>
#include <vector>

#include "doctest.h"
#include "edges.h"
#include "events.h"

using core::EventRing;
using protocol::Type;

static uint8_t first_byte(const EventRing& ring, const EventRing::Pending& event) {
  uint8_t out[core::kMaxFrame];
  core::FrameWriter writer(out, event.length, event.type, 1, event.seq, 0);
  ring.append_to(writer, event);
  core::FrameReader reader;
  const uint8_t count = writer.finish();
  for (uint8_t n = 0; n < count; ++n) reader.feed(out[n]);
  REQUIRE(reader.payload_length() == event.length);
  for (uint8_t n = 1; n < event.length; ++n) REQUIRE(reader.payload()[n] == static_cast<uint8_t>(reader.payload()[0] + n));
  return reader.payload()[0];
}

static bool put(EventRing& ring, uint8_t length, uint8_t from) {
  if (!ring.begin(Type::ECHOED, length)) return false;
  for (uint8_t n = 0; n < length; ++n) ring.put8(static_cast<uint8_t>(from + n));
  return true;
}

TEST_CASE("the ring takes events until it is full, and loses none") {
  EventRing ring;
  uint8_t held = 0;
  while (put(ring, 10, held)) ++held;
  CHECK(held == 21);  // 21 * 12 = 252 of 255
  CHECK(!ring.fits(2));
  CHECK(ring.fits(1));
  for (uint8_t n = 0; n < held; ++n) {
    const EventRing::Pending event = ring.take();
    CHECK(event.seq == n);
    CHECK(first_byte(ring, event) == n);
  }
  CHECK(!ring.unsent());
  CHECK(ring.acknowledge(held) == held);
  CHECK(ring.room() == 255);
}

TEST_CASE("the ring can be filled to the last byte") {
  EventRing ring;
  for (int n = 0; n < 5; ++n) REQUIRE(put(ring, 48, 0));
  REQUIRE(put(ring, 3, 0));
  CHECK(ring.room() == 0);
  CHECK(!put(ring, 0, 0));
}

TEST_CASE("the oldest event that is not acknowledged can be sent again at any time, and the next one goes on") {
  EventRing ring;
  for (uint8_t n = 0; n < 6; ++n) put(ring, 5, static_cast<uint8_t>(n * 16));
  for (int n = 0; n < 4; ++n) ring.take();
  for (uint8_t acknowledged : {1, 2, 3}) {
    CHECK(ring.acknowledge(acknowledged) == 1);
    const EventRing::Pending event = ring.oldest();
    CHECK(event.seq == acknowledged);
    CHECK(first_byte(ring, event) == acknowledged * 16);
  }
  const EventRing::Pending event = ring.take();
  CHECK(event.seq == 4);
  CHECK(first_byte(ring, event) == 4 * 16);
}

TEST_CASE("an acknowledgement of what was never sent is refused") {
  EventRing ring;
  for (uint8_t n = 0; n < 3; ++n) put(ring, 5, n);
  ring.take();
  CHECK(!ring.acknowledge(2));
  CHECK(!ring.acknowledge(255));
  CHECK(ring.acknowledge(1) == 1);
  CHECK(ring.acknowledge(1) == 0);  // again: nothing new
}

TEST_CASE("numbers and bytes wrap for ever") {
  EventRing ring;
  uint8_t next = 0;
  for (int n = 0; n < 5000; ++n) {
    const uint8_t length = static_cast<uint8_t>(n % 49);
    REQUIRE(put(ring, length, static_cast<uint8_t>(n)));
    const EventRing::Pending event = ring.take();
    REQUIRE(event.seq == next);
    if (length) REQUIRE(first_byte(ring, event) == static_cast<uint8_t>(n));
    ++next;
    if (n % 4 == 3) REQUIRE(ring.acknowledge(next));
  }
}

TEST_CASE("an edge queue holds 64 and tells when the 65th is lost") {
  static core::EdgeQueue queue;
  for (int turn = 0; turn < 10; ++turn) {  // through every wrap of the index
    for (int n = 0; n < 64; ++n) REQUIRE(queue.push(static_cast<uint16_t>(n * 1000), static_cast<uint8_t>(128 + n), n & 1));
    CHECK(queue.pending() == 64);
    CHECK(!queue.push(1, 2, true));
    for (int n = 0; n < 64; ++n) {
      const core::Edge edge = queue.pop();
      CHECK(edge.low == static_cast<uint16_t>(n * 1000));
      CHECK(edge.overflow7 == n);  // of 8 bits the low 7 are kept
      CHECK(edge.level == (n & 1));
    }
    CHECK(queue.pending() == 0);
    queue.push(0, 0, false);  // shifts the next turn by one
    queue.pop();
  }
}

TEST_CASE("the slow queue holds 16 and tells all levels") {
  static core::SlowQueue queue;
  for (uint8_t n = 0; n < 16; ++n) REQUIRE(queue.push(static_cast<uint16_t>(n * 999), static_cast<uint8_t>(200 + n), n));
  CHECK(!queue.push(0, 0, 0));
  CHECK(queue.levels_at(static_cast<uint8_t>(queue.tail() + 5)) == 5);
  const core::SlowQueue::Change change = queue.at(static_cast<uint8_t>(queue.tail() + 7));
  CHECK(change.low == 6993);
  CHECK(change.overflow7 == ((200 + 7) & 0x7F));
  CHECK(change.levels == 7);
  queue.drop(16);
  CHECK(queue.pending() == 0);
}
