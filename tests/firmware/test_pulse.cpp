// SPDX-License-Identifier: Apache-2.0
// What link tests and the self-test ask for: another rate, one output for a moment.
#include "press.h"

static const double kLate = 2 * 4.096;  // ms; an alarm is exact to an overflow, and one more is allowed

static std::vector<uint8_t> pulse(Output output, uint8_t ms, uint8_t duty = 255) {
  return {static_cast<uint8_t>(output), ms, duty};
}

TEST_CASE("a pulse energises its output through the guard and ends by itself, whatever the output") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  for (uint8_t n = 0; n < protocol::kOutputCount; ++n) {
    const Output output = static_cast<Output>(n);
    if (output == Output::power) continue;
    for (uint8_t ms : {1, 2, 7, 30, 60}) {
      CAPTURE(static_cast<int>(n));
      CAPTURE(static_cast<int>(ms));
      const unsigned before = the.energised_count;
      REQUIRE(bench.ask(Type::PULSE, pulse(output, ms, 200 + (output == Output::roller ? 0 : 55))) == Result::ok);
      CHECK(the.energised_count == before + 1);
      const uint64_t start = the.tick;
      REQUIRE(bench.run_until([&] { return the.on == 0; }, ms + kLate));
      CHECK((the.tick - start) / 16000.0 <= ms + kLate);
      bench.run(1000);
    }
  }
}

TEST_CASE("STATUS reads a pulse back from the pins") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  REQUIRE(bench.ask(Type::PULSE, pulse(Output::slot4, 60)) == Result::ok);
  REQUIRE(bench.ask(Type::GET_STATUS) == Result::ok);
  CHECK(bench.last(Type::STATUS)->u16(protocol::status_at::outputs) == 1u << static_cast<uint8_t>(Output::slot4));
  bench.run(100);
  REQUIRE(bench.ask(Type::GET_STATUS) == Result::ok);
  CHECK(bench.last(Type::STATUS)->u16(protocol::status_at::outputs) == 0);
}

TEST_CASE("a pulse of the roller has the duty that was asked for") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  REQUIRE(bench.ask(Type::PULSE, pulse(Output::roller, 60, 90)) == Result::ok);
  CHECK(the.duty == 90);
  CHECK(on(Output::roller));
}

TEST_CASE("a pulse that is none is refused, and nothing is energised") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  const unsigned before = the.energised_count;
  CHECK(bench.ask(Type::PULSE, pulse(Output::power, 10)) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, {protocol::kOutputCount, 10, 255}) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, {255, 10, 255}) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 0)) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, protocol::kPulseMaxMs + 1)) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 255)) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, {static_cast<uint8_t>(Output::slot1), 10}) == Result::bad_value);
  CHECK(bench.ask(Type::PULSE, pulse(Output::roller, 10, 5)) == Result::refused);  // below its least duty
  CHECK(the.energised_count == before);
}

TEST_CASE("one pulse at a time, and the guard's rest between two") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  REQUIRE(bench.ask(Type::PULSE, pulse(Output::slot1, 60)) == Result::ok);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot2, 10)) == Result::busy);
  CHECK(bench.ask(Type::PRESS, Bench::press(1)) == Result::busy);
  bench.run(70);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 10)) == Result::refused);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot2, 10)) == Result::ok);
}

TEST_CASE_FIXTURE(Powered, "no pulse in a trial") {
  REQUIRE(start() == Result::ok);
  bench.run(20);
  CHECK(bench.ask(Type::PULSE, pulse(Output::reset, 10)) == Result::busy);
  sound();
  CHECK(verdict(finish()) == Verdict::no_run);
}

TEST_CASE("an open interlock or a latched fault refuses a pulse, and ends one") {
  Bench bench;
  bench.hello();
  bench.run(2000);
  REQUIRE(bench.ask(Type::PULSE, pulse(Output::reset, 60)) == Result::ok);
  REQUIRE(on(Output::reset));
  core::Guard::trip(Cause::stop_received);
  CHECK(the.on == 0);
  bench.run(100);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 10)) == Result::refused);
  REQUIRE(bench.ask(Type::CLEAR_FAULT, {static_cast<uint8_t>(Cause::stop_received)}) == Result::ok);
  stub::edge(Channel::interlock, false);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 10)) == Result::refused);
  stub::edge(Channel::interlock, true);
  bench.run(10);
  CHECK(bench.ask(Type::PULSE, pulse(Output::slot1, 10)) == Result::ok);
}

TEST_CASE("another rate is set when all that was said is acknowledged") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  const uint8_t seq = bench.next_command();
  bench.raw(Type::RATE, seq, bench.expected(), {16});
  bench.run(30);
  CHECK(the.rate == 0);  // the answer is on its way, at the rate that the host knows
  bench.raw(Type::ACK, static_cast<uint8_t>(seq + 1), static_cast<uint8_t>(bench.expected()));
  bench.run(5);
  CHECK(the.rate == 16);
}

TEST_CASE("a rate is given back by 0 and by silence, and refused in a trial") {
  Bench bench;
  bench.hello();
  REQUIRE(bench.ask(Type::RATE, {3}) == Result::ok);
  bench.run(20);
  CHECK(the.rate == 3);
  REQUIRE(bench.ask(Type::RATE, {0}) == Result::ok);
  bench.run(20);
  CHECK(the.rate == 0);
  REQUIRE(bench.ask(Type::RATE, {3}) == Result::ok);
  bench.run(20);
  bench.host_answers = false;
  bench.renew_ms = 0;
  bench.others.clear();
  bench.run(1010);
  CHECK(the.rate == 0);
  REQUIRE(!bench.others.empty());
  CHECK(bench.others[0].type == Type::BOOT);
}

TEST_CASE_FIXTURE(Powered, "no other rate in a trial") {
  REQUIRE(start() == Result::ok);
  CHECK(bench.ask(Type::RATE, {3}) == Result::busy);
  finish();
  CHECK(the.rate == 0);
}

// Toy power, which the stub shows as bit 10.
TEST_CASE_FIXTURE(Powered, "a host that falls silent before it has acknowledged TRIAL_END loses its lease") {
  REQUIRE(start() == Result::ok);
  sound(50, 100);
  REQUIRE(bench.run_until([&] { return the.on == 1u << 10 && !the.sampling; }));  // over, and just being told
  bench.host_answers = false;
  bench.renew_ms = 0;
  bench.run(160);  // the last frame was up to 80 ms earlier
  CHECK(on(Output::power));
  bench.run(90);
  CHECK(the.on == 0);
}

TEST_CASE_FIXTURE(Powered, "a host that has acknowledged TRIAL_END may be silent") {
  REQUIRE(start() == Result::ok);
  sound(50, 100);
  finish();
  bench.run(20);
  bench.host_answers = false;
  bench.renew_ms = 0;
  bench.run(2000);
  CHECK(on(Output::power));
}
