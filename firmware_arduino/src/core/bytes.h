// SPDX-License-Identifier: Apache-2.0
// Little-endian fields in byte buffers: payloads have no alignment, so nothing is ever cast.
#pragma once

#include <stdint.h>

#include "tick.h"

namespace core {

inline uint16_t get16(const uint8_t* from) {
  return static_cast<uint16_t>(from[0] | (static_cast<uint16_t>(from[1]) << 8));
}

inline uint32_t get32(const uint8_t* from) {
  return get16(from) | (static_cast<uint32_t>(get16(from + 2)) << 16);
}

inline Tick get48(const uint8_t* from) { return {get32(from + 2), get16(from)}; }

inline void put16(uint8_t* to, uint16_t value) {
  to[0] = static_cast<uint8_t>(value);
  to[1] = static_cast<uint8_t>(value >> 8);
}

inline void put32(uint8_t* to, uint32_t value) {
  put16(to, static_cast<uint16_t>(value));
  put16(to + 2, static_cast<uint16_t>(value >> 16));
}

}  // namespace core
