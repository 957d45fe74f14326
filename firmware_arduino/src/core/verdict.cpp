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

// A run of bins stops being counted at the jam that it is, so that 8 bits are enough. A multiplication for the division
// by 10: exact for 14 bits, and 200 cycles less.
constexpr uint8_t bins_of(uint16_t ms) { return static_cast<uint8_t>(ms * 6554ul >> 16); }
static_assert(protocol::kBinMs == 10 && bins_of(2009) == 200 && bins_of(2010) == 201 && bins_of(59) == 5, "as a division");
static_assert(protocol::setting_max::jam_ms / protocol::kBinMs < 255, "a run up to a jam fits 8 bits");
static_assert(protocol::setting_max::stall_ms / protocol::kBinMs < 255, "a run up to a stall fits 8 bits");

}  // namespace

void VerdictMachine::start(const Rules& rules) {
  *this = VerdictMachine();
  kind_ = rules.kind;
  // A roller's card in the mouth is a jam only while it is pushed; a spring goes on pushing.
  undriven_ = of_blaster(rules.kind) ? protocol::bin_flag::beam_a : 0;
  cards_ = rules.cards;
  driven_ = sum_of(rules.driven_mA);
  stall_ = sum_of(rules.stall_mA);
  jam_bins_ = bins_of(static_cast<uint16_t>(rules.jam_ms + protocol::kBinMs - 1));  // as long as that
  stall_bins_ = static_cast<uint8_t>(bins_of(rules.stall_ms) + 1);                  // longer than that
}

bool VerdictMachine::bin(uint16_t current_sum, uint8_t flags) {
  const bool driven = kind_ == Kind::run ? (flags & protocol::bin_flag::roller) != 0 : current_sum >= driven_;
  const bool pushed = flags & (driven ? protocol::bin_flag::beam_a : undriven_);
  if (driven) ++driven_bins_;
  stalled_run_ = current_sum >= stall_ ? static_cast<uint8_t>(stalled_run_ + 1) : 0;
  blocked_run_ = pushed ? static_cast<uint8_t>(blocked_run_ + 1) : 0;
  if (!jammed()) {
    if (stalled_run_ >= stall_bins_) {
      jam_ = Reason::stall;
    } else if (blocked_run_ >= jam_bins_) {
      jam_ = Reason::beam_jam;
    }
    if (jammed()) undriven_ = 0;  // what is known to be a jam need not be waited for
  }
  return driven || pushed;
}

void VerdictMachine::beam_a(uint8_t level) {
  if (blocked_ && !level) ++cleared_;
  blocked_ = level != 0;
}

// The roller's trial that nothing cut short, and that was accepted.
void VerdictMachine::rolled(Outcome& outcome) const {
  const bool cards = outcome.cleared || outcome.sticking;
  if (ran()) {
    outcome.verdict = cards ? Verdict::ok : cards_ == 0 ? Verdict::empty : Verdict::slip;
  } else if (cards) {
    outcome.verdict = Verdict::fault;
    outcome.reason = Reason::cards_unpowered;
  } else {
    outcome.verdict = Verdict::no_run;
  }
}

// The same of the blaster. A reset ejects whatever is there, and the books need not know of it: they may have begun with
// cards in the slots.
void VerdictMachine::sprung(Outcome& outcome) const {
  const bool inserted = kind_ == Kind::insert;
  if (inserted && outcome.cleared > cards_) {
    outcome.verdict = Verdict::fault;
    outcome.reason = Reason::more_than_loaded;
  } else if (ran()) {
    const Verdict all_flew = inserted ? Verdict::blast : Verdict::ok;
    outcome.verdict = outcome.cleared >= cards_ ? all_flew : outcome.cleared ? Verdict::partial : Verdict::latch_fault;
  } else if (outcome.cleared || outcome.sticking) {
    outcome.verdict = Verdict::fault;
    outcome.reason = Reason::cards_unpowered;
  } else {
    outcome.verdict = Verdict::held;
  }
}

Outcome VerdictMachine::finish(Reason external, bool actuated, bool accepted) const {
  Outcome outcome = {Verdict::ok, Reason::none, cleared_, static_cast<uint16_t>(driven_bins_ * protocol::kBinMs),
                     static_cast<uint8_t>(blocked_ && !jammed() && external == Reason::none)};
  // A trial that ran into its time limit stays a jam if one was seen.
  if (external != Reason::none && !(external == Reason::timeout && jammed())) {
    outcome.verdict = verdict_of(external, actuated);
    outcome.reason = external;
  } else if (jammed()) {
    outcome.verdict = Verdict::jam;
    outcome.reason = jam_;
  } else if (!accepted) {
    const bool quiet = !ran() && !outcome.cleared && !outcome.sticking;
    outcome.verdict = quiet ? Verdict::rejected : Verdict::fault;
    outcome.reason = quiet ? Reason::no_sound : Reason::ran_unheard;
  } else if (!of_blaster(kind_)) {
    rolled(outcome);
  } else {
    sprung(outcome);
  }
  return outcome;
}

}  // namespace core
