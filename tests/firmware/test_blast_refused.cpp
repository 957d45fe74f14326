// SPDX-License-Identifier: Apache-2.0
// What may not be inserted or reset: each has its own answer, no coil moves, and the books stay as they were.
#include "blast.h"

TEST_CASE_FIXTURE(Blast, "a slot that is not wired is a bad value, whatever the number of slots") {
  for (uint8_t slots = 1; slots <= 6; ++slots) {
    REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::slots, slots)) == Result::ok);
    for (int slot = 0; slot < 256; ++slot) {
      if (slot >= 1 && slot <= slots) continue;
      REQUIRE(insert(static_cast<uint8_t>(slot)) == Result::bad_value);
    }
  }
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "an occupied slot is refused, and the others are not") {
  REQUIRE(tell(5, 2) == Result::ok);
  CHECK(insert(1) == Result::occupied);
  CHECK(insert(3) == Result::occupied);
  CHECK(nothing_moved());
  CHECK(occupied() == 5);
  REQUIRE(insert(2) == Result::ok);
  CHECK(answer() == Verdict::held);
  CHECK(occupied() == 7);
}

TEST_CASE_FIXTURE(Blast, "trial 0 is none") {
  CHECK(bench.ask(Type::INSERT, Bench::insert(0, 1)) == Result::bad_value);
  CHECK(bench.ask(Type::RESET, Bench::reset(0)) == Result::bad_value);
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "a payload of another length is a bad value") {
  auto payload = Bench::insert(1, 1);
  payload.pop_back();
  CHECK(bench.ask(Type::INSERT, payload) == Result::bad_value);
  CHECK(bench.ask(Type::INSERT, Bench::press(1)) == Result::bad_value);
  CHECK(bench.ask(Type::RESET, Bench::insert(1, 1)) == Result::bad_value);
  CHECK(bench.ask(Type::SLOTS, {1}) == Result::bad_value);
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "a press of the roller is rejected, in either drive") {
  REQUIRE(bench.ask(Type::PRESS, Bench::press(1)) == Result::ok);
  CHECK(rejected() == Reason::wrong_wiring);
  REQUIRE(bench.ask(Type::PRESS, Bench::run_direct(2, 100, 200)) == Result::ok);
  CHECK(rejected() == Reason::wrong_wiring);
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "on a bench of the roller, or wired direct, an insert and a reset are rejected") {
  struct { int launcher, wiring; } cases[] = {{0, 0}, {0, 1}, {1, 1}};
  for (const auto& each : cases) {
    REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::launcher, each.launcher)) == Result::ok);
    REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::wiring, each.wiring)) == Result::ok);
    REQUIRE(insert(1) == Result::ok);
    CHECK(rejected() == Reason::wrong_wiring);
    REQUIRE(reset() == Result::ok);
    CHECK(rejected() == Reason::wrong_wiring);
    CHECK(insert(5) == Result::bad_value);
    CHECK(occupied() == 0);
  }
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "what forbids an insert and a reset is named, and nothing is actuated") {
  Reason expected = Reason::none;
  SUBCASE("beam A") {
    stub::edge(Channel::beam_a, true);
    expected = Reason::beam_blocked;
  }
  SUBCASE("beam B") {
    stub::edge(Channel::beam_b, true);
    expected = Reason::beam_blocked;
  }
  SUBCASE("no power") {
    bench.ask(Type::POWER, {0});
    expected = Reason::power_off;
  }
  SUBCASE("a latched fault") {
    core::Guard::trip(Cause::stop_received);
    expected = Reason::fault_latched;
  }
  SUBCASE("the interlock") {
    stub::edge(Channel::interlock, false);
    core::Guard::trip(Cause::interlock_open);
    expected = Reason::interlock;
  }
  bench.run(50);
  REQUIRE(insert(1) == Result::ok);
  CHECK(rejected() == expected);
  REQUIRE(reset() == Result::ok);
  CHECK(rejected() == expected);
  CHECK(nothing_moved());
  CHECK(occupied() == 0);
}

