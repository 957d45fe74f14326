// SPDX-License-Identifier: Apache-2.0
// The ways in which a trial begins. All that differs between them before the verdict is a row of one table (trial.cpp);
// all that differs in the verdict hangs on these names (verdict.cpp).
#pragma once

#include <stdint.h>

#include "protocol.h"

namespace core {

// The first two are PRESS, in the order of its `drive`.
enum class Kind : uint8_t {
  press,   // the launch button of the roller's toy
  run,     // the roller itself, by the rig
  insert,  // one card into a slot of the blaster
  reset,   // the blaster's reset button
};
constexpr uint8_t kKindCount = 4;

// Trials in which a spring throws cards out of the slots.
constexpr bool of_blaster(Kind kind) { return kind >= Kind::insert; }

static_assert(static_cast<uint8_t>(Kind::press) == static_cast<uint8_t>(protocol::Wiring::button), "drive names the kind");
static_assert(static_cast<uint8_t>(Kind::run) == static_cast<uint8_t>(protocol::Wiring::direct), "drive names the kind");

}  // namespace core
