// SPDX-License-Identifier: Apache-2.0
// The firmware as one object: what is due is handed to its room, commands go through one dispatch, and everything that
// merely waits shares one alarm.
#pragma once

#include <stdint.h>

#include "board.h"
#include "frame.h"
#include "guard.h"
#include "link.h"
#include "reports.h"
#include "settings.h"
#include "trial.h"

namespace core {

class App {
 public:
  App() : reports_(link_.events), trial_(guard_, settings_, reports_, link_.events) {}

  void start();              // once, with interrupts on
  void pass(uint8_t due);    // `due`: board::due bits

 private:
  static constexpr uint8_t kNoOutput = 0xFF;
  static constexpr Slice kBootEvery = slices(protocol::kBootEveryMs);
  static constexpr Slice kEdgesWait = slices(20);  // outside a trial, so that edges travel in company

  bool resting() const { return !trial_.in_flight() && pulsed_ == kNoOutput; }  // nothing on that has an end

  void receive();
  void lease();
  void greet();
  void execute();
  protocol::Result perform(protocol::Type type, const uint8_t* payload, uint8_t length);
  protocol::Result power(uint8_t on);
  protocol::Result value(uint8_t key);
  protocol::Result set(uint8_t key, uint32_t value);
  protocol::Result slots(const uint8_t* payload);
  protocol::Result status();
  protocol::Result counters();
  protocol::Result echo(const uint8_t* data, uint8_t length);
  protocol::Result rate(uint8_t divisor);
  protocol::Result pulse(const uint8_t* payload);

  void tripped();
  void tell_faults();
  void powered(bool on, protocol::PowerCause cause);
  void count_losses();
  void report();
  void transmit();
  // Not inlined: its buffer would make the loop's frame longer than an AVR's short offsets, at every pass.
  __attribute__((noinline)) uint8_t write_boot(uint8_t* out);

  void timers();
  void within(Slice wait, const Tick& now);
  void set_alarm(uint32_t overflow, const Tick& now);
  Slice boot_timer(Slice now);
  Slice pulse_timer(Slice now);
  Slice silence_timer(Slice now);
  Slice edges_timer(Slice now);
  void moment_timer(const Tick& now);

  Link link_;
  FrameReader reader_;
  Settings settings_;
  Guard guard_;
  Reports reports_;
  Trial trial_;

  uint32_t build_id_ = 0;
  uint32_t alarm_ = 0;     // the overflow that the alarm is set to
  Slice boot_said_ = 0;
  Slice pulse_end_ = 0;
  uint16_t pack_ = 0;      // last voltage sample, counts
  uint8_t pulsed_ = kNoOutput;  // the output that a PULSE has switched on
  uint8_t rate_ = 0;       // divisor asked for
  bool rate_due_ = false;  // to be set when everything said is acknowledged
  uint8_t untold_ = 0;     // latched causes not yet told, bit n = Cause n
  uint8_t cut_ = kNoOutput;  // the output that max_on concerned
  bool power_lost_ = false;
  bool leased_ = false;    // from the command of a trial until its TRIAL_END is acknowledged: silence switches everything off
  bool boot_due_ = false;
  bool reschedule_ = false;
};

}  // namespace core
