// SPDX-License-Identifier: Apache-2.0
// An entry is its payload's length, its type, its payload; its number follows from its place.
#include "events.h"

namespace core {

void EventRing::clear() {
  head_ = tail_ = cursor_ = 0;
  base_seq_ = count_ = sent_ = 0;
}

bool EventRing::begin(protocol::Type type, uint8_t payload_length) {
  if (!fits(payload_length)) return false;
  put8(payload_length);
  put8(static_cast<uint8_t>(type));
  ++count_;
  return true;
}

void EventRing::put16(uint16_t value) {
  put8(static_cast<uint8_t>(value));
  put8(static_cast<uint8_t>(value >> 8));
}

void EventRing::put24(uint32_t value) {
  put16(static_cast<uint16_t>(value));
  put8(static_cast<uint8_t>(value >> 16));
}

void EventRing::put32(uint32_t value) {
  put16(static_cast<uint16_t>(value));
  put16(static_cast<uint16_t>(value >> 16));
}

void EventRing::put_tick(const Tick& tick) {
  put16(tick.low);
  put32(tick.overflows);
}

uint8_t EventRing::acknowledge(uint8_t expected) {
  const uint8_t arrived = static_cast<uint8_t>(expected - base_seq_);
  if (arrived > sent_) return 0;
  for (uint8_t n = arrived; n; --n) tail_ = static_cast<uint8_t>(tail_ + kOverhead + bytes_[tail_]);
  base_seq_ = expected;
  count_ = static_cast<uint8_t>(count_ - arrived);
  sent_ = static_cast<uint8_t>(sent_ - arrived);
  return arrived;
}

EventRing::Pending EventRing::entry(uint8_t at, uint8_t seq) const {
  return {seq, bytes_[static_cast<uint8_t>(at + 1)], bytes_[at], static_cast<uint8_t>(at + kOverhead)};
}

EventRing::Pending EventRing::take() {
  const Pending next = entry(cursor_, sent_seq());
  cursor_ = static_cast<uint8_t>(next.at + next.length);
  ++sent_;
  return next;
}

EventRing::Pending EventRing::oldest() const { return entry(tail_, base_seq_); }

// In two pieces when the payload wraps.
void EventRing::append_to(FrameWriter& frame, const Pending& event) const {
  const uint16_t to_end = static_cast<uint16_t>(sizeof bytes_ - event.at);
  const uint8_t first = event.length < to_end ? event.length : static_cast<uint8_t>(to_end);
  frame.append(bytes_ + event.at, first);
  frame.append(bytes_, static_cast<uint8_t>(event.length - first));
}

}  // namespace core
