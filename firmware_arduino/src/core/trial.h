// SPDX-License-Identifier: Apache-2.0
// One trial, from the command to TRIAL_END: wait for its moment, check what must hold, actuate, observe until all is
// quiet, hand over every edge and sample, tell the verdict.
#pragma once

#include <stdint.h>

#include "board.h"
#include "guard.h"
#include "kinds.h"
#include "reports.h"
#include "settings.h"
#include "slots.h"
#include "verdict.h"

namespace core {

class Trial {
 public:
  Trial(Guard& guard, const Settings& settings, Reports& reports, EventRing& events)
      : guard_(guard), settings_(settings), reports_(reports), events_(events) {}

  // PRESS, INSERT or RESET, with a payload of the right length.
  protocol::Result request(protocol::Type type, const uint8_t* payload);
  // Ends the trial in flight from outside; outputs of the rig go off, toy power stays. No trial: nothing happens.
  void end(protocol::Reason reason);
  // A new conversation: the trial in flight is over and nobody is told.
  void forget();

  bool in_flight() const { return state_ != State::idle; }
  bool observing() const { return state_ == State::observing; }
  bool draining() const { return state_ == State::draining; }
  uint32_t number() const { return number_; }

  // The books of the blaster's slots; the trial keeps them, and others touch them only while none is in flight.
  Slots& slots() { return slots_; }

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

  // What is switched on, and for how long; settled by the command.
  struct Plan {
    Kind kind;
    protocol::Output output;
    uint16_t hold_ms;  // 0 = it is not
    uint8_t duty;
  };

  uint16_t setting(protocol::Setting key) const { return settings_.get(key); }
  protocol::Reason obstacle() const;
  void actuate();
  bool over() const;
  bool direct() const { return plan_.kind == Kind::run; }

  Guard& guard_;
  const Settings& settings_;
  Reports& reports_;
  EventRing& events_;

  VerdictMachine verdict_;
  Slots slots_;
  Plan plan_ = {Kind::press, protocol::Output::launch, 0, 0};
  uint32_t number_ = 0;
  Tick moment_ = {0, 0};
  Tick actuated_at_ = {0, 0};
  uint16_t bins_ = 0;
  uint16_t quiet_bins_ = 0;
  uint8_t mark_a_ = 0, mark_b_ = 0;  // of the beams' queues at the last bin
  uint8_t looked_ = 0;               // slow changes up to here were looked at
  State state_ = State::idle;
  protocol::Reason external_ = protocol::Reason::none;
  bool actuated_ = false;
  bool timed_ = false;     // moment_ is still to come
  bool accepted_ = false;
  bool sounding_ = false;
};

}  // namespace core
