// SPDX-License-Identifier: Apache-2.0
// The ring of reliable events: each is sent once and stays until the host has acknowledged it; the oldest can be sent
// again, since it is the one that a host lacks. 256 bytes, so that a byte index wraps by itself.
#pragma once

#include <stdint.h>

#include "frame.h"
#include "protocol.h"
#include "tick.h"

namespace core {

class EventRing {
 public:
  static constexpr uint8_t kOverhead = 2;  // length and type of an entry

  void clear();

  // Is there room for an event with this much payload? One byte stays free, so that full and empty differ.
  bool fits(uint8_t payload_length) const { return payload_length + kOverhead <= room(); }
  uint8_t room() const { return static_cast<uint8_t>(tail_ - head_ - 1); }

  // Appends an event; false, and nothing appended, when there is no room. Exactly `payload_length` bytes follow.
  bool begin(protocol::Type type, uint8_t payload_length);
  void put8(uint8_t value) { bytes_[head_++] = value; }
  void put16(uint16_t value);
  void put24(uint32_t value);
  void put32(uint32_t value);
  void put_tick(const Tick& tick);

  // Acknowledgement: everything before `expected` has arrived. Returns how many events that is news of; a number that
  // makes no sense is none.
  uint8_t acknowledge(uint8_t expected);

  uint8_t sent_seq() const { return static_cast<uint8_t>(base_seq_ + sent_); }  // of the next one to send
  bool unsent() const { return sent_ != count_; }
  bool in_flight() const { return sent_ != 0; }
  bool empty() const { return count_ == 0; }

  // An event to send; append_to() writes its payload.
  struct Pending {
    uint8_t seq, type, length, at;
  };
  Pending take();          // the next one; only when unsent()
  Pending oldest() const;  // once more; only when in_flight()
  void append_to(FrameWriter& frame, const Pending& event) const;

 private:
  Pending entry(uint8_t at, uint8_t seq) const;

  uint8_t bytes_[256];
  uint8_t head_ = 0;      // where the next event begins
  uint8_t tail_ = 0;      // the oldest event
  uint8_t cursor_ = 0;    // the next event to send
  uint8_t base_seq_ = 0;  // number of the oldest
  uint8_t count_ = 0;     // events held
  uint8_t sent_ = 0;      // of these, sent
};

}  // namespace core
