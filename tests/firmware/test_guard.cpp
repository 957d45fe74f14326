// SPDX-License-Identifier: Apache-2.0
// The guard: nothing goes on against a limit, everything goes off with a fault.
#include <vector>

#include "doctest.h"
#include "guard.h"
#include "stub_board.h"

using core::Guard;
using protocol::Cause;
using protocol::Channel;
using protocol::Output;
using protocol::Result;
using stub::the;

static const Output kAll[] = {Output::roller, Output::reverse, Output::slot1, Output::slot2, Output::slot3, Output::slot4,
                              Output::slot5,  Output::slot6,   Output::launch, Output::reset, Output::power};

static uint16_t bit(Output output) { return static_cast<uint16_t>(1u << static_cast<uint8_t>(output)); }

struct Fresh {
  Fresh() {
    stub::reset();
    stub::at_ms(1000);  // every minimum off-time since boot has passed
  }
  Guard guard;
};

TEST_CASE_FIXTURE(Fresh, "nothing is on at boot, and every output can be switched on and off") {
  CHECK(the.on == 0);
  for (Output output : kAll) {
    CAPTURE(static_cast<int>(output));
    CHECK(guard.on(output));
    CHECK(the.on == bit(output));
    CHECK(guard.is_on(output));
    guard.off(output);
    CHECK(the.on == 0);
    stub::later_ms(500);
  }
}

TEST_CASE_FIXTURE(Fresh, "just after boot nothing with a minimum off-time goes on") {
  stub::at_ms(50);
  CHECK(!guard.on(Output::launch));
  CHECK(guard.on(Output::power));
}

TEST_CASE_FIXTURE(Fresh, "at most one coil is on") {
  const Output coils[] = {Output::slot1, Output::slot2, Output::slot3, Output::slot4,
                          Output::slot5, Output::slot6, Output::launch, Output::reset};
  for (Output first : coils) {
    REQUIRE(guard.on(first));
    for (Output second : coils) CHECK(!guard.on(second));
    CHECK(guard.on(Output::power));  // not of the group
    guard.off_all_but_power();
    guard.off(Output::power);
    stub::later_ms(2000);
  }
}

TEST_CASE_FIXTURE(Fresh, "the motor turns round only after 100 ms at rest") {
  for (int turn = 0; turn < 2; ++turn) {
    const Output one = turn ? Output::reverse : Output::roller, other = turn ? Output::roller : Output::reverse;
    REQUIRE(guard.on(one));
    CHECK(!guard.on(other));
    stub::later_ms(300);
    guard.off(one);
    stub::later_ms(99);
    CHECK(!guard.on(other));
    stub::later_ms(4);
    CHECK(guard.on(other));
    guard.off(other);
    stub::later_ms(5000);
  }
}

TEST_CASE_FIXTURE(Fresh, "an output rests for its minimum off-time") {
  REQUIRE(guard.on(Output::launch));
  stub::later_ms(120);
  guard.off(Output::launch);
  stub::later_ms(95);
  CHECK(!guard.on(Output::launch));
  stub::later_ms(10);
  CHECK(guard.on(Output::launch));
}

TEST_CASE_FIXTURE(Fresh, "the deadline is the maximum on-time, a little early and never late") {
  struct { Output output; double max_ms; } cases[] = {{Output::launch, 200}, {Output::reset, 400}, {Output::slot3, 80}, {Output::roller, 5200}};
  for (const auto& each : cases) {
    CAPTURE(static_cast<int>(each.output));
    REQUIRE(guard.on(each.output));
    CHECK(the.cut_ticks * 2 <= each.max_ms);
    CHECK(the.cut_ticks * 2 >= each.max_ms * 0.95);
    guard.off(each.output);
    CHECK(the.cut_ticks == 0);
    stub::later_ms(6000);
  }
}

TEST_CASE_FIXTURE(Fresh, "toy power has no deadline") {
  REQUIRE(guard.on(Output::power));
  CHECK(the.cut_ticks == 0);
}

TEST_CASE_FIXTURE(Fresh, "of two outputs the nearer deadline counts, and the farther one comes back") {
  REQUIRE(guard.on(Output::roller));
  stub::later_ms(100);
  REQUIRE(guard.on(Output::launch));
  CHECK(the.cut_ticks * 2 <= 200);
  stub::later_ms(100);
  guard.off(Output::launch);
  CHECK(the.cut_ticks * 2 <= 5000);
  CHECK(the.cut_ticks * 2 >= 4700);
}

