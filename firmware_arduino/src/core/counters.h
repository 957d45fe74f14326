// SPDX-License-Identifier: Apache-2.0
// Every kind of loss has a counter, in the order of the COUNTERS message; they stop at 65535 rather than wrap.
#pragma once

#include <stdint.h>

#include "protocol.h"

namespace core {

struct Counters {
  enum Kind : uint8_t { crc, resync, overrun, framing, resent, stale, duplicate, gap, ring_full, kCount };

  uint16_t value[kCount] = {};

  void add(Kind kind, uint8_t more = 1) {
    const uint16_t sum = static_cast<uint16_t>(value[kind] + more);
    value[kind] = sum < more ? 0xFFFF : sum;
  }
};

static_assert(Counters::kCount * 2 == protocol::counters_at::size, "COUNTERS carries every counter, in this order");

}  // namespace core
