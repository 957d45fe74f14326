// SPDX-License-Identifier: Apache-2.0
// COBS and the check, one byte at a time.
#include "frame.h"

namespace core {

FrameWriter::FrameWriter(uint8_t* out, uint8_t payload_length, uint8_t type, uint8_t session, uint8_t seq, uint8_t ack)
    : start_(out), at_(out + 2), code_(out + 1), crc_(kCrc16Init) {
  *out = 0;
  put(static_cast<uint8_t>(payload_length + kMinBody));
  put(type);
  put(session);
  put(seq);
  put(ack);
}

void FrameWriter::stuff(uint8_t byte) {
  uint8_t* at = at_;
  if (byte == 0) {
    *code_ = static_cast<uint8_t>(at - code_);
    code_ = at;
  } else {
    *at = byte;
  }
  at_ = at + 1;
}

uint8_t FrameWriter::finish() {
  const uint16_t check = crc16_end(crc_);
  stuff(static_cast<uint8_t>(check));
  stuff(static_cast<uint8_t>(check >> 8));
  *code_ = static_cast<uint8_t>(at_ - code_);
  *at_++ = 0;
  return static_cast<uint8_t>(at_ - start_);
}

void FrameReader::store(uint8_t byte) {
  if (count_ < kMaxBody) {
    body_[count_++] = byte;
  } else {
    count_ = kMaxBody + 1;
  }
}

FrameReader::Outcome FrameReader::feed(uint8_t byte) {
  if (byte == 0) return fresh_ ? Outcome::nothing : close();
  if (fresh_) {
    fresh_ = false;
    count_ = 0;
    zero_due_ = false;
    left_ = static_cast<uint8_t>(byte - 1);
  } else if (left_ == 0) {
    if (zero_due_) store(0);
    left_ = static_cast<uint8_t>(byte - 1);
  } else {
    store(byte);
    --left_;
    return Outcome::nothing;
  }
  zero_due_ = byte != 0xFF;  // a full block of 254 has no zero behind it
  return Outcome::nothing;
}

FrameReader::Outcome FrameReader::close() {
  const bool whole = left_ == 0;
  fresh_ = true;
  left_ = 0;
  if (!whole || count_ < kMinBody || count_ > kMaxBody) return Outcome::noise;
  const uint8_t checked = static_cast<uint8_t>(count_ - 2);
  const uint16_t check = crc16_of(body_, checked);
  const bool good = body_[0] == count_ && body_[checked] == static_cast<uint8_t>(check) &&
                    body_[checked + 1] == static_cast<uint8_t>(check >> 8);
  return good ? Outcome::frame : Outcome::damaged;
}

}  // namespace core
