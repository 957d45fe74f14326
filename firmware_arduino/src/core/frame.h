// SPDX-License-Identifier: Apache-2.0
// Frames: 00, COBS(length, type, session, seq, ack, payload, CRC), 00. Writing one takes no second buffer, reading
// one decodes byte by byte, so that the interrupt only has to fill a ring.
#pragma once

#include <stdint.h>

#include "crc.h"
#include "protocol.h"

namespace core {

constexpr uint8_t kHeader = 5;  // length, type, session, seq, ack
constexpr uint8_t kMinBody = kHeader + 2;
constexpr uint8_t kMaxBody = protocol::kMaxPayload + kMinBody;
constexpr uint8_t kMaxFrame = kMaxBody + 3;  // two delimiters and one COBS code: a body is shorter than 254

class FrameWriter {
 public:
  // `out` has room for kMaxFrame bytes. Exactly `payload_length` bytes must be appended.
  FrameWriter(uint8_t* out, uint8_t payload_length, uint8_t type, uint8_t session, uint8_t seq, uint8_t ack);
  void append(const uint8_t* from, uint8_t count);
  uint8_t finish();  // writes the check; returns the length on the wire

 private:
  uint8_t* const start_;
  uint8_t* at_;
  uint8_t* code_;  // where the distance to the next zero will go
  uint16_t crc_;
};

class FrameReader {
 public:
  enum class Outcome : uint8_t {
    nothing,  // more is needed
    frame,    // a good one: the accessors hold until the next call of feed()
    damaged,  // the check or the length is wrong
    noise,    // bytes between delimiters that are no frame
  };

  Outcome feed(uint8_t byte);

  uint8_t type() const { return body_[1]; }
  uint8_t session() const { return body_[2]; }
  uint8_t seq() const { return body_[3]; }
  uint8_t ack() const { return body_[4]; }
  const uint8_t* payload() const { return body_ + kHeader; }
  uint8_t payload_length() const { return static_cast<uint8_t>(count_ - kMinBody); }

 private:
  Outcome close();
  void store(uint8_t byte);

  uint8_t body_[kMaxBody];
  uint8_t count_ = 0;     // bytes decoded; beyond kMaxBody = too many
  uint8_t left_ = 0;      // data bytes until the next COBS code
  bool zero_due_ = false; // the next code is preceded by a zero
  bool fresh_ = true;     // nothing since the last delimiter
};

}  // namespace core
