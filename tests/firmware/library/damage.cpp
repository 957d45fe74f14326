// SPDX-License-Identifier: Apache-2.0
// Batches of 256 frames, so that a sequence number names one of them and a look-up says whether it was sent.
#include "damage.h"

#include <string.h>

#include <random>
#include <vector>

#include "frame.h"

namespace {

typedef std::vector<uint8_t> Bytes;

constexpr unsigned kBatch = 256;

// SplitMix64: the bytes are the same everywhere, which the standard's distributions do not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
  uint8_t byte() { return static_cast<uint8_t>(next() >> 56); }
  // A number of 16 bits; four of them cost one step.
  uint16_t word() {
    if (!left_) {
      words_ = next();
      left_ = 4;
    }
    --left_;
    const uint16_t word = static_cast<uint16_t>(words_);
    words_ >>= 16;
    return word;
  }
  uint8_t other(uint8_t than) { return static_cast<uint8_t>(than + 1 + below(255)); }

 private:
  uint64_t state_, words_ = 0;
  uint8_t left_ = 0;
};

constexpr uint16_t per_mille(uint32_t times) { return static_cast<uint16_t>(times * 65536 / 1000); }

void append_check(Bytes& body) {
  const uint16_t check = core::crc16_of(body.data(), static_cast<uint8_t>(body.size()));
  body.push_back(static_cast<uint8_t>(check));
  body.push_back(static_cast<uint8_t>(check >> 8));
}

// Zeros are frequent in real payloads, and what COBS and the check find hardest.
void fill(Bytes& body, Random& random, uint8_t seq) {
  const uint8_t length = static_cast<uint8_t>(random.below(protocol::kMaxPayload + 1) + core::kMinBody);
  body = {length, random.byte(), 7, seq, random.byte()};
  while (body.size() < length - 2u) {
    const uint16_t word = random.word();
    body.push_back((word >> 8) < 100 ? 0 : static_cast<uint8_t>(word));
  }
  append_check(body);
}

// FrameWriter takes only bodies that fit; these may be anything below 254 bytes.
void encode(const Bytes& body, Bytes& out) {
  out.push_back(0);
  size_t code = out.size();
  out.push_back(0);
  for (uint8_t byte : body) {
    if (byte) {
      out.push_back(byte);
      continue;
    }
    out[code] = static_cast<uint8_t>(out.size() - code);
    code = out.size();
    out.push_back(0);
  }
  out[code] = static_cast<uint8_t>(out.size() - code);
  out.push_back(0);
}

Bytes shifted(Random& random, const Bytes& body) {
  const unsigned by = 1 + random.below(16), fill = random.below(2);
  const bool left = random.below(2);
  Bytes moved(body.size());
  const auto bit = [&](long at) -> unsigned {
    if (at < 0 || at >= static_cast<long>(body.size() * 8)) return fill;
    return (body[static_cast<size_t>(at / 8)] >> (7 - at % 8)) & 1u;
  };
  for (size_t at = 0; at < body.size() * 8; ++at) {
    const long from = static_cast<long>(at) + (left ? static_cast<long>(by) : -static_cast<long>(by));
    moved[at / 8] = static_cast<uint8_t>(moved[at / 8] | (bit(from) << (7 - at % 8)));
  }
  return moved;
}

