// SPDX-License-Identifier: Apache-2.0
// COBS and the check, one byte at a time.
#include "frame.h"

namespace core {

FrameWriter::FrameWriter(uint8_t* out, uint8_t payload_length, uint8_t type, uint8_t session, uint8_t seq, uint8_t ack)
    : start_(out), at_(out + 2), code_(out + 1), crc_(kCrc16Init) {
  *out = 0;
  const uint8_t header[kHeader] = {static_cast<uint8_t>(payload_length + kMinBody), type, session, seq, ack};
  append(header, kHeader);
}

// Every byte sent passes here: the state is kept in registers for the length of the loop.
void FrameWriter::append(const uint8_t* from, uint8_t count) {
  uint8_t* at = at_;
  uint8_t* code = code_;
  uint16_t crc = crc_;
  for (; count; --count) {
    const uint8_t byte = *from++;
    crc = crc16(crc, byte);
    if (byte) {
      *at = byte;
    } else {
      *code = static_cast<uint8_t>(at - code);
      code = at;
    }
    ++at;
  }
  at_ = at;
  code_ = code;
  crc_ = crc;
}

uint8_t FrameWriter::finish() {
  const uint16_t value = crc16_end(crc_);
  const uint8_t check[2] = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8)};
  append(check, 2);
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
