// SPDX-License-Identifier: Apache-2.0
// What became of a trial: a pure function of settings, bins and beam edges, fed step by step. The host computes the same
// from the same records, and a difference makes the trial a fault.
#pragma once

#include <stdint.h>

#include "kinds.h"
#include "protocol.h"

namespace core {

struct Rules {
  Kind kind;
  uint16_t cards;  // believed to be there: in the hopper, or in the slots with the one that is inserted
  uint16_t driven_mA, stall_mA, jam_ms, stall_ms;
};

struct Outcome {
  protocol::Verdict verdict;
  protocol::Reason reason;
  uint16_t cleared, driven_ms;
  uint8_t sticking;
};

class VerdictMachine {
 public:
  void start(const Rules& rules);

  // A closed bin: sum of 4 current counts and protocol::bin_flag. True when the trial cannot be over with it: roller or
  // latch was driven, or a card that was thrown stands in the beam and is no jam yet.
  bool bin(uint16_t current_sum, uint8_t flags);
  // An edge of beam A since actuation; 1 = blocked. The beam is clear at the start.
  void beam_a(uint8_t level);

  bool jammed() const { return jam_ != protocol::Reason::none; }
  bool ran() const { return driven_bins_ != 0; }

  // `external` is the reason that ended the trial from outside, or none.
  Outcome finish(protocol::Reason external, bool actuated, bool accepted) const;

 private:
  void rolled(Outcome& outcome) const;
  void sprung(Outcome& outcome) const;

  uint16_t driven_ = 0, stall_ = 0;  // as sums of a bin
  uint16_t cards_ = 0;
  uint16_t driven_bins_ = 0, cleared_ = 0;
  uint8_t jam_bins_ = 0, stall_bins_ = 0;       // runs of so many are a jam
  uint8_t stalled_run_ = 0, blocked_run_ = 0;   // bins in a row
  protocol::Reason jam_ = protocol::Reason::none;
  Kind kind_ = Kind::press;
  uint8_t undriven_ = 0;  // protocol::bin_flag that makes a bin one of a jam although nothing is driven
  bool blocked_ = false;
};

}  // namespace core
