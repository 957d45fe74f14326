// SPDX-License-Identifier: Apache-2.0
// Presses on the stub board, from the command to TRIAL_END.
#include "press.h"

TEST_CASE_FIXTURE(Powered, "a press that the toy answers and does nothing is a normal zero") {
  REQUIRE(start() == Result::ok);
  sound();
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::no_run);
  CHECK(end.u8(end_at::accepted) == 1);
  CHECK(end.u16(end_at::cleared) == 0);
  CHECK(on(Output::power));
  const Event& actuated = *bench.last(Type::ACTUATED);
  CHECK(actuated.u32(0) == 1);
  const double ms = static_cast<double>(end.u48(end_at::tick) - actuated.u48(4)) / 16000;
  CHECK(ms >= 440);  // quiet for 200 ms after the sound, which ended at 250
  CHECK(ms <= 480);
  CHECK(bins().size() == static_cast<size_t>(ms / 10));
}

TEST_CASE_FIXTURE(Powered, "cards are counted and every edge is told before the verdict") {
  REQUIRE(start() == Result::ok);
  sound(40, 100);
  bench.current_sum = kRunning;
  for (int n = 0; n < 5; ++n) card();
  bench.current_sum = kStill;
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::ok);
  CHECK(end.u16(end_at::cleared) == 5);
  CHECK(end.u8(end_at::sticking) == 0);
  CHECK(bench.edges(Channel::beam_a).size() == 10);
  CHECK(bench.edges(Channel::beam_b).size() == 10);
  CHECK(bench.edges(Channel::sound).size() == 2);
  CHECK(bench.events.back().type == Type::TRIAL_END);
  unsigned driven = 0;
  for (uint32_t bin : bins()) driven += (bin & 0xFFF) == kRunning;
  CHECK(end.u16(end_at::roller_ms) == driven * 10);
  for (const Event& event : bench.events) {
    if (event.type == Type::EDGES && &event > bench.last(Type::ACTUATED)) CHECK(event.u32(0) == 1);
  }
}

TEST_CASE_FIXTURE(Powered, "edges carry the tick at which they happened") {
  REQUIRE(start() == Result::ok);
  bench.run(10);
  const uint64_t up = the.tick;
  stub::edge(Channel::beam_a, true);
  bench.run(20);
  const uint64_t down = the.tick;
  stub::edge(Channel::beam_a, false);
  finish();
  CHECK(bench.edges(Channel::beam_a) == std::vector<uint64_t>{up << 1 | 1, down << 1});
}

TEST_CASE_FIXTURE(Powered, "the button is held for press_hold_ms") {
  bench.ask(Type::SET, Bench::setting(Setting::press_hold_ms, 77));
  REQUIRE(start() == Result::ok);
  REQUIRE(bench.run_until([] { return on(Output::launch); }, 10));
  const uint64_t from = the.tick;
  REQUIRE(bench.run_until([] { return !on(Output::launch); }, 1000));
  const double held = static_cast<double>(the.tick - from) / 16000;
  CHECK(held >= 76.5);
  CHECK(held <= 77.5);
  finish();
}

TEST_CASE_FIXTURE(Powered, "a press waits for its moment") {
  const uint64_t moment = the.tick + 16000 * 700 + 123;
  REQUIRE(bench.ask(Type::PRESS, Bench::press(4, moment)) == Result::ok);
  bench.run(690);
  CHECK(bench.count(Type::ACTUATED) == 0);
  CHECK(!the.sampling);
  finish();
  const uint64_t actuated = bench.last(Type::ACTUATED)->u48(4);
  CHECK(actuated >= moment);
  CHECK(actuated - moment < 16000);
}

TEST_CASE_FIXTURE(Powered, "a moment that has passed means at once") {
  REQUIRE(bench.ask(Type::PRESS, Bench::press(4, the.tick - 16000)) == Result::ok);
  bench.run(5);
  CHECK(bench.count(Type::ACTUATED) == 1);
  finish();
}

TEST_CASE_FIXTURE(Powered, "without a sound in time nothing was accepted") {
  REQUIRE(start() == Result::ok);
  sound(160, 100);
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::rejected);
  CHECK(reason(end) == Reason::no_sound);
}

TEST_CASE_FIXTURE(Powered, "a sound that was there before is no answer") {
  stub::edge(Channel::sound, true);
  bench.run(50);
  REQUIRE(start() == Result::ok);
  bench.run(50);
  stub::edge(Channel::sound, false);
  CHECK(reason(finish()) == Reason::no_sound);
}

TEST_CASE_FIXTURE(Powered, "while the toy sounds the trial goes on") {
  REQUIRE(start() == Result::ok);
  sound(50, 1500);
  CHECK(bench.count(Type::TRIAL_END) == 0);
  CHECK(verdict(finish()) == Verdict::no_run);
  CHECK(bins().size() >= 174);
}

TEST_CASE_FIXTURE(Powered, "a card left in the beam sticks, and the next press is rejected until it is gone") {
  REQUIRE(start() == Result::ok);
  sound(40, 50);
  bench.current_sum = kRunning;
  card();
  stub::edge(Channel::beam_a, true);
  bench.run(30);
  bench.current_sum = kStill;
  const Event end = finish();
  CHECK(verdict(end) == Verdict::ok);
  CHECK(end.u16(end_at::cleared) == 1);
  CHECK(end.u8(end_at::sticking) == 1);
  REQUIRE(start(2) == Result::ok);
  CHECK(reason(finish()) == Reason::beam_blocked);
  stub::edge(Channel::beam_a, false);
  bench.run(300);
  REQUIRE(start(3) == Result::ok);
  sound();
  CHECK(verdict(finish()) == Verdict::no_run);
}

