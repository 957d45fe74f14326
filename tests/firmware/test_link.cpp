// SPDX-License-Identifier: Apache-2.0
// The conversation: BOOT, HELLO, sequence numbers, loss, repetition, the one NAK.
#include <random>

#include "bench.h"
#include "doctest.h"

using protocol::Result;
using protocol::Type;
using stub::the;

static unsigned naks(const Bench& bench) {
  unsigned found = 0;
  for (const Event& event : bench.others) found += event.type == Type::MCU_NAK;
  return found;
}

static uint16_t counter(Bench& bench, uint8_t at) {
  REQUIRE(bench.ask(Type::GET_COUNTERS) == Result::ok);
  return bench.last(Type::COUNTERS)->u16(at);
}

TEST_CASE("the board says BOOT at once after a reset, then every 250 ms, flagged fresh") {
  Bench bench;
  bench.run(10);
  REQUIRE(bench.others.size() == 1);
  const Event boot = bench.others[0];
  CHECK(boot.type == Type::BOOT);
  CHECK(boot.u32(protocol::boot_at::protocol_hash) == protocol::kHash);
  CHECK(boot.u32(protocol::boot_at::build_id) == 0x12345678);
  CHECK(boot.u32(protocol::boot_at::boot_count) == 1);
  CHECK(boot.u8(protocol::boot_at::flags) == (protocol::boot_flag::fresh | protocol::boot_flag::uuid_blank));
  CHECK(boot.u8(protocol::boot_at::reset_cause) == protocol::reset_flag::power_on);
  bench.run(10000);
  CHECK(bench.others.size() >= 39);
  CHECK(bench.others.size() <= 41);
}

TEST_CASE("while a host speaks there is no BOOT, and after 1 s of silence an idle one") {
  Bench bench;
  bench.run(10);
  bench.hello();
  bench.others.clear();
  bench.run(3000);
  CHECK(bench.others.empty());
  bench.host_answers = false;
  bench.run(900);
  CHECK(bench.others.empty());
  bench.run(200);
  REQUIRE(bench.others.size() == 1);
  CHECK((bench.others[0].u8(protocol::boot_at::flags) & protocol::boot_flag::fresh) == 0);
  bench.host_answers = true;
  bench.run(300);
  bench.others.clear();
  bench.run(2000);
  CHECK(bench.others.empty());
}

TEST_CASE("HELLO is answered by READY as event 0 and by the level of every channel") {
  Bench bench;
  stub::edge(protocol::Channel::lid, false);
  stub::edge(protocol::Channel::beam_b, true);
  bench.run(10);
  bench.hello(0xBEEF);
  REQUIRE(bench.events.size() == 6);
  CHECK(bench.events[0].type == Type::READY);
  CHECK(bench.events[0].seq == 0);
  CHECK(bench.events[0].u16(protocol::ready_at::nonce) == 0xBEEF);
  const unsigned levels[] = {0, 1, 0, 0, 1};
  for (uint8_t n = 0; n < 5; ++n) {
    const Event& edges = bench.events[n + 1u];
    CHECK(edges.u8(protocol::edges_at::channel) == n);
    CHECK(edges.payload.size() == 15);
    CHECK((edges.u32(protocol::edges_at::edges) & 1) == levels[n]);
  }
}

TEST_CASE("the same HELLO again acts once, another nonce begins anew") {
  Bench bench;
  bench.hello(1);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
  std::vector<uint8_t> payload(6);
  core::put32(payload.data(), protocol::kHash);
  core::put16(payload.data() + 4, 1);
  bench.raw(Type::HELLO, 0, bench.expected(), payload);
  bench.run(50);
  CHECK(bench.count(Type::READY) == 1);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);  // the numbers went on
  bench.hello(2);
  CHECK(bench.events[0].u16(0) == 2);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
}

TEST_CASE("a lost READY comes again with a repeated HELLO") {
  Bench bench;
  std::vector<uint8_t> payload(6);
  core::put32(payload.data(), protocol::kHash);
  bool lose = true;
  bench.lose_to_host = [&] { return lose; };
  bench.raw(Type::HELLO, 0, 0, payload);
  bench.run(20);
  CHECK(bench.events.empty());
  lose = false;
  bench.raw(Type::HELLO, 0, 0, payload);
  bench.run(20);
  REQUIRE(!bench.events.empty());
  CHECK(bench.events[0].type == Type::READY);
}

