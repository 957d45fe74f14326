// SPDX-License-Identifier: Apache-2.0
// What became of a trial: a pure function of settings, bins and beam edges, fed step by step. The host computes the same
// from the same records, and a difference makes the trial a fault.
#pragma once

#include <stdint.h>

#include "protocol.h"

namespace core {

struct Rules {
  bool direct;
  uint16_t hopper;  // cards believed to be there
  uint16_t roller_on_mA, stall_mA, jam_ms, stall_ms;
};

struct Outcome {
  protocol::Verdict verdict;
  protocol::Reason reason;
  uint16_t cleared, roller_ms;
  uint8_t sticking;
};

class VerdictMachine {
 public:
  void start(const Rules& rules);

  // A closed bin: sum of 4 current counts and protocol::bin_flag. True when the roller was driven in it.
  bool bin(uint16_t current_sum, uint8_t flags);
  // An edge of beam A since actuation; 1 = blocked. The beam is clear at the start.
  void beam_a(uint8_t level);

  bool jammed() const { return jam_ != protocol::Reason::none; }
  bool ran() const { return driven_bins_ != 0; }

  // `external` is the reason that ended the trial from outside, or none.
  Outcome finish(protocol::Reason external, bool actuated, bool accepted) const;

 private:
  uint16_t roller_on_ = 0, stall_ = 0;  // as sums of a bin
  uint16_t hopper_ = 0, jam_ms_ = 0, stall_ms_ = 0;
  uint16_t driven_bins_ = 0, stalled_run_ = 0, blocked_run_ = 0;
  uint16_t cleared_ = 0;
  protocol::Reason jam_ = protocol::Reason::none;
  bool direct_ = false;
  bool blocked_ = false;
};

}  // namespace core
