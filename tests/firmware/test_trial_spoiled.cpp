// SPDX-License-Identifier: Apache-2.0
// Trials that are ended from outside, and records that are lost or late.
#include "press.h"

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
