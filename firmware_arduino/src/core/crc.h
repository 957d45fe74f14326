// SPDX-License-Identifier: Apache-2.0
// The two checks of the firmware, without tables in RAM: CRC-16/GENIBUS guards frames and EEPROM records,
// CRC-32 (zlib's) names the flash image.
#pragma once

#include <stdint.h>

namespace core {

constexpr uint16_t kCrc16Init = 0xFFFF;

// One byte of polynomial 0x1021, not reflected, worked out bytewise: on an 8-bit core shifts by 4 are nibble swaps.
inline __attribute__((always_inline)) uint16_t crc16(uint16_t crc, uint8_t byte) {
  uint8_t x = static_cast<uint8_t>((crc >> 8) ^ byte);
  x = static_cast<uint8_t>(x ^ (x >> 4));
  const uint8_t high = static_cast<uint8_t>(static_cast<uint8_t>(crc) ^ static_cast<uint8_t>(x << 4) ^ (x >> 3));
  const uint8_t low = static_cast<uint8_t>(x ^ static_cast<uint8_t>(x << 5));
  return static_cast<uint16_t>((static_cast<uint16_t>(high) << 8) | low);
}

inline uint16_t crc16_end(uint16_t crc) { return static_cast<uint16_t>(~crc); }

inline uint16_t crc16_of(const uint8_t* data, uint8_t count) {
  uint16_t crc = kCrc16Init;
  while (count--) crc = crc16(crc, *data++);
  return crc16_end(crc);
}

constexpr uint32_t kCrc32Init = 0xFFFFFFFFul;

// One byte of CRC-32, reflected polynomial 0xEDB88320; slow and small, since it runs once a boot.
inline uint32_t crc32(uint32_t crc, uint8_t byte) {
  crc ^= byte;
  for (uint8_t n = 0; n < 8; ++n) {
    const bool carry = crc & 1u;
    crc >>= 1;
    if (carry) crc ^= 0xEDB88320ul;
  }
  return crc;
}

inline uint32_t crc32_end(uint32_t crc) { return ~crc; }

}  // namespace core
