// SPDX-License-Identifier: Apache-2.0
// The firmware's version, as BOOT tells it.
#pragma once

#include <stdint.h>

namespace core {

constexpr uint8_t kVersionMajor = 0;
constexpr uint8_t kVersionMinor = 1;
constexpr uint8_t kVersionPatch = 0;

}  // namespace core
