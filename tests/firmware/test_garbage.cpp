// SPDX-License-Identifier: Apache-2.0
// A million bytes of garbage in bursts, under sanitizers: each costs a frame and a NAK at most, and moves no output.
#include <random>

#include "bench.h"
#include "doctest.h"

using protocol::Type;
using stub::the;

static unsigned naks(const Bench& bench) {
  unsigned found = 0;
  for (const Event& event : bench.others) found += event.type == Type::MCU_NAK;
  return found;
}

static std::vector<uint8_t> burst(std::mt19937& random) {
  std::vector<uint8_t> bytes(1 + random() % 300);
  const unsigned kind = random() % 6;
  for (uint8_t& byte : bytes) {
    byte = kind == 0 ? 0 : kind == 1 ? 0xFF : kind == 2 ? static_cast<uint8_t>(random() % 3) : static_cast<uint8_t>(random());
  }
  return bytes;
}

TEST_CASE("garbage alone earns one NAK, and the next good frame is heard") {
  Bench bench;
  bench.hello();
  bench.host_answers = false;
  bench.others.clear();
  std::mt19937 random(1);
  for (unsigned sent = 0; sent < 1000000;) {
    const std::vector<uint8_t> bytes = burst(random);
    sent += static_cast<unsigned>(bytes.size());
    bench.bytes(bytes);
    bench.run(0.25);
  }
  CHECK(naks(bench) == 1);
  CHECK(the.energised_count == 0);
  bench.bytes({0});
  const uint8_t seq = bench.next_command();
  bench.raw(Type::GET_STATUS, seq, bench.expected());
  bench.run(5);
  CHECK(bench.count(Type::STATUS) == 1);
}