TEST_CASE("another protocol's HELLO is answered by BOOT only") {
  Bench bench;
  bench.run(10);
  bench.others.clear();
  bench.raw(Type::HELLO, 0, 0, {1, 2, 3, 4, 0, 0});
  bench.run(10);
  REQUIRE(bench.others.size() == 1);
  CHECK(bench.others[0].type == Type::BOOT);
  CHECK(bench.events.empty());
}

TEST_CASE("frames of another session and our own voice are dropped and renew nothing") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  for (int n = 0; n < 40; ++n) {
    bench.session = 9;
    bench.raw(Type::ACK, 0, 0);
    bench.session = 1;
    bench.raw(Type::MCU_ACK, 0, 0);
    bench.run(50);
  }
  CHECK(bench.others.size() > 2);  // BOOT: nobody was heard
  bench.host_answers = true;
  CHECK(counter(bench, protocol::counters_at::stale) == 40);
  CHECK(counter(bench, protocol::counters_at::resync) == 40);
}

TEST_CASE("a command seen before is not carried out again") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  for (int n = 0; n < 5; ++n) {
    bench.raw(Type::POWER, 0, bench.expected(), {1});
    bench.run(5);
  }
  CHECK(bench.count(Type::POWERED) == 1);
  CHECK(bench.count(Type::REPLY) == 1);
  CHECK(the.energised_count == 1);
  CHECK(bench.others.back().type == Type::MCU_ACK);  // so that the host stops asking
  bench.raw(Type::GET_COUNTERS, 1, bench.expected());
  bench.run(5);
  CHECK(bench.last(Type::COUNTERS)->u16(protocol::counters_at::duplicate) == 4);
  CHECK(bench.last(Type::COUNTERS)->u16(protocol::counters_at::gap) == 0);
}

TEST_CASE("a command ahead of its turn waits, and earns one NAK") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  bench.others.clear();
  for (uint8_t seq : {1, 2, 3, 1, 2}) {
    bench.raw(Type::GET_STATUS, seq, bench.expected());
    bench.run(2);
  }
  CHECK(naks(bench) == 1);
  CHECK(bench.count(Type::STATUS) == 0);
  for (uint8_t seq : {0, 1, 2, 3}) {
    bench.raw(Type::GET_STATUS, seq, bench.expected());
    bench.run(2);
  }
  CHECK(naks(bench) == 1);
  CHECK(bench.count(Type::STATUS) == 4);
  bench.raw(Type::GET_STATUS, 6, bench.expected());
  bench.run(2);
  CHECK(naks(bench) == 2);  // a good frame has come in between
}

TEST_CASE("damage earns one NAK, and an ACK that tells of a lost command earns it too") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  bench.others.clear();
  for (int n = 0; n < 3; ++n) {
    bench.bytes({0, 9, 9, 9, 9, 9, 9, 9, 9, 0});
    bench.run(2);
  }
  CHECK(naks(bench) == 1);
  bench.raw(Type::ACK, 0, bench.expected());
  bench.raw(Type::ACK, 1, bench.expected());
  bench.run(2);
  CHECK(naks(bench) == 2);
}

TEST_CASE("the host's NAK repeats the event that it names, and that one only") {
  Bench bench;
  bench.hello();
  bench.run(20);
  bench.host_answers = false;
  bench.raw(Type::GET_STATUS, 0, bench.expected());
  bench.raw(Type::GET_STATUS, 1, bench.expected());
  bench.run(5);
  const unsigned before = bench.sent_events;
  bench.raw(Type::NAK, 2, static_cast<uint8_t>(bench.expected() - 3));
  bench.run(5);
  CHECK(bench.sent_events == before + 1);
}

TEST_CASE("unacknowledged events are repeated while the host is heard, and not for ever when it is gone") {
  Bench bench;
  bench.hello();
  bench.run(20);
  bench.host_answers = false;
  bench.raw(Type::GET_STATUS, 0, bench.expected());
  bench.run(900);
  CHECK(bench.sent_events > 20);
  bench.run(200);
  const unsigned before = bench.sent_events;
  bench.run(5000);
  CHECK(bench.sent_events == before);
  bench.host_answers = true;
  bench.run(200);
  CHECK(bench.ask(Type::GET_STATUS) == Result::ok);
}

