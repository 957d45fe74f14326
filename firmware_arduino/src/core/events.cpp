// SPDX-License-Identifier: Apache-2.0
// An entry is its payload's length, its type, its payload; its number follows from its place.
#include "events.h"

namespace core {

void EventRing::clear() {
  head_ = tail_ = cursor_ = 0;
  base_seq_ = count_ = sent_ = reached_ = 0;
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
  if (arrived > reached_) return 0;
  if (arrived > sent_) {  // it came after all, while a repetition was under way
    while (sent_ != arrived) take();
  }
  for (uint8_t n = arrived; n; --n) tail_ = static_cast<uint8_t>(tail_ + kOverhead + bytes_[tail_]);
  base_seq_ = expected;
  count_ = static_cast<uint8_t>(count_ - arrived);
  sent_ = static_cast<uint8_t>(sent_ - arrived);
  reached_ = static_cast<uint8_t>(reached_ - arrived);
  return arrived;
}

void EventRing::rewind() {
  cursor_ = tail_;
  sent_ = 0;
}

EventRing::Pending EventRing::take() {
  const uint8_t length = bytes_[cursor_];
  const Pending pending = {sent_seq(), bytes_[static_cast<uint8_t>(cursor_ + 1)], length,
                           static_cast<uint8_t>(cursor_ + kOverhead), sent_ < reached_};
  cursor_ = static_cast<uint8_t>(cursor_ + kOverhead + length);
  ++sent_;
  if (sent_ > reached_) reached_ = sent_;
  return pending;
}

// In two pieces when the payload wraps.
void EventRing::append_to(FrameWriter& frame, const Pending& event) const {
  const uint16_t to_end = static_cast<uint16_t>(sizeof bytes_ - event.at);
  const uint8_t first = event.length < to_end ? event.length : static_cast<uint8_t>(to_end);
  frame.append(bytes_ + event.at, first);
  frame.append(bytes_, static_cast<uint8_t>(event.length - first));
}

}  // namespace core
