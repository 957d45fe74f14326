// SPDX-License-Identifier: Apache-2.0
// Limits, and the accounts that the duty windows need.
#include "guard.h"

#include "rom.h"

namespace core {

using protocol::Cause;
using protocol::Output;
using protocol::Result;

namespace {
constexpr Slice kTurnRest = slices_at_least(100);  // between the two directions of the motor
constexpr Slice kNever = 0xFFFFFFFFul;

constexpr uint16_t one(Output output) { return static_cast<uint16_t>(1u << static_cast<uint8_t>(output)); }
constexpr uint16_t kMotor = one(Output::roller) | one(Output::reverse);
constexpr uint16_t kCoils = one(Output::slot1) | one(Output::slot2) | one(Output::slot3) | one(Output::slot4) |
                            one(Output::slot5) | one(Output::slot6) | one(Output::launch) | one(Output::reset);

// Suggested values, no facts of a toy: a coil is pulsed, a button held no longer than a finger does, a roller run ends
// before a jammed motor is hot.
constexpr Limit kSlot = {kSlotMaxOnMs, 200, 400, 4, 255, kCoils};
const Limit kLimits[protocol::kOutputCount] ROM = {
    {kRollerMaxOnMs, 100, 10000, 1, 20, kMotor},       // roller
    {600, 200, 1000, 3, 255, kMotor},                  // reverse
    kSlot, kSlot, kSlot, kSlot, kSlot, kSlot,          // slots 1 to 6
    {kLaunchMaxOnMs, 100, 2000, 1, 255, kCoils},       // launch
    {kResetMaxOnMs, 200, 2000, 2, 255, kCoils},        // reset
    {0, 0, 0, 0, 255, 0},                              // power
};

Limit limit_of(uint8_t output) { return rom(kLimits[output]); }

}  // namespace

uint8_t least_duty(Output output) { return limit_of(static_cast<uint8_t>(output)).duty_min; }

bool Guard::allowed(Output output, uint8_t duty, Slice now) const {
  const uint8_t self = index(output);
  const Limit limit = limit_of(self);
  if (duty < limit.duty_min || is_on(output) || (on_ & limit.rivals)) return false;
  if (limit.min_off_ms && now - changed_[self] < slices_at_least(limit.min_off_ms)) return false;
  if (output == Output::reverse && since(Output::roller, now) < kTurnRest) return false;
  if (output == Output::roller && since(Output::reverse, now) < kTurnRest) return false;
  return allowance(limit, used_by(self, now)) >= 1;
}

// On-time not yet worked off: what was used, less the part of the rest that refills the window.
uint16_t Guard::used_by(uint8_t output, Slice now) const {
  const Slice worked_off = (now - changed_[output]) >> limit_of(output).refill_shift;
  return used_[output] > worked_off ? static_cast<uint16_t>(used_[output] - worked_off) : 0;
}

// How long an output may stay on from the moment it goes on.
Slice Guard::allowance(const Limit& limit, uint16_t used) {
  if (!limit.max_on_ms) return kNever;
  Slice allowed = slices(limit.max_on_ms);
  if (limit.store_ms) {
    const Slice store = slices(limit.store_ms);
    const Slice left = store > used ? store - used : 0;
    if (left < allowed) allowed = left;
  }
  return allowed;
}

bool Guard::on(Output output, uint8_t duty) {
  Slice now = slice(board::now());
  if (!allowed(output, duty, now)) return false;
  if (!board::energise(output, duty, at_)) return false;
  now = slice(at_);
  used_[index(output)] = used_by(index(output), now);
  on_ = static_cast<uint16_t>(on_ | mask_of(output));
  changed_[index(output)] = now;
  watch(now);
  return true;
}

void Guard::off(Output output) {
  if (!is_on(output)) return;
  board::release(output);
  const Slice now = slice(board::now());
  account_off(index(output), now);
  watch(now);
}

void Guard::off_all_but_power() {
  for (uint8_t n = 0; n < protocol::kOutputCount; ++n) {
    if (static_cast<Output>(n) != Output::power) off(static_cast<Output>(n));
  }
}

void Guard::account_off(uint8_t output, Slice now) {
  const Slice used = used_[output] + (now - changed_[output]) + 1;
  used_[output] = used > 0xFFFF ? 0xFFFF : static_cast<uint16_t>(used);
  changed_[output] = now;
  on_ = static_cast<uint16_t>(on_ & ~(1u << output));
}

void Guard::watch(Slice now) {
  Slice soonest = kNever;
  first_ = 0xFF;
  for (uint8_t n = 0; n < protocol::kOutputCount; ++n) {
    if (!(on_ & (1u << n))) continue;
    const Slice allowed = allowance(limit_of(n), used_[n]);
    if (allowed == kNever) continue;
    const Slice passed = now - changed_[n];
    const Slice left = allowed > passed ? allowed - passed : 0;
    if (left < soonest) {
      soonest = left;
      first_ = n;
    }
  }
  // A tick for a slice: 2 ms are less than 2.048 ms, so the cut comes up to 2.4 % early, never late. One tick at least.
  board::cut_in(first_ == 0xFF ? 0 : static_cast<uint16_t>(soonest ? soonest : 1));
}

uint8_t Guard::tripped(uint8_t& cut) {
  const uint8_t news = static_cast<uint8_t>(board::latched & ~told_);
  told_ = static_cast<uint8_t>(told_ | news);
  cut = (news & (1u << static_cast<uint8_t>(Cause::max_on))) ? first_ : 0xFF;
  if (board::latched) {
    const Slice now = slice(board::now());
    for (uint8_t n = 0; n < protocol::kOutputCount; ++n) {
      if (on_ & (1u << n)) account_off(n, now);
    }
    watch(now);
  }
  return news;
}

Cause Guard::cause() const {
  for (uint8_t n = 1; n < protocol::kCauseCount; ++n) {
    if (board::latched & (1u << n)) return static_cast<Cause>(n);
  }
  return Cause::none;
}

Result Guard::clear(Cause cause) {
  const uint8_t named = static_cast<uint8_t>(cause);
  if (named == 0 || named >= protocol::kCauseCount) return Result::bad_value;
  const uint8_t mask = static_cast<uint8_t>(~(1u << named));
  const board::Lock lock;
  if (cause == Cause::interlock_open && !board::interlock_closed()) return Result::refused;
  board::latched = static_cast<uint8_t>(board::latched & mask);
  told_ = static_cast<uint8_t>(told_ & mask);
  return Result::ok;
}

}  // namespace core
