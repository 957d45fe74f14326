// SPDX-License-Identifier: Apache-2.0
// Framing: golden vectors, damage, garbage.
#include <stddef.h>

#include <random>
#include <vector>

#include "doctest.h"
#include "frame.h"
#include "vectors.h"

using core::FrameReader;
using core::FrameWriter;
typedef std::vector<uint8_t> Bytes;
typedef FrameReader::Outcome Outcome;

static Bytes encoded(uint8_t type, const Bytes& payload) {
  uint8_t out[core::kMaxFrame];
  FrameWriter writer(out, static_cast<uint8_t>(payload.size()), type, 7, 1, 2);
  writer.append(payload.data(), static_cast<uint8_t>(payload.size()));
  return Bytes(out, out + writer.finish());
}

// Everything but `nothing` that a stream of bytes brings.
static std::vector<Outcome> outcomes(FrameReader& reader, const Bytes& bytes) {
  std::vector<Outcome> seen;
  for (uint8_t byte : bytes) {
    const Outcome outcome = reader.feed(byte);
    if (outcome != Outcome::nothing) seen.push_back(outcome);
  }
  return seen;
}

TEST_CASE("the check values are the published ones") {
  const uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  CHECK(core::crc16_of(digits, 9) == protocol::kCrcCheck);
  uint32_t crc = core::kCrc32Init;
  for (uint8_t digit : digits) crc = core::crc32(crc, digit);
  CHECK(core::crc32_end(crc) == 0xCBF43926u);
}

TEST_CASE("every golden frame is read and written") {
  for (uint8_t n = 0; n < kVectorCount; ++n) {
    const Vector& vector = kVectors[n];
    CAPTURE(vector.name);
    FrameReader reader;
    const Bytes frame(vector.frame, vector.frame + vector.frame_length);
    CHECK(outcomes(reader, frame) == std::vector<Outcome>{Outcome::frame});
    CHECK(reader.type() == vector.type);
    CHECK(reader.session() == vector.session);
    CHECK(reader.seq() == vector.seq);
    CHECK(reader.ack() == vector.ack);
    CHECK(Bytes(reader.payload(), reader.payload() + reader.payload_length()) ==
          Bytes(vector.payload, vector.payload + vector.payload_length));
    uint8_t out[core::kMaxFrame];
    FrameWriter writer(out, vector.payload_length, vector.type, vector.session, vector.seq, vector.ack);
    writer.append(vector.payload, vector.payload_length);
    CHECK(Bytes(out, out + writer.finish()) == frame);
  }
}

TEST_CASE("any damaged byte costs exactly its own frame") {
  const Bytes one = encoded(0x19, {1, 0, 3}), two = encoded(0x19, {4, 5});
  for (size_t at = 0; at < one.size(); ++at) {
    for (unsigned flip = 1; flip < 256; ++flip) {
      Bytes stream = one;
      stream[at] = static_cast<uint8_t>(stream[at] ^ flip);
      stream.insert(stream.end(), two.begin(), two.end());
      FrameReader reader;
      const std::vector<Outcome> seen = outcomes(reader, stream);
      REQUIRE(!seen.empty());
      CHECK(seen.back() == Outcome::frame);
      CHECK(reader.payload_length() == 2);
      // Delimiters carry nothing: damage to one of them may leave the frame whole.
      if (at != 0 && at + 1 != one.size()) CHECK(seen.front() != Outcome::frame);
    }
  }
}

TEST_CASE("an appended zero does not pass") {
  uint8_t body[16] = {11, 0x19, 7, 1, 2, 9, 8, 7, 0};  // one zero too many, length told wrongly
  body[0] = 10;
  const uint16_t check = core::crc16_of(body, 9);
  uint8_t out[core::kMaxFrame];
  // The same bytes in a frame of the right length do pass, so that it is the length that refuses them.
  FrameWriter writer(out, 4, 0x19, 7, 1, 2);
  const uint8_t more[] = {9, 8, 7, 0};
  writer.append(more, 4);
  FrameReader reader;
  CHECK(outcomes(reader, Bytes(out, out + writer.finish())) == std::vector<Outcome>{Outcome::frame});

  Bytes forged = {0};
  body[9] = static_cast<uint8_t>(check);
  body[10] = static_cast<uint8_t>(check >> 8);
  size_t code = forged.size();
  forged.push_back(0);
  for (int n = 0; n < 11; ++n) {
    if (body[n]) {
      forged.push_back(body[n]);
    } else {
      forged[code] = static_cast<uint8_t>(forged.size() - code);
      code = forged.size();
      forged.push_back(0);
    }
  }
  forged[code] = static_cast<uint8_t>(forged.size() - code);
  forged.push_back(0);
  CHECK(outcomes(reader, forged) == std::vector<Outcome>{Outcome::damaged});
}

TEST_CASE("delimiters in a row mean nothing") {
  FrameReader reader;
  CHECK(outcomes(reader, Bytes(100, 0)).empty());
}

TEST_CASE("what is too short or too long is noise, and the next frame is read") {
  FrameReader reader;
  const Bytes good = encoded(0x02, {});
  for (size_t length : {1u, 2u, 6u, 57u, 58u, 200u, 400u, 1000u}) {
    CAPTURE(length);
    Bytes stream(length, 0x01);
    if (length > 50) stream.assign(length, 0x55);
    stream.push_back(0);
    CHECK(outcomes(reader, stream) == std::vector<Outcome>{Outcome::noise});
    CHECK(outcomes(reader, good) == std::vector<Outcome>{Outcome::frame});
  }
}

TEST_CASE("garbage never passes and never breaks the reader") {
  std::mt19937 random(1);
  FrameReader reader;
  unsigned passed = 0;
  for (int n = 0; n < 400000; ++n) {
    // Zeros often enough that many lengths occur.
    const uint8_t byte = random() % 12 ? static_cast<uint8_t>(random()) : 0;
    if (reader.feed(byte) == Outcome::frame) ++passed;
  }
  CHECK(passed == 0);
  reader.feed(0);
  CHECK(outcomes(reader, encoded(0x02, {})) == std::vector<Outcome>{Outcome::frame});
}
