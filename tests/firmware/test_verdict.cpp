// SPDX-License-Identifier: Apache-2.0
// The verdict, case by case; tests/rig/test_verdict.py asks the host's the same questions.
#include <vector>

#include "doctest.h"
#include "verdict.h"

using core::Outcome;
using core::Rules;
using core::VerdictMachine;
using protocol::Reason;
using protocol::Verdict;

static const Rules kButton = {false, 50, 150, 850, 300, 250};
static const Rules kDirect = {true, 50, 150, 850, 300, 250};

struct Bins {
  int count;
  unsigned mA;
  uint8_t flags;
};

struct Case {
  const char* name;
  Rules rules;
  std::vector<Bins> bins;
  std::vector<int> edges;  // of beam A, from clear
  Reason external;
  bool actuated, accepted;
  Verdict verdict;
  Reason reason;
  int cleared, sticking, roller_ms;
};

static const uint8_t kA = protocol::bin_flag::beam_a, kR = protocol::bin_flag::roller;

static Rules with_hopper(Rules rules, uint16_t hopper) {
  rules.hopper = hopper;
  return rules;
}

static const Case kCases[] = {
    {"a normal zero", kButton, {{40, 15, 0}}, {}, Reason::none, true, true, Verdict::no_run, Reason::none, 0, 0, 0},
    {"two cards", kButton, {{5, 15, 0}, {20, 300, 0}, {20, 15, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 2, 0, 200},
    {"one card sticks", kButton, {{20, 300, 0}}, {1, 0, 1}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 1, 200},
    {"only a sticking card is dealt too", kButton, {{20, 300, 0}}, {1}, Reason::none, true, true, Verdict::ok, Reason::none, 0, 1, 200},
    {"slip", kButton, {{20, 300, 0}}, {}, Reason::none, true, true, Verdict::slip, Reason::none, 0, 0, 200},
    {"empty", with_hopper(kButton, 0), {{20, 300, 0}}, {}, Reason::none, true, true, Verdict::empty, Reason::none, 0, 0, 200},
    {"cards from a hopper believed empty", with_hopper(kButton, 0), {{20, 300, 0}}, {1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 0, 200},
    {"a stall of 250 ms is none", kButton, {{25, 1100, 0}}, {1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 0, 250},
    {"a stall of 260 ms", kButton, {{26, 1100, 0}}, {1, 0}, Reason::none, true, true, Verdict::jam, Reason::stall, 1, 0, 260},
    {"a stall that pauses", kButton, {{20, 1100, 0}, {1, 300, 0}, {20, 1100, 0}}, {1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 0, 410},
    {"29 bins of blocked beam are no jam", kButton, {{29, 300, kA}}, {1}, Reason::none, true, true, Verdict::ok, Reason::none, 0, 1, 290},
    {"300 ms of blocked beam, and nothing sticks", kButton, {{30, 300, kA}}, {1}, Reason::none, true, true, Verdict::jam, Reason::beam_jam, 0, 0, 300},
    {"a blocked beam while not driven", kButton, {{10, 300, 0}, {50, 15, kA}}, {1}, Reason::none, true, true, Verdict::ok, Reason::none, 0, 1, 100},
    {"both at once: the stall is named", kButton, {{40, 1100, kA}}, {1}, Reason::none, true, true, Verdict::jam, Reason::stall, 0, 0, 400},
    {"a jam without a sound is still a jam", kButton, {{26, 1100, 0}}, {}, Reason::none, true, false, Verdict::jam, Reason::stall, 0, 0, 260},
    {"no sound, nothing ran", kButton, {{40, 15, 0}}, {}, Reason::none, true, false, Verdict::rejected, Reason::no_sound, 0, 0, 0},
    {"no sound, yet it ran", kButton, {{5, 300, 0}}, {}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 0, 0, 50},
    {"no sound, yet a card came", kButton, {{40, 15, 0}}, {1, 0}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 1, 0, 0},
    {"cards without power", kButton, {{40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::fault, Reason::cards_unpowered, 1, 0, 0},
    {"STOP", kButton, {{5, 300, 0}}, {1, 0}, Reason::stop, true, true, Verdict::aborted, Reason::stop, 1, 0, 50},
    {"abort", kButton, {}, {}, Reason::abort, false, false, Verdict::aborted, Reason::abort, 0, 0, 0},
    {"lease", kButton, {{5, 15, 0}}, {}, Reason::lease, true, true, Verdict::aborted, Reason::lease, 0, 0, 0},
    {"interlock in the trial", kButton, {{5, 15, 0}}, {}, Reason::interlock, true, true, Verdict::aborted, Reason::interlock, 0, 0, 0},
    {"interlock before it", kButton, {}, {}, Reason::interlock, false, false, Verdict::rejected, Reason::interlock, 0, 0, 0},
    {"lost records", kButton, {{20, 300, 0}}, {1, 0}, Reason::ring_full, true, true, Verdict::fault, Reason::ring_full, 1, 0, 200},
    {"guard", kButton, {{20, 300, 0}}, {1, 0}, Reason::guard, true, true, Verdict::fault, Reason::guard, 1, 0, 200},
    {"never quiet", kButton, {{600, 300, 0}}, {1, 0}, Reason::timeout, true, true, Verdict::fault, Reason::timeout, 1, 0, 6000},
    {"never quiet after a jam", kButton, {{600, 1100, 0}}, {1}, Reason::timeout, true, true, Verdict::jam, Reason::stall, 0, 0, 6000},
    {"lid", kButton, {}, {}, Reason::lid, false, false, Verdict::rejected, Reason::lid, 0, 0, 0},
    {"beam blocked before", kButton, {}, {}, Reason::beam_blocked, false, false, Verdict::rejected, Reason::beam_blocked, 0, 0, 0},
    {"direct: current alone does not drive", kDirect, {{20, 300, 0}}, {}, Reason::none, true, true, Verdict::no_run, Reason::none, 0, 0, 0},
    {"direct: the output does", kDirect, {{30, 10, kR}, {20, 0, 0}}, {1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 0, 300},
    {"direct: slip", kDirect, {{30, 300, kR}}, {}, Reason::none, true, true, Verdict::slip, Reason::none, 0, 0, 300},
    {"direct: stall counts too", kDirect, {{26, 900, kR}}, {1}, Reason::none, true, true, Verdict::jam, Reason::stall, 0, 0, 260},
};

TEST_CASE("each rule decides its case") {
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    VerdictMachine machine;
    machine.start(each.rules);
    for (const Bins& bins : each.bins) {
      for (int n = 0; n < bins.count; ++n) machine.bin(static_cast<uint16_t>(bins.mA * 1000 / 1222 + 1), bins.flags);
    }
    for (int level : each.edges) machine.beam_a(static_cast<uint8_t>(level));
    const Outcome outcome = machine.finish(each.external, each.actuated, each.accepted);
    CHECK(outcome.verdict == each.verdict);
    CHECK(outcome.reason == each.reason);
    CHECK(outcome.cleared == each.cleared);
    CHECK(outcome.sticking == each.sticking);
    CHECK(outcome.roller_ms == each.roller_ms);
  }
}

TEST_CASE("the threshold is inclusive and exact") {
  // 150 mA lie between a sum of 122 (149.084 mA) and 123 (150.306 mA).
  VerdictMachine machine;
  machine.start(kButton);
  CHECK(!machine.bin(122, 0));
  CHECK(machine.bin(123, 0));
  Rules exact = kButton;
  exact.roller_on_mA = 611;  // 500 * 1222 = 611,000
  machine.start(exact);
  CHECK(machine.bin(500, 0));
  CHECK(!machine.bin(499, 0));
}

TEST_CASE("the largest sum does not overflow") {
  VerdictMachine machine;
  machine.start(kButton);
  CHECK(machine.bin(4 * 1023, 0));
}

TEST_CASE("a new trial forgets the last one") {
  VerdictMachine machine;
  machine.start(kButton);
  for (int n = 0; n < 30; ++n) machine.bin(1000, 0);
  machine.beam_a(1);
  REQUIRE(machine.jammed());
  machine.start(kButton);
  CHECK(!machine.jammed());
  CHECK(machine.finish(Reason::none, true, true).verdict == Verdict::no_run);
}
