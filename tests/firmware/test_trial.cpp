// SPDX-License-Identifier: Apache-2.0
// Presses on the stub board, from the command to TRIAL_END.
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

static const uint16_t kStill = 12, kRunning = 250, kStalled = 900;  // sums: 15, 305, 1100 mA
static bool on(Output output) { return (the.on >> static_cast<uint8_t>(output)) & 1; }

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

TEST_CASE_FIXTURE(Powered, "ABORT ends the trial, outputs off, toy power stays") {
  REQUIRE(start() == Result::ok);
  bench.run(30);
  CHECK(bench.ask(Type::ABORT) == Result::ok);
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::aborted);
  CHECK(reason(end) == Reason::abort);
  CHECK(on(Output::power));
  CHECK(bench.ask(Type::ABORT) == Result::ok);  // nothing in flight: nothing happens
}

TEST_CASE_FIXTURE(Powered, "ABORT while it waits ends it without actuation") {
  REQUIRE(bench.ask(Type::PRESS, Bench::press(1, the.tick + 16000 * 5000)) == Result::ok);
  bench.run(300);
  CHECK(bench.ask(Type::ABORT) == Result::ok);
  CHECK(verdict(finish()) == Verdict::aborted);
  bench.run(6000);
  CHECK(bench.count(Type::ACTUATED) == 0);
}

TEST_CASE_FIXTURE(Powered, "a fault ends the trial, is told before its end, and takes toy power along") {
  struct { Cause cause; Verdict verdict; Reason reason; } cases[] = {
      {Cause::stop_received, Verdict::aborted, Reason::stop},
      {Cause::interlock_open, Verdict::aborted, Reason::interlock},
      {Cause::max_on, Verdict::fault, Reason::guard},
  };
  uint32_t trial = 1;
  for (const auto& each : cases) {
    CAPTURE(static_cast<int>(each.cause));
    REQUIRE(start(trial) == Result::ok);
    bench.run(50);
    REQUIRE(on(Output::launch));
    core::Guard::trip(each.cause);
    const Event end = finish();
    CHECK(verdict(end) == each.verdict);
    CHECK(reason(end) == each.reason);
    CHECK(the.on == 0);
    const Event& fault = *bench.last(Type::FAULT);
    CHECK(fault.u8(protocol::fault_at::cause) == static_cast<uint8_t>(each.cause));
    CHECK(fault.u32(protocol::fault_at::trial) == trial);
    CHECK(fault.u8(protocol::fault_at::output) ==
          (each.cause == Cause::max_on ? static_cast<uint8_t>(Output::launch) : 255));
    CHECK(bench.last(Type::POWERED)->u8(protocol::powered_at::on) == 0);
    CHECK(bench.last(Type::POWERED)->u8(protocol::powered_at::cause) == 1);
    CHECK(&fault < bench.last(Type::TRIAL_END));
    CHECK(bench.ask(Type::POWER, {1}) == Result::refused);
    CHECK(bench.ask(Type::CLEAR_FAULT, {static_cast<uint8_t>(each.cause)}) == Result::ok);
    bench.power_on();
    ++trial;
  }
}

TEST_CASE_FIXTURE(Powered, "inside a trial 248 ms of silence switch everything off") {
  for (bool waiting : {false, true}) {
    CAPTURE(waiting);
    const uint64_t moment = waiting ? the.tick + 16000 * 3000 : 0;
    REQUIRE(bench.ask(Type::PRESS, Bench::press(1, moment)) == Result::ok);
    bench.run(100);
    bench.host_answers = false;
    bench.run(150);
    CHECK(on(Output::power));
    bench.run(105);
    CHECK(the.on == 0);
    bench.host_answers = true;
    const Event end = finish();
    CHECK(verdict(end) == Verdict::aborted);
    CHECK(reason(end) == Reason::lease);
    CHECK(bench.ask(Type::CLEAR_FAULT, {static_cast<uint8_t>(Cause::lease_lapsed)}) == Result::ok);
    bench.power_on();
  }
}

TEST_CASE_FIXTURE(Powered, "outside a trial toy power stays for 15 minutes of silence and no longer") {
  bench.host_answers = false;
  bench.run(899000);
  CHECK(on(Output::power));
  bench.run(2000);
  CHECK(the.on == 0);
  bench.host_answers = true;
  bench.run(100);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
  CHECK(bench.last(Type::STATUS)->u8(protocol::status_at::cause) == static_cast<uint8_t>(Cause::silence));
}

TEST_CASE_FIXTURE(Powered, "a new conversation ends the trial without a word") {
  REQUIRE(start() == Result::ok);
  bench.run(50);
  REQUIRE(on(Output::launch));
  bench.hello(99);
  CHECK(!on(Output::launch));
  CHECK(on(Output::power));
  bench.run(2000);
  CHECK(bench.count(Type::TRIAL_END) == 0);
  REQUIRE(start(7) == Result::ok);
  CHECK(finish().u32(0) == 7);
}

