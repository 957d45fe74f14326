// SPDX-License-Identifier: Apache-2.0
// Inserts and resets on the stub board, from the command to TRIAL_END, and what the books of the slots say afterwards.
#include "blast.h"

static const Output kSlots[] = {Output::slot1, Output::slot2, Output::slot3, Output::slot4, Output::slot5, Output::slot6};

TEST_CASE_FIXTURE(Blast, "every slot has its own solenoid, held for insert_hold_ms and alone") {
  REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::slots, 6)) == Result::ok);
  for (uint8_t slot = 1; slot <= 6; ++slot) {
    CAPTURE(static_cast<int>(slot));
    REQUIRE(insert(slot) == Result::ok);
    REQUIRE(bench.run_until([] { return the.on != 1u << 10; }, 10));
    CHECK(the.on == ((1u << 10) | (1u << static_cast<uint8_t>(kSlots[slot - 1]))));
    const uint64_t from = the.tick;
    CHECK(bench.run_until([] { return the.on == 1u << 10; }, 100));
    const double held = static_cast<double>(the.tick - from) / 16000;
    CHECK(held >= 39.5);
    CHECK(held <= 40.5);
    sound(10, 100);
    const Event& end = finish();
    CHECK(verdict(end) == Verdict::held);
    CHECK(end.u8(end_at::accepted) == 1);
    CHECK(end.u16(end_at::roller_ms) == 0);
    CHECK(occupied() == (1u << slot) - 1);
  }
  holds(6);
}

TEST_CASE_FIXTURE(Blast, "the reset button is held for reset_hold_ms, as long as that may be") {
  REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::reset_hold_ms, 350)) == Result::ok);
  REQUIRE(reset() == Result::ok);
  REQUIRE(bench.run_until([] { return on(Output::reset); }, 10));
  const uint64_t from = the.tick;
  CHECK(the.cut_ticks * 2 > 350);
  REQUIRE(bench.run_until([] { return !on(Output::reset); }, 1000));
  const double held = static_cast<double>(the.tick - from) / 16000;
  CHECK(held >= 349.5);
  CHECK(held <= 350.5);
  CHECK(verdict(finish()) == Verdict::rejected);
}

TEST_CASE_FIXTURE(Blast, "the longest insert is not cut by the guard") {
  REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::insert_hold_ms, 60)) == Result::ok);
  REQUIRE(insert(3) == Result::ok);
  REQUIRE(bench.run_until([] { return on(Output::slot3); }, 10));
  CHECK(the.cut_ticks * 2 > 60);
  CHECK(answer() == Verdict::held);
  CHECK(bench.count(Type::FAULT) == 0);
}

TEST_CASE_FIXTURE(Blast, "an insert waits for its moment") {
  const uint64_t moment = the.tick + 16000 * 700 + 123;
  REQUIRE(bench.ask(Type::INSERT, Bench::insert(4, 2, moment)) == Result::ok);
  bench.run(690);
  CHECK(bench.count(Type::ACTUATED) == 0);
  CHECK(answer() == Verdict::held);
  const uint64_t actuated = bench.last(Type::ACTUATED)->u48(4);
  CHECK(actuated >= moment);
  CHECK(actuated - moment < 16000);
}

TEST_CASE_FIXTURE(Blast, "a round: held twice, then everything flies and the books are empty") {
  REQUIRE(insert(4) == Result::ok);
  CHECK(answer() == Verdict::held);
  CHECK(occupied() == 8);
  REQUIRE(insert(1) == Result::ok);
  CHECK(answer() == Verdict::held);
  CHECK(occupied() == 9);
  REQUIRE(insert(2) == Result::ok);
  CHECK(answer(true, 3) == Verdict::blast);
  CHECK(bench.last(Type::TRIAL_END)->u16(end_at::cleared) == 3);
  CHECK(bench.last(Type::TRIAL_END)->u16(end_at::roller_ms) == 40);
  CHECK(occupied() == 0);
  REQUIRE(insert(4) == Result::ok);  // which is free again
  CHECK(answer(true, 1) == Verdict::blast);
}

TEST_CASE_FIXTURE(Blast, "after a partial ejection the mask stays, and the count is right") {
  REQUIRE(tell(7, 3) == Result::ok);
  REQUIRE(insert(4) == Result::ok);
  CHECK(answer(true, 3) == Verdict::partial);
  CHECK(occupied() == 15);
  for (uint8_t slot = 1; slot <= 4; ++slot) CHECK(insert(slot) == Result::occupied);
  holds(1);
}

TEST_CASE_FIXTURE(Blast, "a latch that was driven in vain leaves every card where it was") {
  REQUIRE(tell(3, 2) == Result::ok);
  REQUIRE(insert(3) == Result::ok);
  CHECK(answer(true, 0) == Verdict::latch_fault);
  CHECK(occupied() == 7);
  holds(3);
}

