// SPDX-License-Identifier: Apache-2.0
// One press, from the command to TRIAL_END: wait for its moment, check what must hold, actuate, observe until all is
// quiet, hand over every edge and sample, tell the verdict.
#pragma once

#include <stdint.h>

#include "board.h"
#include "guard.h"
#include "reports.h"
#include "settings.h"
#include "verdict.h"

namespace core {

class Trial {
 public:
  Trial(Guard& guard, const Settings& settings, Reports& reports, EventRing& events)
      : guard_(guard), settings_(settings), reports_(reports), events_(events) {}

  // PRESS, with a payload of the right length.
  protocol::Result request(const uint8_t* payload);
  // Ends the trial in flight from outside; outputs of the rig go off, toy power stays. No trial: nothing happens.
  void end(protocol::Reason reason);
  // A new conversation: the trial in flight is over and nobody is told.
  void forget();

  bool in_flight() const { return state_ != State::idle; }
  bool observing() const { return state_ == State::observing; }
  bool draining() const { return state_ == State::draining; }
  uint32_t number() const { return number_; }

  // What the trial waits for, if it waits for a moment: its start, or the end of what it switched on.
  bool awaits(Tick& moment) const;
  void moment_came();
  // A bin closed; false when it had to be dropped for want of room.
  bool bin(const board::Bin& bin);
  // Looks at changes of the slow inputs not seen before: the toy's sound.
  void look();
  // An edge of a beam, on its way to the host.
  void beam(protocol::Channel channel, uint8_t level, const Tick& at);
  // Hands over what is left, then tells the verdict; to be called again until nothing is in flight.
  void drain();

 private:
  enum class State : uint8_t { idle, waiting, observing, draining };

  uint16_t setting(protocol::Setting key) const { return settings_.get(key); }
  protocol::Reason obstacle() const;
  void actuate();
  bool over() const;

  Guard& guard_;
  const Settings& settings_;
  Reports& reports_;
  EventRing& events_;

  VerdictMachine verdict_;
  uint32_t number_ = 0;
  Tick moment_ = {0, 0};
  Tick actuated_at_ = {0, 0};
  uint16_t run_ms_ = 0;
  uint16_t bins_ = 0;
  uint16_t quiet_bins_ = 0;
  uint8_t duty_ = 0;
  uint8_t mark_a_ = 0, mark_b_ = 0;  // of the beams' queues at the last bin
  uint8_t looked_ = 0;               // slow changes up to here were looked at
  State state_ = State::idle;
  protocol::Reason external_ = protocol::Reason::none;
  bool direct_ = false;
  bool actuated_ = false;
  bool timed_ = false;     // moment_ is still to come
  bool accepted_ = false;
  bool sounding_ = false;
};

}  // namespace core