TEST_CASE_FIXTURE(Blast, "toy power that has not settled is no power") {
  bench.ask(Type::POWER, {0});
  bench.ask(Type::POWER, {1});
  bench.run(300);
  REQUIRE(reset() == Result::ok);
  CHECK(rejected() == Reason::power_off);
  for (uint8_t n = 2; n <= 9; ++n) CHECK(the.ledger.pins[n].times == 0);
}

TEST_CASE_FIXTURE(Blast, "an open lid is no obstacle: it covers a store of cards") {
  stub::edge(Channel::lid, false);
  bench.run(50);
  REQUIRE(insert(1) == Result::ok);
  CHECK(answer() == Verdict::held);
  REQUIRE(reset() == Result::ok);
  CHECK(answer(true, 1) == Verdict::ok);
}

TEST_CASE_FIXTURE(Blast, "while a trial is in flight the board is busy, with whatever would change what it counts") {
  REQUIRE(insert(1) == Result::ok);
  CHECK(insert(2) == Result::busy);
  CHECK(insert(1) == Result::busy);
  CHECK(insert(9) == Result::busy);
  CHECK(reset() == Result::busy);
  CHECK(tell(0, 0) == Result::busy);
  CHECK(bench.ask(Type::PRESS, Bench::press(9)) == Result::busy);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::slots, 2)) == Result::busy);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::launcher, 0)) == Result::busy);
  CHECK(bench.ask(Type::IDENTIFY, std::vector<uint8_t>(16, 7)) == Result::busy);
  CHECK(bench.ask(Type::PULSE, {static_cast<uint8_t>(Output::slot2), 10, 255}) == Result::busy);
  finish();
  CHECK(the.ledger.most_coils == 1);
  CHECK(the.ledger.pins[static_cast<uint8_t>(Output::slot1)].times == 1);
  CHECK(coils_moved() == 1);
  CHECK(occupied() == 1);
  CHECK(bench.ask(Type::IDENTIFY, std::vector<uint8_t>(16, 7)) == Result::ok);
}

TEST_CASE_FIXTURE(Blast, "while a pulse lasts there is no trial, and nobody names the board") {
  REQUIRE(bench.ask(Type::PULSE, {static_cast<uint8_t>(Output::reset), 60, 255}) == Result::ok);
  CHECK(insert(1) == Result::busy);
  CHECK(reset() == Result::busy);
  CHECK(bench.ask(Type::IDENTIFY, std::vector<uint8_t>(16, 7)) == Result::busy);
  bench.run(300);
  CHECK(coils_moved() == 1);
  CHECK(bench.ask(Type::IDENTIFY, std::vector<uint8_t>(16, 7)) == Result::ok);
  REQUIRE(insert(1) == Result::ok);
  finish();
}

TEST_CASE_FIXTURE(Blast, "SLOTS takes what the bench can hold and nothing else") {
  for (uint8_t slots = 1; slots <= 6; ++slots) {
    REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::slots, slots)) == Result::ok);
    const uint8_t all = static_cast<uint8_t>((1u << slots) - 1);
    CHECK(tell(all, slots) == Result::ok);
    CHECK(occupied() == all);
    CHECK(tell(static_cast<uint8_t>(all + 1), 1) == Result::bad_value);
    CHECK(tell(0x80, 1) == Result::bad_value);
    CHECK(tell(all, static_cast<uint8_t>(slots + 1)) == Result::bad_value);
    CHECK(tell(all, 255) == Result::bad_value);
    CHECK(tell(0, 1) == Result::bad_value);
    CHECK(tell(1, 2) == Result::bad_value);
    CHECK(occupied() == all);  // what was refused changed nothing
    CHECK(tell(1, 0) == Result::ok);
    CHECK(tell(0, 0) == Result::ok);
    CHECK(occupied() == 0);
  }
  CHECK(nothing_moved());
}