TEST_CASE_FIXTURE(Powered, "a lost edge makes the trial a fault and is counted") {
  REQUIRE(start() == Result::ok);
  bench.run(20);
  for (int n = 0; n < 70; ++n) stub::edge(Channel::beam_b, n % 2 == 0);
  const Event& end = finish();
  CHECK(verdict(end) == Verdict::fault);
  CHECK(reason(end) == Reason::ring_full);
  CHECK(bench.edges(Channel::beam_b).size() == 64);
  CHECK(bench.ask(Type::GET_COUNTERS) == Result::ok);
  CHECK(bench.last(Type::COUNTERS)->u16(protocol::counters_at::ring_full) == 6);
}

TEST_CASE_FIXTURE(Powered, "a bin that came too late makes the trial a fault") {
  REQUIRE(start() == Result::ok);
  bench.run(20);
  the.losses.bins = 1;
  the.due |= board::due::lost;
  CHECK(reason(finish()) == Reason::ring_full);
}

TEST_CASE_FIXTURE(Powered, "over a lossy line a press is carried out once and everything of it arrives") {
  unsigned frames = 0;
  bench.lose_to_host = bench.lose_to_mcu = [&] { return ++frames % 4 == 0; };
  for (uint32_t trial = 1; trial <= 20; ++trial) {
    REQUIRE(start(trial) == Result::ok);
    sound(40, 60);
    bench.current_sum = kRunning;
    card();
    card();
    bench.current_sum = kStill;
    const Event end = finish();
    CHECK(verdict(end) == Verdict::ok);
    CHECK(end.u32(0) == trial);
    CHECK(end.u16(end_at::cleared) == 2);
    CHECK(bench.count(Type::ACTUATED) == trial);
    CHECK(bench.edges(Channel::beam_a).size() == trial * 4);
    bins();
  }
}

TEST_CASE_FIXTURE(Powered, "edges outside a trial are told within 30 ms, in company, as of no trial") {
  card();
  bench.run(30);
  CHECK(bench.edges(Channel::beam_a).size() == 2);
  stub::edge(Channel::lid, false);
  stub::edge(Channel::sound, true);
  bench.run(1);
  stub::edge(Channel::lid, true);
  bench.run(30);
  CHECK(bench.edges(Channel::lid).size() == 2);
  CHECK(bench.edges(Channel::sound).size() == 1);
  for (const Event& event : bench.events) {
    if (event.type == Type::EDGES) CHECK(event.u32(0) == 0);
  }
}

TEST_CASE_FIXTURE(Powered, "sixteen changes of one slow input fit two records") {
  for (int n = 0; n < 16; ++n) {
    stub::later_ms(0.01);
    stub::edge(Channel::lid, n % 2 != 0);
  }
  bench.run(40);
  const auto edges = bench.edges(Channel::lid);
  REQUIRE(edges.size() == 16);
  for (size_t n = 0; n < 16; ++n) CHECK((edges[n] & 1) == n % 2);
}

TEST_CASE_FIXTURE(Powered, "changes of the slow inputs wait for room together, and every edge comes once") {
  bool lose = true;
  bench.lose_to_host = [&] { return lose; };
  for (int n = 0; n < 40; ++n) {  // fills the ring with beam edges that the host does not get
    stub::edge(Channel::beam_b, n % 2 == 0);
    bench.run(1);
  }
  for (int n = 0; n < 10; ++n) {
    stub::edge(n % 2 ? Channel::lid : Channel::sound, n % 4 > 1);
    bench.run(1);
  }
  bench.run(60);
  CHECK(board::slow.pending() != 0);
  lose = false;
  bench.run(200);
  CHECK(board::slow.pending() == 0);
  const auto beam = bench.edges(Channel::beam_b), lid = bench.edges(Channel::lid);
  CHECK(beam.size() == 40);
  REQUIRE(lid.size() == 5);
  for (size_t n = 1; n < lid.size(); ++n) CHECK((lid[n] & 1) != (lid[n - 1] & 1));
}

TEST_CASE_FIXTURE(Powered, "edges that nobody fetches are given up and counted before their time repeats") {
  bench.host_answers = false;
  for (int n = 0; n < 300; ++n) {
    stub::edge(Channel::beam_a, n % 2 == 0);
    bench.run(4);
  }
  bench.run(500);
  CHECK(board::beam_a.pending() == 0);
  bench.host_answers = true;
  bench.run(300);
  CHECK(bench.ask(Type::GET_COUNTERS) == Result::ok);
  const unsigned told = static_cast<unsigned>(bench.edges(Channel::beam_a).size());
  CHECK(bench.last(Type::COUNTERS)->u16(protocol::counters_at::ring_full) == 300 - told);
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
