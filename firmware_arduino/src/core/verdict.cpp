// SPDX-License-Identifier: Apache-2.0
// The order of the questions is part of the definition.
#include "verdict.h"

namespace core {

using protocol::Reason;
using protocol::Verdict;

namespace {

// Microamperes of one count of a bin's sum: the sum of 4 counts stands for their mean.
constexpr uint16_t kUaPerSum = protocol::kCurrentUaPerCount / protocol::kCurrentSamplesPerBin;
static_assert(kUaPerSum * protocol::kCurrentSamplesPerBin == protocol::kCurrentUaPerCount, "exact in integers");

// The least sum that stands for so much current: sum * 1222 uA >= mA * 1000.
uint16_t sum_of(uint16_t mA) { return static_cast<uint16_t>((mA * 1000ul + kUaPerSum - 1) / kUaPerSum); }

Verdict verdict_of(Reason external, bool actuated) {
  switch (external) {
    case Reason::interlock: return actuated ? Verdict::aborted : Verdict::rejected;
    case Reason::stop:
    case Reason::abort:
    case Reason::lease: return Verdict::aborted;
    case Reason::ring_full:
    case Reason::guard:
    case Reason::timeout: return Verdict::fault;
    default: return Verdict::rejected;
  }
}

}  // namespace

void VerdictMachine::start(const Rules& rules) {
  *this = VerdictMachine();
  direct_ = rules.direct;
  hopper_ = rules.hopper;
  roller_on_ = sum_of(rules.roller_on_mA);
  stall_ = sum_of(rules.stall_mA);
  jam_ms_ = rules.jam_ms;
  stall_ms_ = rules.stall_ms;
}

bool VerdictMachine::bin(uint16_t current_sum, uint8_t flags) {
  const bool driven = direct_ ? (flags & protocol::bin_flag::roller) != 0 : current_sum >= roller_on_;
  if (driven) ++driven_bins_;
  stalled_run_ = current_sum >= stall_ ? static_cast<uint16_t>(stalled_run_ + 1) : 0;
  blocked_run_ = driven && (flags & protocol::bin_flag::beam_a) ? static_cast<uint16_t>(blocked_run_ + 1) : 0;
  if (!jammed()) {
    if (stalled_run_ * protocol::kBinMs > stall_ms_) {
      jam_ = Reason::stall;
    } else if (blocked_run_ * protocol::kBinMs >= jam_ms_) {
      jam_ = Reason::beam_jam;
    }
  }
  return driven;
}

void VerdictMachine::beam_a(uint8_t level) {
  if (blocked_ && !level) ++cleared_;
  blocked_ = level != 0;
}

Outcome VerdictMachine::finish(Reason external, bool actuated, bool accepted) const {
  Outcome outcome = {Verdict::ok, Reason::none, cleared_, static_cast<uint16_t>(driven_bins_ * protocol::kBinMs),
                     static_cast<uint8_t>(blocked_ && !jammed() && external == Reason::none)};
  const bool cards = outcome.cleared || outcome.sticking;
  // A trial that ran into its time limit stays a jam if one was seen.
  if (external != Reason::none && !(external == Reason::timeout && jammed())) {
    outcome.verdict = verdict_of(external, actuated);
    outcome.reason = external;
  } else if (jammed()) {
    outcome.verdict = Verdict::jam;
    outcome.reason = jam_;
  } else if (!accepted) {
    const bool quiet = !ran() && !cards;
    outcome.verdict = quiet ? Verdict::rejected : Verdict::fault;
    outcome.reason = quiet ? Reason::no_sound : Reason::ran_unheard;
  } else if (ran()) {
    outcome.verdict = cards ? Verdict::ok : hopper_ == 0 ? Verdict::empty : Verdict::slip;
  } else if (cards) {
    outcome.verdict = Verdict::fault;
    outcome.reason = Reason::cards_unpowered;
  } else {
    outcome.verdict = Verdict::no_run;
  }
  return outcome;
}

}  // namespace core
