// SPDX-License-Identifier: Apache-2.0
// Streams of frames, damaged in one way, and what a reader makes of them: the rate at which bad frames pass.
#pragma once

#include <stdint.h>

extern "C" {

// The ways, in the order of `Damage` in core.py.
enum Damage : uint8_t {
  kBits,         // 1 % of bytes have one bit flipped
  kBytes,        // 1 % of bytes become any other
  kDrops,        // 0.5 % of bytes are lost
  kDuplicates,   // 0.5 % of bytes come twice
  kLine,         // kBytes, kDrops and kDuplicates at once
  kInserted,     // 1 to 300 random bytes come in between, in every second frame
  kOverwritten,  // 1 to 32 random bytes stand in the place of others, in every second frame
  kJoined,       // a frame is cut anywhere and runs on into the tail of the next
  kDelimiters,   // the two delimiters between two frames become other bytes
  kAppended,     // 1 to 4 zeros follow the check
  kShifted,      // the body is moved by 1 to 16 bits, filled up with zeros or ones
  kAnyBody,      // the content is random, length byte apart: what a check of 16 bits leaves
};

struct Judged {
  uint64_t sent;      // good frames before the damage
  uint64_t damaged;   // of these, not received as they were sent
  uint64_t refused;   // pieces that the reader refused
  uint64_t accepted;  // frames that the reader accepted and nobody had sent
};

// Sends at least `frames` frames through a line that damages them so; `seed` gives the same ones again.
Judged judge(Damage damage, uint64_t frames, uint64_t seed);

// The same stream of one batch, and where its frames end up, for another reader: 256 frames to `before` and, damaged, to
// `after`; each has room for `room` bytes. Returns false when it has not.
bool damaged_batch(Damage damage, uint64_t seed, uint8_t* before, uint32_t* before_count, uint8_t* after,
                   uint32_t* after_count, uint32_t room);

}