TEST_CASE_FIXTURE(Powered, "a stall is a jam, the button is let go and toy power stays") {
  bench.ask(Type::SET, Bench::setting(Setting::press_hold_ms, 180));
  bench.ask(Type::SET, Bench::setting(Setting::stall_ms, 50));
  REQUIRE(start() == Result::ok);
  bench.current_sum = kStalled;
  bench.run(80);
  CHECK(!on(Output::launch));
  CHECK(on(Output::power));
  bench.run(300);
  bench.current_sum = kStill;
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::jam);
  CHECK(reason(end) == Reason::stall);
}

TEST_CASE_FIXTURE(Powered, "a trial that is never quiet ends by itself") {
  bench.ask(Type::SET, Bench::setting(Setting::observe_max_ms, 1500));
  REQUIRE(start() == Result::ok);
  sound();
  bench.current_sum = kRunning;
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::fault);
  CHECK(reason(end) == Reason::timeout);
  CHECK(bins().size() == 150);
}

TEST_CASE_FIXTURE(Powered, "what forbids a press is named, and nothing is actuated") {
  SUBCASE("the other wiring") {
    REQUIRE(bench.ask(Type::PRESS, Bench::run_direct(1, 100, 200)) == Result::ok);
    CHECK(rejected() == Reason::wrong_wiring);
  }
  SUBCASE("the lid") {
    stub::edge(Channel::lid, false);
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::lid);
  }
  SUBCASE("beam B") {
    stub::edge(Channel::beam_b, true);
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::beam_blocked);
  }
  SUBCASE("no power") {
    bench.ask(Type::POWER, {0});
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::power_off);
  }
  SUBCASE("power not settled") {
    bench.ask(Type::POWER, {0});
    bench.ask(Type::POWER, {1});
    bench.run(300);
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::power_off);
  }
  SUBCASE("a latched fault") {
    core::Guard::trip(Cause::stop_received);
    bench.run(5);
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::fault_latched);
  }
  SUBCASE("the interlock") {
    stub::edge(Channel::interlock, false);
    core::Guard::trip(Cause::interlock_open);
    bench.run(5);
    REQUIRE(start() == Result::ok);
    CHECK(rejected() == Reason::interlock);
  }
  CHECK(the.energised_count <= 2);  // toy power, never the button
}

TEST_CASE_FIXTURE(Powered, "values that make no sense are refused") {
  CHECK(bench.ask(Type::PRESS, Bench::press(0)) == Result::bad_value);
  auto press = Bench::press(1);
  press[protocol::press_at::drive] = 2;
  CHECK(bench.ask(Type::PRESS, press) == Result::bad_value);
  CHECK(bench.ask(Type::PRESS, Bench::run_direct(1, 5001, 200)) == Result::bad_value);
  CHECK(bench.ask(Type::PRESS, Bench::run_direct(1, 100, 3)) == Result::bad_value);
  bench.run(1000);
  CHECK(bench.count(Type::TRIAL_END) == 0);
}

TEST_CASE_FIXTURE(Powered, "while a trial is in flight the board is busy") {
  REQUIRE(start() == Result::ok);
  CHECK(start(2) == Result::busy);
  CHECK(bench.ask(Type::POWER, {0}) == Result::busy);
  CHECK(bench.ask(Type::SET, Bench::setting(Setting::quiet_ms, 100)) == Result::busy);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
  CHECK(bench.last(Type::STATUS)->u32(protocol::status_at::trial) == 1);
  finish();
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
  CHECK(bench.last(Type::STATUS)->u32(protocol::status_at::trial) == 0);
  CHECK(bench.count(Type::TRIAL_END) == 1);
}

struct Direct : Powered {
  Direct() {
    REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::wiring, 1)) == Result::ok);
    REQUIRE(bench.ask(Type::POWER, {0}) == Result::ok);
  }
};

TEST_CASE_FIXTURE(Direct, "direct drive runs the roller for the commanded time and duty") {
  REQUIRE(bench.ask(Type::PRESS, Bench::run_direct(1, 333, 180)) == Result::ok);
  REQUIRE(bench.run_until([] { return on(Output::roller); }, 10));
  const uint64_t from = the.tick;
  CHECK(the.duty == 180);
  CHECK(!on(Output::launch));
  bench.run(100);
  card();
  card();
  REQUIRE(bench.run_until([] { return !on(Output::roller); }, 1000));
  const double ran = static_cast<double>(the.tick - from) / 16000;
  CHECK(ran >= 332.5);
  CHECK(ran <= 333.5);
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::ok);
  CHECK(end.u8(end_at::accepted) == 1);
  CHECK(end.u16(end_at::cleared) == 2);
  CHECK(end.u16(end_at::roller_ms) == 330);
}

TEST_CASE_FIXTURE(Direct, "a commanded zero is a normal zero") {
  REQUIRE(bench.ask(Type::PRESS, Bench::run_direct(1, 0, 0)) == Result::ok);
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::no_run);
  CHECK(bench.count(Type::ACTUATED) == 1);
  CHECK(the.energised_count == 1);  // toy power, before
}

TEST_CASE_FIXTURE(Direct, "a jam stops the roller") {
  REQUIRE(bench.ask(Type::PRESS, Bench::run_direct(1, 3000, 255)) == Result::ok);
  bench.run(100);
  bench.current_sum = kStalled;
  bench.run(300);
  CHECK(!on(Output::roller));
  bench.current_sum = 0;
  CHECK(verdict(finish()) == Verdict::jam);
}

TEST_CASE_FIXTURE(Direct, "a button press is for the other wiring") {
  REQUIRE(start() == Result::ok);
  CHECK(rejected() == Reason::wrong_wiring);
}
