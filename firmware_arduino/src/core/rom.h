// SPDX-License-Identifier: Apache-2.0
// Tables that cost no RAM: on a Harvard machine they stay in flash, where only the board can read them.
#pragma once

#include <stdint.h>

#ifdef __AVR__
#define ROM __attribute__((__progmem__))
#else
#define ROM
#endif

namespace board {
void rom_read(const void* from, void* to, uint8_t count);
}

namespace core {

template <typename Row>
inline Row rom(const Row& from) {
  Row row;
  board::rom_read(&from, &row, sizeof row);
  return row;
}

}  // namespace core
