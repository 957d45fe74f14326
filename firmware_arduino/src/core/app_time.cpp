// SPDX-License-Identifier: Apache-2.0
// Everything that merely waits shares one alarm. Deadlines are lazy: when what they wait for has moved away, the alarm
// only finds that out and is set again.
#include "app.h"

namespace core {

using protocol::Cause;
using protocol::Output;
using protocol::Reason;

namespace due = board::due;

namespace {

constexpr Slice kLease = slices(protocol::kLeaseMs) - 1;  // the alarm comes with an overflow, a slice too late at worst
constexpr Slice kPowerHold = slices(protocol::kPowerHoldMs);
constexpr Slice kEdgesSpoil = slices(400);  // before their 7 bits of overflow count (520 ms) repeat
constexpr Slice kEepromByte = slices(5);    // one write, 3.4 ms
static_assert(protocol::kPulseMaxMs + 10 <= kSlotMaxOnMs, "no pulse is cut by the guard");
constexpr Slice kRest = slices(1000);       // the loop must come by once in 1.05 s to carry the overflows

inline Slice sooner(Slice a, Slice b) { return a < b ? a : b; }

}  // namespace

// One look at everything that waits.
void App::timers() {
  const Tick tick = board::now();
  const Slice now = slice(tick);
  // Should the pin-change interrupt ever miss the interlock; inside a trial the tick looks as well.
  if (guard_.anything_on() && !board::interlock_closed()) Guard::trip(Cause::interlock_open);
  alarm_ = tick.overflows;  // the old alarm is void
  reschedule_ = false;
  Slice wait = boot_timer(now);
  wait = sooner(wait, silence_timer(now));
  wait = sooner(wait, pulse_timer(now));
  wait = sooner(wait, edges_timer(now));
  const Slice retry = link_.retry(now);
  if (retry) wait = sooner(wait, retry);
  if (settings_.save()) wait = sooner(wait, kEepromByte);
  within(wait, tick);
  moment_timer(tick);
}

// The alarm comes in `wait` slices at the latest, to the resolution of an overflow (4.096 ms).
void App::within(Slice wait, const Tick& now) {
  if (wait > kRest) wait = kRest;
  set_alarm(now.overflows + ((((now.low & 0x8000u) ? 1u : 0u) + wait + 1) >> 1), now);
}

void App::set_alarm(uint32_t overflow, const Tick& now) {
  const uint32_t ahead = overflow - now.overflows;
  const uint32_t set = alarm_ - now.overflows;  // 0 or "negative": none
  if (static_cast<int32_t>(set) > 0 && set <= ahead) return;
  alarm_ = ahead ? overflow : overflow + 1;
  board::wake_at(static_cast<uint8_t>(alarm_));
  // The next overflow may have passed meanwhile, and the count would meet it again only 256 overflows (1.05 s) later.
  if (ahead <= 1 && static_cast<int32_t>(board::now().overflows - alarm_) >= 0) board::raise(due::alarm);
}

Slice App::boot_timer(Slice now) {
  if (!link_.silent(now)) return Link::kSilent - link_.silence(now);
  if (now - boot_said_ >= kBootEvery) {
    board::set_rate(0);  // a host that tried another rate in vain is heard again at the one that everybody knows
    boot_due_ = true;
    boot_said_ = now;
  }
  return kBootEvery - (now - boot_said_);
}

Slice App::silence_timer(Slice now) {
  if (!leased_ && !guard_.is_on(Output::power)) return kRest;
  const Slice allowed = leased_ ? kLease : kPowerHold;
  const Slice silence = link_.silence(now);
  if (silence < allowed) return allowed - silence;
  guard_.trip(leased_ ? Cause::lease_lapsed : Cause::silence);
  leased_ = false;
  return kRest;
}

Slice App::pulse_timer(Slice now) {
  if (pulsed_ == kNoOutput) return kRest;
  const int32_t left = static_cast<int32_t>(pulse_end_ - now);
  if (left > 0) return static_cast<Slice>(left);
  guard_.off(static_cast<Output>(pulsed_));
  pulsed_ = kNoOutput;
  return kRest;
}

Slice App::edges_timer(Slice now) {
  if (!reports_.waiting()) return kRest;
  if (!link_.conversing()) {
    reports_.drop();  // nobody asked; READY will tell the levels
    return kRest;
  }
  const Slice waited = reports_.waited(now);
  if (!trial_.observing() && waited >= kEdgesWait) reports_.pack(true, trial_);
  if (!reports_.waiting()) return kRest;
  if (waited >= kEdgesSpoil) {
    link_.counters.add(Counters::ring_full, reports_.drop());
    trial_.end(Reason::ring_full);
    return kRest;
  }
  return trial_.observing() || waited >= kEdgesWait ? kEdgesSpoil - waited : kEdgesWait - waited;
}

void App::moment_timer(const Tick& now) {
  Tick moment;
  if (!trial_.awaits(moment)) return;
  if (before(moment, now)) {
    board::raise(due::moment);
  } else if (moment.overflows == now.overflows) {
    board::wake_exactly(moment);
  } else if (moment.overflows - now.overflows < 255) {
    set_alarm(moment.overflows, now);
  }
}

}  // namespace core
