// SPDX-License-Identifier: Apache-2.0
// The verdict, case by case; tests/rig/test_verdict.py asks the host's the same questions.
#include <vector>

#include "doctest.h"
#include "verdict.h"

using core::Kind;
using core::Outcome;
using core::Rules;
using core::VerdictMachine;
using protocol::Reason;
using protocol::Verdict;

static const Rules kButton = {Kind::press, 50, 150, 850, 300, 250};
static const Rules kDirect = {Kind::run, 50, 150, 850, 300, 250};

// One card waits in a slot besides the one that is inserted; a reset finds two, or none.
static const Rules kInsert = {Kind::insert, 2, 250, 850, 300, 250};
static const Rules kReset = {Kind::reset, 2, 250, 850, 300, 250};
static const Rules kEmptyReset = {Kind::reset, 0, 250, 850, 300, 250};

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
  rules.cards = hopper;
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
    {"insert: held", kInsert, {{40, 15, 0}}, {}, Reason::none, true, true, Verdict::held, Reason::none, 0, 0, 0},
    {"insert: a roller's current is no release", kInsert, {{5, 240, 0}}, {}, Reason::none, true, true, Verdict::held, Reason::none, 0, 0, 0},
    {"insert: blast", kInsert, {{1, 260, 0}, {40, 15, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::blast, Reason::none, 2, 0, 10},
    {"insert: one of two", kInsert, {{8, 600, 0}, {40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::partial, Reason::none, 1, 0, 80},
    {"insert: none of two", kInsert, {{8, 600, 0}, {40, 15, 0}}, {}, Reason::none, true, true, Verdict::latch_fault, Reason::none, 0, 0, 80},
    {"insert: three of two", kInsert, {{8, 600, 0}, {40, 15, 0}}, {1, 0, 1, 0, 1, 0}, Reason::none, true, true, Verdict::fault, Reason::more_than_loaded, 3, 0, 80},
    {"insert: more than loaded is asked before the latch", kInsert, {{40, 15, 0}}, {1, 0, 1, 0, 1, 0}, Reason::none, true, true, Verdict::fault, Reason::more_than_loaded, 3, 0, 0},
    {"insert: cards without the latch", kInsert, {{40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::fault, Reason::cards_unpowered, 1, 0, 0},
    {"insert: all cards without the latch", kInsert, {{40, 15, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::fault, Reason::cards_unpowered, 2, 0, 0},
    {"insert: no sound", kInsert, {{40, 15, 0}}, {}, Reason::none, true, false, Verdict::rejected, Reason::no_sound, 0, 0, 0},
    {"insert: unheard, yet the latch was driven", kInsert, {{1, 600, 0}}, {}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 0, 0, 10},
    {"insert: unheard, yet a card came", kInsert, {{40, 15, 0}}, {1, 0}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 1, 0, 0},
    {"insert: unheard goes before more than loaded", kInsert, {{8, 600, 0}}, {1, 0, 1, 0, 1, 0}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 3, 0, 80},
    {"insert: jam without drive", kInsert, {{30, 15, kA}, {20, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::jam, Reason::beam_jam, 1, 0, 0},
    {"insert: 29 bins are no jam", kInsert, {{8, 600, 0}, {29, 15, kA}, {20, 15, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::blast, Reason::none, 2, 0, 80},
    {"insert: 29 and 29 with an edge between are no jam", kInsert, {{29, 600, kA}, {1, 15, 0}, {29, 15, kA}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::blast, Reason::none, 2, 0, 290},
    {"insert: a jam half driven", kInsert, {{8, 600, kA}, {22, 15, kA}}, {1}, Reason::none, true, true, Verdict::jam, Reason::beam_jam, 0, 0, 80},
    {"insert: a jam unheard is still a jam", kInsert, {{30, 15, kA}}, {1}, Reason::none, true, false, Verdict::jam, Reason::beam_jam, 0, 0, 0},
    {"insert: a jam goes before more than loaded", kInsert, {{30, 600, kA}}, {1, 0, 1, 0, 1, 0}, Reason::none, true, true, Verdict::jam, Reason::beam_jam, 3, 0, 300},
    {"insert: stall", kInsert, {{26, 900, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::jam, Reason::stall, 2, 0, 260},
    {"insert: a jam that never ended", kInsert, {{600, 15, kA}}, {1}, Reason::timeout, true, true, Verdict::jam, Reason::beam_jam, 0, 0, 0},
    {"insert: never quiet", kInsert, {{600, 300, 0}}, {1, 0, 1, 0}, Reason::timeout, true, true, Verdict::fault, Reason::timeout, 2, 0, 6000},
    {"insert: abort in a blast", kInsert, {{8, 600, 0}}, {1, 0, 1, 0}, Reason::abort, true, true, Verdict::aborted, Reason::abort, 2, 0, 80},
    {"insert: guard", kInsert, {}, {}, Reason::guard, false, false, Verdict::fault, Reason::guard, 0, 0, 0},
    {"insert: lost records in a jam", kInsert, {{30, 15, kA}}, {1}, Reason::ring_full, true, true, Verdict::fault, Reason::ring_full, 0, 0, 0},
    {"insert on the other launcher", kInsert, {}, {}, Reason::wrong_wiring, false, false, Verdict::rejected, Reason::wrong_wiring, 0, 0, 0},
    {"reset: everything", kReset, {{8, 600, 0}, {40, 15, 0}}, {1, 0, 1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 2, 0, 80},
    {"reset: of nothing", kEmptyReset, {{8, 600, 0}, {40, 15, 0}}, {}, Reason::none, true, true, Verdict::ok, Reason::none, 0, 0, 80},
    {"reset: of nothing, yet a card", kEmptyReset, {{8, 600, 0}, {40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::ok, Reason::none, 1, 0, 80},
    {"reset: one of two", kReset, {{8, 600, 0}, {40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::partial, Reason::none, 1, 0, 80},
    {"reset: none of two", kReset, {{8, 600, 0}, {40, 15, 0}}, {}, Reason::none, true, true, Verdict::latch_fault, Reason::none, 0, 0, 80},
    {"reset: it woke the toy", kReset, {{40, 15, 0}}, {}, Reason::none, true, true, Verdict::held, Reason::none, 0, 0, 0},
    {"reset: it woke an empty toy", kEmptyReset, {{40, 15, 0}}, {}, Reason::none, true, true, Verdict::held, Reason::none, 0, 0, 0},
    {"reset: cards without the latch", kReset, {{40, 15, 0}}, {1, 0}, Reason::none, true, true, Verdict::fault, Reason::cards_unpowered, 1, 0, 0},
    {"reset: no sound", kReset, {{40, 15, 0}}, {}, Reason::none, true, false, Verdict::rejected, Reason::no_sound, 0, 0, 0},
    {"reset: unheard", kReset, {{8, 600, 0}}, {1, 0, 1, 0}, Reason::none, true, false, Verdict::fault, Reason::ran_unheard, 2, 0, 80},
    {"reset: jam without drive", kReset, {{8, 600, 0}, {30, 15, kA}}, {1, 0, 1}, Reason::none, true, true, Verdict::jam, Reason::beam_jam, 1, 0, 80},
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
    CHECK(outcome.driven_ms == each.roller_ms);
  }
}

TEST_CASE("the threshold is inclusive and exact") {
  // 150 mA lie between a sum of 122 (149.084 mA) and 123 (150.306 mA).
  VerdictMachine machine;
  machine.start(kButton);
  CHECK(!machine.bin(122, 0));
  CHECK(machine.bin(123, 0));
  Rules exact = kButton;
  exact.driven_mA = 611;  // 500 * 1222 = 611,000
  machine.start(exact);
  CHECK(machine.bin(500, 0));
  CHECK(!machine.bin(499, 0));
}

TEST_CASE("the largest sum does not overflow") {
  VerdictMachine machine;
  machine.start(kButton);
  CHECK(machine.bin(4 * 1023, 0));
}

TEST_CASE("a trial of the blaster cannot be over while a card stands in the beam, unless it is a jam") {
  VerdictMachine machine;
  machine.start(kInsert);
  for (int n = 0; n < 30; ++n) {
    CHECK(!machine.jammed());
    CHECK(machine.bin(15, kA));
  }
  CHECK(machine.jammed());
  CHECK(!machine.bin(15, kA));
  machine.start(kButton);
  CHECK(!machine.bin(15, kA));  // a roller at rest
}

TEST_CASE("whatever may be set for a jam or a stall is counted, and no run of bins is too long to count") {
  for (uint16_t ms = 50; ms <= protocol::setting_max::jam_ms; ++ms) {
    Rules rules = kInsert;
    rules.jam_ms = rules.stall_ms = ms;
    VerdictMachine machine;
    machine.start(rules);
    int bins = 0;
    while (!machine.jammed()) {
      machine.bin(15, kA);
      ++bins;
    }
    REQUIRE(bins == (ms + 9) / 10);
    for (; bins < 2000; ++bins) machine.bin(15, kA);
    REQUIRE(machine.finish(Reason::none, true, true).reason == Reason::beam_jam);
    machine.start(rules);
    for (bins = 0; !machine.jammed(); ++bins) machine.bin(1000, 0);
    REQUIRE(bins == ms / 10 + 1);
  }
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