TEST_CASE_FIXTURE(Blast, "cards that fly unasked leave the books too") {
  REQUIRE(tell(3, 2) == Result::ok);
  REQUIRE(insert(3) == Result::ok);
  CHECK(answer(false, 2) == Verdict::fault);
  CHECK(reason(*bench.last(Type::TRIAL_END)) == Reason::cards_unpowered);
  CHECK(occupied() == 7);
  holds(1);
}

TEST_CASE_FIXTURE(Blast, "more than was loaded leaves no card, and every slot barred") {
  REQUIRE(tell(1, 1) == Result::ok);
  REQUIRE(insert(2) == Result::ok);
  CHECK(answer(true, 3) == Verdict::fault);
  CHECK(reason(*bench.last(Type::TRIAL_END)) == Reason::more_than_loaded);
  CHECK(occupied() == 3);
  holds(0);
}

TEST_CASE_FIXTURE(Blast, "asleep the toy takes nothing: no sound, and the card is in the slot nevertheless") {
  REQUIRE(insert(2) == Result::ok);
  const Event end = finish();
  CHECK(verdict(end) == Verdict::rejected);
  CHECK(reason(end) == Reason::no_sound);
  CHECK(end.u8(end_at::accepted) == 0);
  CHECK(occupied() == 2);
  CHECK(insert(2) == Result::occupied);
  holds(1);
}

TEST_CASE_FIXTURE(Blast, "a sound that comes after accept_ms is no answer") {
  REQUIRE(insert(2) == Result::ok);
  sound(160, 100);
  CHECK(reason(finish()) == Reason::no_sound);
}

TEST_CASE_FIXTURE(Blast, "a release may begin until onset_ms, and is waited for") {
  REQUIRE(insert(1) == Result::ok);
  sound(20, 20);
  bench.run(330);  // 200 ms of quiet are over, 400 ms since actuation are not
  CHECK(bench.count(Type::TRIAL_END) == 0);
  bench.current_sum = kRunning;
  bench.run(30);
  bench.current_sum = kStill;
  card();
  CHECK(verdict(finish()) == Verdict::blast);
}

TEST_CASE_FIXTURE(Blast, "a card that stays in the beam is a jam, driven or not, and the mask stays until a person tells") {
  REQUIRE(tell(3, 2) == Result::ok);
  REQUIRE(insert(3) == Result::ok);
  sound(40, 60);
  bench.current_sum = kRunning;
  bench.run(40);
  bench.current_sum = kStill;
  card();
  stub::edge(Channel::beam_a, true);
  bench.run(250);
  CHECK(bench.count(Type::TRIAL_END) == 0);  // quiet otherwise for longer than quiet_ms
  const Event end = finish();
  CHECK(verdict(end) == Verdict::jam);
  CHECK(reason(end) == Reason::beam_jam);
  CHECK(end.u16(end_at::cleared) == 1);
  CHECK(end.u8(end_at::sticking) == 0);
  CHECK(end.u16(end_at::roller_ms) == 40);
  CHECK(bins().size() < 150);  // a jam need not be watched to the end of observe_max_ms
  CHECK(occupied() == 7);
  REQUIRE(insert(4) == Result::ok);
  CHECK(reason(finish()) == Reason::beam_blocked);
  CHECK(occupied() == 7);
  stub::edge(Channel::beam_a, false);
  bench.run(300);
  REQUIRE(tell(5, 2) == Result::ok);
  CHECK(occupied() == 5);
  REQUIRE(insert(4) == Result::ok);
  CHECK(answer(true, 3) == Verdict::blast);
}

TEST_CASE_FIXTURE(Blast, "a card that leaves the beam late, yet before jam_ms, has flown") {
  REQUIRE(insert(3) == Result::ok);
  sound(40, 20);
  bench.current_sum = kRunning;
  bench.run(20);
  bench.current_sum = kStill;
  stub::edge(Channel::beam_a, true);
  bench.run(290);
  stub::edge(Channel::beam_a, false);
  CHECK(verdict(finish()) == Verdict::blast);
}

TEST_CASE_FIXTURE(Blast, "a jam in which every card came through leaves the mask") {
  REQUIRE(insert(3) == Result::ok);
  sound(40, 20);
  stub::edge(Channel::beam_a, true);
  bench.run(320);
  stub::edge(Channel::beam_a, false);
  CHECK(verdict(finish()) == Verdict::jam);
  CHECK(occupied() == 4);
  holds(0);
}

TEST_CASE_FIXTURE(Blast, "the meanings of a reset: it wakes, it ejects everything, something, nothing") {
  REQUIRE(tell(3, 2) == Result::ok);
  REQUIRE(reset() == Result::ok);
  CHECK(answer() == Verdict::held);
  CHECK(bench.last(Type::TRIAL_END)->u8(end_at::accepted) == 1);
  CHECK(occupied() == 3);
  REQUIRE(reset() == Result::ok);
  CHECK(answer(true, 1) == Verdict::partial);
  CHECK(occupied() == 3);
  REQUIRE(reset() == Result::ok);
  CHECK(answer(true, 0) == Verdict::latch_fault);
  CHECK(occupied() == 3);
  REQUIRE(reset() == Result::ok);
  CHECK(answer(true, 1) == Verdict::ok);
  CHECK(occupied() == 0);
  REQUIRE(reset() == Result::ok);
  CHECK(answer(true, 0) == Verdict::ok);
  REQUIRE(reset() == Result::ok);
  CHECK(verdict(finish()) == Verdict::rejected);
}