TEST_CASE_FIXTURE(Blast, "another launcher or number of slots clears the books, the same again does not") {
  REQUIRE(tell(3, 2) == Result::ok);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::slots, 4)) == Result::ok);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::launcher, 1)) == Result::ok);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::slots, 9)) == Result::bad_value);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::insert_hold_ms, 33)) == Result::ok);
  CHECK(occupied() == 3);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::slots, 5)) == Result::ok);
  CHECK(occupied() == 0);
  REQUIRE(tell(3, 2) == Result::ok);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::launcher, 0)) == Result::ok);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::launcher, 1)) == Result::ok);
  CHECK(occupied() == 0);
  holds(0);
}

TEST_CASE_FIXTURE(Blast, "BOOT tells the launcher, and a second life knows launcher and slots") {
  REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::slots, 2)) == Result::ok);
  bench.run(100);
  Bench again(true);
  again.run(300);
  REQUIRE(!again.others.empty());
  CHECK(again.others[0].u8(protocol::boot_at::launcher) == static_cast<uint8_t>(protocol::Launcher::blast));
  again.hello();
  REQUIRE(again.ask(Type::GET, {static_cast<uint8_t>(Setting::slots)}) == Result::ok);
  CHECK(again.last(Type::VALUE)->u32(protocol::value_at::value) == 2);
  CHECK(again.ask(Type::INSERT, Bench::insert(1, 3)) == Result::bad_value);
}

TEST_CASE_FIXTURE(Blast, "a slot that has not rested makes the trial a fault of the guard, and no card goes in") {
  REQUIRE(insert(1) == Result::ok);
  bench.run(50);
  REQUIRE(bench.ask(Type::ABORT) == Result::ok);
  finish();
  REQUIRE(tell(0, 0) == Result::ok);
  REQUIRE(insert(1) == Result::ok);  // 60 ms after the last, which needs 200
  const Event end = finish();
  CHECK(verdict(end) == Verdict::fault);
  CHECK(reason(end) == Reason::guard);
  CHECK(bench.count(Type::ACTUATED) == 1);
  CHECK(bench.count(Type::FAULT) == 0);
  CHECK(coils_moved() == 1);
  CHECK(occupied() == 0);
}

// The window of a slot: 400 ms of on-time, refilled at 1/16 of the time off.
struct Paced : Blast {
  // Inserts into slot 1, one every `every_ms`, until one is no `held`; how many were.
  int inserts(double every_ms, int most) {
    for (int n = 0; n < most; ++n) {
      const double from = static_cast<double>(the.tick) / 16000;
      REQUIRE(tell(0, 0) == Result::ok);
      REQUIRE(insert(1) == Result::ok);
      sound(5, 20);
      if (verdict(finish()) != Verdict::held) return n;
      bench.run(every_ms - (static_cast<double>(the.tick) / 16000 - from));
    }
    return most;
  }
};

TEST_CASE_FIXTURE(Paced, "one slot takes an insert of 40 ms every 750 ms for ever") {
  CHECK(inserts(750, 300) == 300);
  CHECK(bench.count(Type::FAULT) == 0);
}

TEST_CASE_FIXTURE(Paced, "faster than that the guard cuts an insert short, after a while, and the trial is its fault") {
  const int held = inserts(550, 300);
  CHECK(held >= 20);
  CHECK(held < 100);
  CHECK(reason(*bench.last(Type::TRIAL_END)) == Reason::guard);
  CHECK(bench.last(Type::FAULT)->u8(protocol::fault_at::cause) == static_cast<uint8_t>(Cause::max_on));
  CHECK(bench.last(Type::FAULT)->u8(protocol::fault_at::output) == static_cast<uint8_t>(Output::slot1));
  CHECK(the.on == 0);
  CHECK(the.ledger.pins[static_cast<uint8_t>(Output::slot1)].fullest_ms <= 400);
}
