// SPDX-License-Identifier: Apache-2.0
// A trial, step by step. Time in the trial is counted in bins of 10 ms; only the actuator's moments are exact.
#include "trial.h"

#include "bytes.h"
#include "rom.h"

namespace core {

using protocol::Channel;
using protocol::Launcher;
using protocol::Output;
using protocol::Reason;
using protocol::Result;
using protocol::Setting;
using protocol::Type;
using protocol::Wiring;

namespace {

constexpr uint16_t kMaxRunMs = 5000;  // leaves the guard's own limit for what goes wrong
static_assert(kMaxRunMs + 100 <= kRollerMaxOnMs, "no run that may be asked for is cut by the guard");
static_assert(protocol::setting_max::press_hold_ms + 10 <= kLaunchMaxOnMs, "no press that may be set is cut by the guard");
static_assert(protocol::setting_max::insert_hold_ms + 10 <= kSlotMaxOnMs, "no insert that may be set is cut by the guard");
static_assert(protocol::setting_max::reset_hold_ms + 10 <= kResetMaxOnMs, "no reset that may be set is cut by the guard");

// All that differs between the kinds of trial up to the verdict.
struct Row {
  Launcher launcher;  // that must be set
  Wiring wiring;      // that must be set
  Output output;      // of an insert, that of slot 1
  Setting hold;       // how long it is on; of a run the command says it
  Setting driven;     // current from which roller or latch is driven
  bool powered;       // the toy must have its power
  bool lidded;        // the lid must be closed: the blaster's covers a store of cards and nothing that matters
  uint8_t moment_at, cards_at;  // in the command; cards_at 0 = the books of the slots say it
};

const Row kRows[kKindCount] ROM = {
    {Launcher::roller, Wiring::button, Output::launch, Setting::press_hold_ms, Setting::roller_on_mA, true, true,
     protocol::press_at::not_before, protocol::press_at::hopper},
    {Launcher::roller, Wiring::direct, Output::roller, Setting::press_hold_ms, Setting::roller_on_mA, false, true,
     protocol::press_at::not_before, protocol::press_at::hopper},
    {Launcher::blast, Wiring::button, Output::slot1, Setting::insert_hold_ms, Setting::release_mA, true, false,
     protocol::insert_at::not_before, 0},
    {Launcher::blast, Wiring::button, Output::reset, Setting::reset_hold_ms, Setting::release_mA, true, false,
     protocol::reset_at::not_before, 0},
};

Row row_of(Kind kind) { return rom(kRows[static_cast<uint8_t>(kind)]); }

constexpr uint8_t kTrialAt = protocol::press_at::trial;
static_assert(protocol::insert_at::trial == kTrialAt && protocol::reset_at::trial == kTrialAt, "one place for all");

constexpr uint8_t kFirstSlot = static_cast<uint8_t>(Output::slot1);
static_assert(kFirstSlot + protocol::setting_max::slots - 1 == static_cast<uint8_t>(Output::slot6), "a coil for each");

bool level_of(uint8_t levels, Channel channel) { return (levels >> static_cast<uint8_t>(channel)) & 1; }

// A trial ends long before 6,553 bins.
uint16_t ms_of(uint16_t bins) { return static_cast<uint16_t>(bins * protocol::kBinMs); }

}  // namespace

Result Trial::request(Type type, const uint8_t* payload) {
  if (in_flight()) return Result::busy;
  const uint32_t number = get32(payload + kTrialAt);
  if (number == 0) return Result::bad_value;
  Kind kind = type == Type::INSERT ? Kind::insert : Kind::reset;
  if (type == Type::PRESS) {
    const uint8_t drive = payload[protocol::press_at::drive];
    if (drive >= protocol::kWiringCount) return Result::bad_value;
    kind = static_cast<Kind>(drive);
  }
  const Row row = row_of(kind);
  Plan plan = {kind, row.output, setting(row.hold), 255};
  uint16_t cards = row.cards_at ? get16(payload + row.cards_at) : slots_.cards();
  if (kind == Kind::run) {
    plan.hold_ms = get16(payload + protocol::press_at::run_ms);
    plan.duty = payload[protocol::press_at::duty];
    if (plan.hold_ms > kMaxRunMs || (plan.hold_ms && plan.duty < least_duty(Output::roller))) return Result::bad_value;
  } else if (kind == Kind::insert) {
    const uint8_t slot = payload[protocol::insert_at::slot];
    if (slot == 0 || slot > setting(Setting::slots)) return Result::bad_value;
    if (slots_.holds(slot)) return Result::occupied;
    plan.output = static_cast<Output>(kFirstSlot + slot - 1);
    ++cards;
  }

  number_ = number;
  plan_ = plan;
  moment_ = get48(payload + row.moment_at);
  if (moment_.overflows == 0 && moment_.low == 0) moment_ = board::now();
  timed_ = true;
  actuated_ = false;
  accepted_ = false;
  external_ = Reason::none;
  bins_ = 0;
  state_ = State::waiting;
  const Rules rules = {kind,
                       cards,
                       setting(row.driven),
                       setting(Setting::stall_mA),
                       setting(Setting::jam_ms),
                       setting(Setting::stall_ms)};
  verdict_.start(rules);
  return Result::ok;
}

bool Trial::awaits(Tick& moment) const {
  moment = moment_;
  return timed_ && in_flight();
}

void Trial::moment_came() {
  if (!timed_ || before(board::now(), moment_)) return;
  timed_ = false;
  if (state_ == State::waiting) {
    actuate();
  } else if (state_ == State::observing) {
    guard_.off(plan_.output);
  }
}

// What forbids the trial, as it stands at its moment.
Reason Trial::obstacle() const {
  const uint8_t levels = board::inputs();
  const Row row = row_of(plan_.kind);
  if (setting(Setting::wiring) != static_cast<uint16_t>(row.wiring)) return Reason::wrong_wiring;
  if (setting(Setting::launcher) != static_cast<uint16_t>(row.launcher)) return Reason::wrong_wiring;
  if (!level_of(levels, Channel::interlock)) return Reason::interlock;
  if (board::latched) return Reason::fault_latched;
  if (row.powered) {
    const Slice on_for = guard_.since(Output::power, slice(board::now()));
    if (!guard_.is_on(Output::power) || on_for < slices_at_least(setting(Setting::settle_ms))) return Reason::power_off;
  }
  if (row.lidded && !level_of(levels, Channel::lid)) return Reason::lid;
  const uint8_t blocked = static_cast<uint8_t>(levels | board::settled());
  if (level_of(blocked, Channel::beam_a) || level_of(blocked, Channel::beam_b)) return Reason::beam_blocked;
  // Without room for ACTUATED the moment could not be told: then it does not happen.
  return events_.fits(protocol::actuated_at::size) ? Reason::none : Reason::ring_full;
}

void Trial::actuate() {
  const Reason forbidden = obstacle();
  if (forbidden != Reason::none) return end(forbidden);

  const bool runs = plan_.hold_ms != 0;
  if (runs && !guard_.on(plan_.output, plan_.duty)) return end(Reason::guard);
  actuated_at_ = runs ? guard_.at() : board::now();
  board::start_sampling();

  reports_.start_samples();
  actuated_ = true;
  accepted_ = direct();
  if (plan_.kind == Kind::insert) slots_.inserted(static_cast<uint8_t>(static_cast<uint8_t>(plan_.output) - kFirstSlot + 1));
  quiet_bins_ = 0;
  mark_a_ = board::beam_a.mark();
  mark_b_ = board::beam_b.mark();
  moment_ = later(actuated_at_, ticks_of_ms(plan_.hold_ms));
  timed_ = runs;
  state_ = State::observing;

  events_.begin(Type::ACTUATED, protocol::actuated_at::size);
  events_.put32(number_);
  events_.put_tick(actuated_at_);
}

bool Trial::bin(const board::Bin& bin) {
  if (state_ != State::observing) return true;
  if (!reports_.sample(bin)) return false;  // what the host does not see must not be in the verdict either
  const bool jammed_before = verdict_.jammed();
  const bool busy = verdict_.bin(bin.current_sum, bin.flags);
  ++bins_;
  if (verdict_.jammed() && !jammed_before) {
    guard_.off_all_but_power();
    timed_ = false;
  }

  const bool moved = board::beam_a.mark() != mark_a_ || board::beam_b.mark() != mark_b_;
  mark_a_ = board::beam_a.mark();
  mark_b_ = board::beam_b.mark();
  quiet_bins_ = busy || moved || sounding_ ? 0 : static_cast<uint16_t>(quiet_bins_ + 1);

  if (over()) {
    end(Reason::none);
  } else if (ms_of(bins_) >= setting(Setting::observe_max_ms)) {
    end(Reason::timeout);
  }
  return true;
}

bool Trial::over() const {
  if (timed_ || ms_of(quiet_bins_) < setting(Setting::quiet_ms)) return false;
  return direct() || verdict_.ran() || ms_of(bins_) >= setting(Setting::onset_ms);
}

void Trial::look() {
  const uint8_t head = board::slow.mark();
  if (looked_ == head) return;
  const Tick now = board::now();
  for (; looked_ != head; ++looked_) {
    const SlowQueue::Change change = board::slow.at(looked_);
    const bool on = level_of(change.levels, Channel::sound);
    if (on == sounding_) continue;
    sounding_ = on;
    quiet_bins_ = 0;
    if (!on || accepted_ || state_ != State::observing) continue;
    const Tick at = extend(now, change.overflow7, change.low);
    if (before(at, actuated_at_)) continue;
    accepted_ = elapsed(actuated_at_, at) <= ticks_of_ms(setting(Setting::accept_ms));
  }
}

void Trial::beam(Channel channel, uint8_t level, const Tick& at) {
  if (channel == Channel::beam_a && actuated_ && in_flight() && !before(at, actuated_at_)) verdict_.beam_a(level);
}

void Trial::end(Reason reason) {
  // What is lost while it drains is missing in the verdict like anything lost before.
  if (draining() && reason == Reason::ring_full && external_ == Reason::none) external_ = reason;
  if (!in_flight() || draining()) return;
  guard_.off_all_but_power();
  board::stop_sampling();
  external_ = reason;
  timed_ = false;
  state_ = State::draining;
}

void Trial::forget() {
  end(Reason::abort);
  state_ = State::idle;
  number_ = 0;
  looked_ = board::slow.mark();
}

void Trial::drain() {
  if (!draining()) return;
  const bool samples = reports_.pack_samples(number_);
  if (!samples || !events_.fits(protocol::trial_end_at::size)) return;
  // Edges come last, so that the verdict has seen the same ones as the host when it is worked out.
  if (!reports_.pack(true, *this) || !events_.begin(Type::TRIAL_END, protocol::trial_end_at::size)) return;
  const Outcome outcome = verdict_.finish(external_, actuated_, accepted_);
  if (actuated_ && of_blaster(plan_.kind)) slots_.after(outcome);
  events_.put32(number_);
  events_.put_tick(board::now());
  events_.put8(static_cast<uint8_t>(outcome.verdict));
  events_.put8(static_cast<uint8_t>(outcome.reason));
  events_.put8(accepted_);
  events_.put16(outcome.cleared);
  events_.put8(outcome.sticking);
  events_.put16(outcome.driven_ms);
  state_ = State::idle;
  number_ = 0;
}

}  // namespace core