TEST_CASE("every command is answered in order and once, over a line that loses a third of all frames") {
  Bench bench;
  bench.hello();
  std::mt19937 random(7);
  bench.lose_to_host = bench.lose_to_mcu = [&] { return random() % 3 == 0; };
  const unsigned commands = 600;  // through the wrap of the sequence number, twice
  for (unsigned n = 0; n < commands; ++n) {
    const uint8_t byte = static_cast<uint8_t>(n);
    bench.command(Type::ECHO, {byte, 0, static_cast<uint8_t>(n >> 8)});
    if (n % 3 == 2) bench.run_until([&] { return bench.count(Type::REPLY) >= n - 1; }, 60000);
  }
  REQUIRE(bench.run_until([&] { return bench.count(Type::REPLY) == commands; }, 120000));
  unsigned n = 0;
  for (const Event& event : bench.events) {
    if (event.type != Type::ECHOED) continue;
    REQUIRE(event.u8(0) == static_cast<uint8_t>(n));
    REQUIRE(event.u8(2) == static_cast<uint8_t>(n >> 8));
    ++n;
  }
  CHECK(n == commands);
  CHECK(counter(bench, protocol::counters_at::resent) > 0);
  CHECK(counter(bench, protocol::counters_at::ring_full) == 0);
}

TEST_CASE("with the ring full of answers commands wait, and none is lost") {
  Bench bench;
  bench.hello();
  bool lose = true;
  bench.lose_to_host = [&] { return lose; };
  for (int n = 0; n < 8; ++n) bench.command(Type::ECHO, std::vector<uint8_t>(48, static_cast<uint8_t>(n)));
  bench.run(500);
  lose = false;
  REQUIRE(bench.run_until([&] { return bench.count(Type::ECHOED) == 8; }));
  uint8_t n = 0;
  for (const Event& event : bench.events) {
    if (event.type == Type::ECHOED) CHECK(event.u8(0) == n++);
  }
}

TEST_CASE("unknown commands and wrong lengths are answered, not carried out") {
  Bench bench;
  bench.hello();
  CHECK(bench.ask(static_cast<Type>(0x55)) == Result::unknown);
  CHECK(bench.ask(Type::POWER, {}) == Result::bad_value);
  CHECK(bench.ask(Type::POWER, {1, 1}) == Result::bad_value);
  CHECK(bench.ask(Type::POWER, {2}) == Result::bad_value);
  CHECK(bench.ask(Type::PRESS, std::vector<uint8_t>(20)) == Result::bad_value);
  CHECK(bench.ask(Type::GET, {99}) == Result::unknown);
  CHECK(the.energised_count == 0);
}

TEST_CASE("settings and UUID travel") {
  Bench bench;
  bench.hello();
  CHECK(bench.ask(Type::SET, Bench::setting(protocol::Setting::quiet_ms, 300)) == Result::ok);
  CHECK(bench.ask(Type::GET, {static_cast<uint8_t>(protocol::Setting::quiet_ms)}) == Result::ok);
  CHECK(bench.last(Type::VALUE)->u32(1) == 300);
  CHECK(bench.ask(Type::SET, Bench::setting(protocol::Setting::quiet_ms, 1)) == Result::bad_value);
  std::vector<uint8_t> uuid(16, 0xAB);
  CHECK(bench.ask(Type::IDENTIFY, uuid) == Result::ok);
  CHECK(bench.ask(Type::IDENTIFY, uuid) == Result::refused);
  CHECK(bench.ask(Type::SET, Bench::setting(protocol::Setting::wiring, 1)) == Result::ok);
  bench.run(200);
  Bench second(true);
  second.run(10);
  const Event boot = second.others.at(0);
  CHECK(boot.u32(protocol::boot_at::boot_count) == 2);
  CHECK(boot.u8(protocol::boot_at::uuid) == 0xAB);
  CHECK(boot.u8(protocol::boot_at::wiring) == 1);
  CHECK(boot.u8(protocol::boot_at::flags) == protocol::boot_flag::fresh);
}

TEST_CASE("the board works on across the wrap of its 48-bit clock") {
  Bench bench;
  the.tick = (1ull << 48) - 16000ull * 3000;
  bench.run(1100);
  bench.hello();
  bench.power_on();
  the.tick &= (1ull << 48) - 1;
  CHECK(bench.ask(Type::PRESS, Bench::press(1)) == Result::ok);
  for (int n = 0; n < 20; ++n) {
    bench.run(100);
    the.tick &= (1ull << 48) - 1;
  }
  REQUIRE(bench.last(Type::TRIAL_END));
  CHECK(bench.last(Type::TRIAL_END)->u8(protocol::trial_end_at::verdict) ==
        static_cast<uint8_t>(protocol::Verdict::rejected));
}