// One frame's bytes on the line, damaged. The ways that look at two frames are in batch().
void send(Damage damage, Random& random, const Bytes& body, Bytes& line) {
  const size_t start = line.size();
  if (damage == kShifted) return encode(shifted(random, body), line);
  if (damage == kAnyBody) {
    Bytes any(body.size());
    for (uint8_t& byte : any) byte = random.byte();
    any[0] = body[0];
    return encode(any, line);
  }
  if (damage == kAppended) {
    Bytes longer = body;
    longer.resize(body.size() + 1 + random.below(4));
    return encode(longer, line);
  }
  encode(body, line);
  if (damage == kInserted || damage == kOverwritten) {
    if (random.below(2)) return;
    const size_t size = line.size() - start;
    const size_t at = start + random.below(static_cast<uint32_t>(size));
    Bytes burst(1 + random.below(damage == kInserted ? 300 : 32));
    for (uint8_t& byte : burst) byte = random.byte();
    if (damage == kInserted) {
      line.insert(line.begin() + static_cast<long>(at), burst.begin(), burst.end());
    } else {
      for (size_t n = 0; n < burst.size() && at + n < line.size(); ++n) line[at + n] = burst[n];
    }
    return;
  }
  if (damage > kLine) return;
  thread_local Bytes out;
  out.clear();
  for (size_t at = start; at < line.size(); ++at) {
    uint8_t byte = line[at];
    const uint16_t chance = random.word();
    if (damage == kBits && chance < per_mille(10)) byte = static_cast<uint8_t>(byte ^ (1u << random.below(8)));
    if ((damage == kBytes || damage == kLine) && chance < per_mille(10)) byte = random.other(byte);
    const bool dropped = (damage == kDrops || damage == kLine) && chance >= per_mille(10) && chance < per_mille(15);
    const bool twice = (damage == kDuplicates || damage == kLine) && chance >= per_mille(15) && chance < per_mille(20);
    if (!dropped) out.push_back(byte);
    if (twice) out.push_back(byte);
  }
  line.resize(start);
  line.insert(line.end(), out.begin(), out.end());
}

void batch(Damage damage, Random& random, std::vector<Bytes>& bodies, Bytes& line) {
  bodies.resize(kBatch);
  line.assign(1, 0);
  for (unsigned n = 0; n < kBatch; ++n) fill(bodies[n], random, static_cast<uint8_t>(n));
  if (damage != kJoined && damage != kDelimiters) {
    for (const Bytes& body : bodies) send(damage, random, body, line);
  } else {
    for (unsigned n = 0; n < kBatch; n += 2) {
      Bytes first, second;
      encode(bodies[n], first);
      encode(bodies[n + 1], second);
      if (damage == kDelimiters) {
        first.back() = random.other(0);
        second.front() = random.other(0);
      } else {
        first.resize(1 + random.below(static_cast<uint32_t>(first.size() - 1)));
        second.erase(second.begin(), second.begin() + 1 + random.below(static_cast<uint32_t>(second.size() - 1)));
      }
      line.insert(line.end(), first.begin(), first.end());
      line.insert(line.end(), second.begin(), second.end());
    }
  }
  line.push_back(0);
}

bool was_sent(const core::FrameReader& reader, const Bytes& body) {
  return reader.payload_length() + core::kMinBody == static_cast<int>(body.size()) && reader.type() == body[1] &&
         reader.session() == body[2] && reader.ack() == body[4] &&
         memcmp(reader.payload(), body.data() + core::kHeader, reader.payload_length()) == 0;
}

}  // namespace

extern "C" Judged judge(Damage damage, uint64_t frames, uint64_t seed) {
  Judged judged = {0, 0, 0, 0};
  Random random(seed);
  std::vector<Bytes> bodies;
  Bytes line;
  core::FrameReader reader;
  for (; judged.sent < frames; judged.sent += kBatch) {
    batch(damage, random, bodies, line);
    bool received[kBatch] = {};
    for (uint8_t byte : line) {
      switch (reader.feed(byte)) {
        case core::FrameReader::Outcome::nothing: break;
        case core::FrameReader::Outcome::frame:
          if (was_sent(reader, bodies[reader.seq()])) {
            received[reader.seq()] = true;
          } else {
            ++judged.accepted;
          }
          break;
        default: ++judged.refused;
      }
    }
    for (bool came : received) judged.damaged += !came;
  }
  return judged;
}

extern "C" bool damaged_batch(Damage damage, uint64_t seed, uint8_t* before, uint32_t* before_count, uint8_t* after,
                              uint32_t* after_count, uint32_t room) {
  Random random(seed);
  std::vector<Bytes> bodies;
  Bytes line, whole;
  batch(damage, random, bodies, line);
  for (const Bytes& body : bodies) encode(body, whole);
  if (line.size() > room || whole.size() > room) return false;
  *before_count = static_cast<uint32_t>(whole.size());
  *after_count = static_cast<uint32_t>(line.size());
  memcpy(before, whole.data(), whole.size());
  memcpy(after, line.data(), line.size());
  return true;
}
