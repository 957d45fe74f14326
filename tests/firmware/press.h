// SPDX-License-Identifier: Apache-2.0
// A bench with the toy switched on, and what a toy does: sound, cards, currents.
#pragma once

#include <vector>

#include "bench.h"
#include "doctest.h"

using protocol::Cause;
using protocol::Channel;
using protocol::Output;
using protocol::Reason;
using protocol::Result;
using protocol::Setting;
using protocol::Type;
using protocol::Verdict;
using stub::the;

namespace end_at = protocol::trial_end_at;

const uint16_t kStill = 12, kRunning = 250, kStalled = 900;  // sums: 15, 305, 1100 mA
inline bool on(Output output) { return (the.on >> static_cast<uint8_t>(output)) & 1; }

struct Powered {
  Powered() {
    bench.hello();
    bench.power_on();
    bench.current_sum = kStill;
  }

  Result start(uint32_t trial = 1, uint16_t hopper = 50) { return bench.ask(Type::PRESS, Bench::press(trial, 0, hopper)); }
  void sound(double after_ms = 50, double for_ms = 200) {
    bench.run(after_ms);
    stub::edge(Channel::sound, true);
    bench.run(for_ms);
    stub::edge(Channel::sound, false);
  }
  void card(double ms = 30) {
    stub::edge(Channel::beam_a, true);
    bench.run(ms / 2);
    stub::edge(Channel::beam_b, true);
    bench.run(ms / 2);
    stub::edge(Channel::beam_a, false);
    bench.run(ms / 2);
    stub::edge(Channel::beam_b, false);
  }
  const Event& finish() {
    REQUIRE(bench.run_until([&] { return bench.count(Type::TRIAL_END) > seen; }));
    ++seen;
    CHECK((the.on & ~(1u << 10)) == 0);
    CHECK(!the.sampling);
    return *bench.last(Type::TRIAL_END);
  }
  static Verdict verdict(const Event& end) { return static_cast<Verdict>(end.u8(end_at::verdict)); }
  static Reason reason(const Event& end) { return static_cast<Reason>(end.u8(end_at::reason)); }
  Reason rejected() {
    const Event& end = finish();
    CHECK(verdict(end) == Verdict::rejected);
    CHECK(end.u8(end_at::accepted) == 0);
    CHECK(bench.count(Type::ACTUATED) == 0);
    return reason(end);
  }
  // Sample bins of all SAMPLES since READY, checked to be without a gap.
  std::vector<uint32_t> bins() const {
    std::vector<uint32_t> found;
    for (const Event& event : bench.events) {
      if (event.type != Type::SAMPLES) continue;
      if (event.u16(4) == 0) found.clear();
      REQUIRE(event.u16(4) == found.size());
      for (size_t at = 6; at < event.payload.size(); at += 3) {
        found.push_back(event.payload[at] | event.payload[at + 1] << 8 | event.payload[at + 2] << 16);
      }
    }
    return found;
  }

  Bench bench;
  unsigned seen = 0;
};
