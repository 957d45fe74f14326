// SPDX-License-Identifier: Apache-2.0
// What the outputs did, counted at the pins of the stub board in ticks: how long, how often, how many at once. It has its
// own copy of the limits and knows nothing of core::Guard, whose work it judges.
#pragma once

#include <stdint.h>

#include <algorithm>

#include "protocol.h"

namespace stub {

struct Allowed {
  double max_on_ms, min_off_ms, store_ms;
  double refill;  // of the window, for each ms off
};

// In the order of protocol::Output; toy power, the last, has no limit.
static const Allowed kAllowed[protocol::kOutputCount - 1] = {
    {5200, 100, 10000, 1.0 / 2}, {600, 200, 1000, 1.0 / 8},
    {80, 200, 400, 1.0 / 16},    {80, 200, 400, 1.0 / 16},  {80, 200, 400, 1.0 / 16},
    {80, 200, 400, 1.0 / 16},    {80, 200, 400, 1.0 / 16},  {80, 200, 400, 1.0 / 16},
    {200, 100, 2000, 1.0 / 2},   {400, 200, 2000, 1.0 / 4},
};

// Slots, launch button, reset button.
static const uint16_t kCoilMask = 0x3FC;

struct Pin {
  bool on = false, ever = false;
  uint64_t changed = 0;    // tick
  double used_ms = 0;      // of the duty window, when it last changed
  unsigned times = 0;      // that it went on
  double longest_ms = 0;   // it was on
  double shortest_ms = 1e9;  // it was off between
  double fullest_ms = 0;   // its duty window ever was
};

class Ledger {
 public:
  Pin pins[protocol::kOutputCount];
  unsigned most_coils = 0;       // on together
  bool motor_fought = false;     // roller and reverse on together

  void energised(uint8_t output, uint64_t tick) {
    Pin& pin = pins[output];
    if (pin.on) return;
    const double off_ms = static_cast<double>(tick - pin.changed) / 16000;
    if (pin.ever) pin.shortest_ms = std::min(pin.shortest_ms, off_ms);
    if (output < protocol::kOutputCount - 1) pin.used_ms = std::max(0.0, pin.used_ms - off_ms * kAllowed[output].refill);
    pin.on = pin.ever = true;
    pin.changed = tick;
    ++pin.times;
    unsigned coils = 0;
    for (uint8_t n = 0; n < protocol::kOutputCount; ++n) coils += pins[n].on && ((kCoilMask >> n) & 1);
    most_coils = std::max(most_coils, coils);
    motor_fought = motor_fought || (pins[0].on && pins[1].on);
  }

  void released(uint8_t output, uint64_t tick) {
    Pin& pin = pins[output];
    if (!pin.on) return;
    const double on_ms = static_cast<double>(tick - pin.changed) / 16000;
    pin.longest_ms = std::max(pin.longest_ms, on_ms);
    pin.used_ms += on_ms;
    pin.fullest_ms = std::max(pin.fullest_ms, pin.used_ms);
    pin.on = false;
    pin.changed = tick;
  }
};

}  // namespace stub