TEST_CASE_FIXTURE(Blast, "what is ended from outside keeps the card that was inserted, less what flew") {
  REQUIRE(insert(1) == Result::ok);
  bench.run(20);
  CHECK(bench.ask(Type::ABORT) == Result::ok);
  CHECK(verdict(finish()) == Verdict::aborted);
  CHECK(!on(Output::slot1));
  CHECK(occupied() == 1);
  REQUIRE(insert(2) == Result::ok);
  sound(40, 20);
  bench.current_sum = kRunning;
  card();
  bench.current_sum = kStill;
  core::Guard::trip(Cause::stop_received);
  CHECK(reason(finish()) == Reason::stop);
  CHECK(occupied() == 3);
  REQUIRE(bench.ask(Type::CLEAR_FAULT, {static_cast<uint8_t>(Cause::stop_received)}) == Result::ok);
  bench.power_on();
  holds(1);
}

TEST_CASE_FIXTURE(Blast, "an insert that was not actuated put no card in") {
  REQUIRE(bench.ask(Type::INSERT, Bench::insert(1, 1, the.tick + 16000 * 5000)) == Result::ok);
  bench.run(100);
  CHECK(bench.ask(Type::ABORT) == Result::ok);
  CHECK(verdict(finish()) == Verdict::aborted);
  CHECK(occupied() == 0);
  holds(0);
}

TEST_CASE_FIXTURE(Blast, "a new conversation keeps the books, a reset of the board loses them") {
  REQUIRE(tell(10, 2) == Result::ok);
  bench.hello(77);
  CHECK(occupied() == 10);
  Bench again(true);
  again.hello();
  REQUIRE(again.ask(Type::GET_STATUS) == Result::ok);
  CHECK(again.last(Type::STATUS)->u8(protocol::status_at::occupied) == 0);
}

TEST_CASE_FIXTURE(Blast, "a fault takes the coil off at once, names the trial, and ends it") {
  struct { Cause cause; Verdict verdict; Reason reason; } cases[] = {
      {Cause::stop_received, Verdict::aborted, Reason::stop},
      {Cause::interlock_open, Verdict::aborted, Reason::interlock},
      {Cause::max_on, Verdict::fault, Reason::guard},
  };
  for (bool resets : {false, true}) {
    for (const auto& each : cases) {
      CAPTURE(resets);
      CAPTURE(static_cast<int>(each.cause));
      const Output coil = resets ? Output::reset : Output::slot2;
      REQUIRE((resets ? reset() : insert(2)) == Result::ok);
      REQUIRE(bench.run_until([&] { return on(coil); }, 10));
      bench.run(10);
      core::Guard::trip(each.cause);
      CHECK(the.on == 0);
      const Event end = finish();
      CHECK(verdict(end) == each.verdict);
      CHECK(reason(end) == each.reason);
      CHECK(bench.last(Type::FAULT)->u32(protocol::fault_at::trial) == trial);
      CHECK(bench.last(Type::FAULT)->u8(protocol::fault_at::output) ==
            (each.cause == Cause::max_on ? static_cast<uint8_t>(coil) : 255));
      CHECK(bench.ask(Type::CLEAR_FAULT, {static_cast<uint8_t>(each.cause)}) == Result::ok);
      bench.power_on();
      REQUIRE(tell(0, 0) == Result::ok);
    }
  }
}

TEST_CASE_FIXTURE(Blast, "a host that falls silent in a reset leaves nothing on") {
  REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::reset_hold_ms, 350)) == Result::ok);
  REQUIRE(reset() == Result::ok);
  REQUIRE(bench.run_until([] { return on(Output::reset); }, 10));
  bench.host_answers = false;
  bench.run(250);
  CHECK(the.on == 0);
  bench.host_answers = true;
  CHECK(reason(finish()) == Reason::lease);
}

TEST_CASE_FIXTURE(Blast, "over a lossy line an insert is carried out once, and everything of it arrives") {
  unsigned frames = 0;
  bench.lose_to_host = bench.lose_to_mcu = [&] { return ++frames % 4 == 0; };
  for (int round = 0; round < 10; ++round) {
    REQUIRE(insert(1) == Result::ok);
    CHECK(answer() == Verdict::held);
    REQUIRE(insert(2) == Result::ok);
    CHECK(answer(true, 2) == Verdict::blast);
  }
  CHECK(bench.count(Type::ACTUATED) == trial);
  CHECK(the.ledger.pins[static_cast<uint8_t>(Output::slot1)].times == 10);
  CHECK(coils_moved() == 20);
}
