// SPDX-License-Identifier: Apache-2.0
// The only code that may energise a pin. One table of limits for all outputs; they are worked out when an output
// changes, so that the 2 ms tick has a single comparison to make. A fault latches, and nothing goes on until the host
// has cleared it by name.
#pragma once

#include <stdint.h>

#include "board.h"
#include "protocol.h"
#include "tick.h"

namespace core {

struct Limit {
  uint16_t max_on_ms;   // 0 = may stay on
  uint16_t min_off_ms;
  uint16_t store_ms;    // duty window: on-time that may be used up at once, 0 = no window;
  uint8_t refill_shift; // it refills at 1/2^shift of the time passed while off
  uint8_t duty_min;     // allowed PWM duty, 255 = fully on
  uint16_t rivals;      // outputs that must be off: of a group at most one is on
};

// Limits by name, for what is checked against them at compile time.
constexpr uint16_t kSlotMaxOnMs = 80;  // the shortest of all
constexpr uint16_t kLaunchMaxOnMs = 200;
constexpr uint16_t kResetMaxOnMs = 400;
constexpr uint16_t kRollerMaxOnMs = 5200;

// The least PWM duty that makes sense for an output.
uint8_t least_duty(protocol::Output output);

class Guard {
 public:
  // Energises; false when a latched fault, the interlock or a limit forbids it. On success `at()` is the tick of it.
  bool on(protocol::Output output, uint8_t duty = 255);
  void off(protocol::Output output);
  void off_all_but_power();

  bool anything_on() const { return on_ != 0; }
  bool is_on(protocol::Output output) const { return on_ & mask_of(output); }
  const Tick& at() const { return at_; }
  // Slices since the output last changed.
  Slice since(protocol::Output output, Slice now) const { return now - changed_[index(output)]; }

  // For the loop: an interrupt or trip() has switched everything off; settles the accounts. Returns the causes that
  // were not told before, bit n = Cause n, and in `cut` the output that exceeded its time (0xFF = none).
  uint8_t tripped(uint8_t& cut);
  // Latches a cause and switches everything off, from the loop or from an interrupt.
  static void trip(protocol::Cause cause) {
    const board::Lock lock;  // an interrupt that latches another cause in between would have it overwritten
    board::release_all();
    board::latched = static_cast<uint8_t>(board::latched | (1u << static_cast<uint8_t>(cause)));
    board::raise(board::due::tripped);
  }

  protocol::Cause cause() const;  // the lowest-numbered latched cause
  protocol::Result clear(protocol::Cause cause);

 private:
  static constexpr uint8_t index(protocol::Output output) { return static_cast<uint8_t>(output); }
  static constexpr uint16_t mask_of(protocol::Output output) { return static_cast<uint16_t>(1u << index(output)); }

  bool allowed(protocol::Output output, uint8_t duty, Slice now) const;
  uint16_t used_by(uint8_t output, Slice now) const;
  void account_off(uint8_t output, Slice now);
  static Slice allowance(const Limit& limit, uint16_t used);
  void watch(Slice now);  // sets the deadline for the tick

  Tick at_ = {0, 0};
  Slice changed_[protocol::kOutputCount] = {};
  uint16_t used_[protocol::kOutputCount] = {};  // on-time not yet worked off, in slices
  uint16_t on_ = 0;
  uint8_t told_ = 0;
  uint8_t first_ = 0xFF;  // the output whose time is up first
};

}  // namespace core