TEST_CASE_FIXTURE(Fresh, "the duty window shortens the on-time to what the rest refills") {
  // As long as allowed, then 105 ms off, again and again: the window of 2000 ms refills at half the time off.
  double on_ms = 0, allowed = 0;
  for (int n = 1; n <= 100; ++n) {
    REQUIRE(guard.on(Output::launch));
    allowed = the.cut_ticks * 2;
    stub::later_ms(allowed);
    on_ms += allowed;
    REQUIRE(on_ms <= 2000 + n * 105 * 0.5);
    guard.off(Output::launch);
    stub::later_ms(105);
  }
  CHECK(allowed <= 54);
  stub::later_ms(1000);
  REQUIRE(guard.on(Output::launch));
  CHECK(the.cut_ticks * 2 > 180);
}

TEST_CASE_FIXTURE(Fresh, "a press every 600 ms is never refused") {
  for (int n = 0; n < 200; ++n) {
    REQUIRE(guard.on(Output::launch));
    REQUIRE(the.cut_ticks * 2 > 180);
    stub::later_ms(180);
    guard.off(Output::launch);
    stub::later_ms(420);
  }
}

TEST_CASE_FIXTURE(Fresh, "a duty below the roller's least is refused") {
  CHECK(!guard.on(Output::roller, 5));
  CHECK(guard.on(Output::roller, 120));
  CHECK(the.duty == 120);
}

TEST_CASE_FIXTURE(Fresh, "a reached deadline names its output") {
  REQUIRE(guard.on(Output::power));
  REQUIRE(guard.on(Output::launch));
  Guard::trip(Cause::max_on);  // as the tick does
  CHECK(the.on == 0);
  uint8_t cut;
  CHECK(guard.tripped(cut) == 1u << static_cast<uint8_t>(Cause::max_on));
  CHECK(cut == static_cast<uint8_t>(Output::launch));
  CHECK(!guard.is_on(Output::power));
  CHECK(!guard.is_on(Output::launch));
  CHECK(the.cut_ticks == 0);
}

TEST_CASE_FIXTURE(Fresh, "with a latched fault nothing goes on until it is cleared by name") {
  for (uint8_t n = 1; n < protocol::kCauseCount; ++n) {
    const Cause cause = static_cast<Cause>(n);
    CAPTURE(static_cast<int>(n));
    REQUIRE(guard.on(Output::power));
    Guard::trip(cause);
    CHECK(the.on == 0);
    uint8_t cut;
    guard.tripped(cut);
    CHECK(guard.cause() == cause);
    for (Output output : kAll) CHECK(!guard.on(output));
    const Cause other = n == 1 ? Cause::max_on : Cause::interlock_open;
    CHECK(guard.clear(other) == Result::ok);
    CHECK(!guard.on(Output::power));
    CHECK(guard.clear(cause) == Result::ok);
    CHECK(guard.cause() == Cause::none);
    CHECK(guard.on(Output::power));
    guard.off(Output::power);
  }
}

TEST_CASE_FIXTURE(Fresh, "two faults are told once each and cleared one by one") {
  Guard::trip(Cause::stop_received);
  Guard::trip(Cause::lease_lapsed);
  uint8_t cut;
  CHECK(guard.tripped(cut) == ((1u << 2) | (1u << 3)));
  CHECK(guard.tripped(cut) == 0);
  CHECK(guard.cause() == Cause::lease_lapsed);
  guard.clear(Cause::lease_lapsed);
  CHECK(guard.cause() == Cause::stop_received);
  CHECK(!guard.on(Output::power));
  Guard::trip(Cause::lease_lapsed);
  CHECK(guard.tripped(cut) == (1u << 2));
}

TEST_CASE_FIXTURE(Fresh, "an open interlock forbids everything, and its fault stays while it is open") {
  stub::edge(Channel::interlock, false);
  for (Output output : kAll) CHECK(!guard.on(output));
  Guard::trip(Cause::interlock_open);
  CHECK(guard.clear(Cause::interlock_open) == Result::refused);
  stub::edge(Channel::interlock, true);
  CHECK(!guard.on(Output::power));
  CHECK(guard.clear(Cause::interlock_open) == Result::ok);
  CHECK(guard.on(Output::power));
}

TEST_CASE_FIXTURE(Fresh, "clearing what is no cause is refused") {
  CHECK(guard.clear(Cause::none) == Result::bad_value);
  CHECK(guard.clear(static_cast<Cause>(8)) == Result::bad_value);
  CHECK(guard.clear(static_cast<Cause>(255)) == Result::bad_value);
}

TEST_CASE_FIXTURE(Fresh, "on-time cut by a fault counts in the duty window") {
  int presses = 0;
  while (guard.on(Output::launch)) {
    REQUIRE(++presses < 30);
    stub::later_ms(190);
    Guard::trip(Cause::stop_received);
    uint8_t cut;
    guard.tripped(cut);
    guard.clear(Cause::stop_received);
    stub::later_ms(105);
  }
  CHECK(presses >= 10);
}
