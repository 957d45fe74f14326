// SPDX-License-Identifier: Apache-2.0
// The 48-bit clock, just before and after every wrap that it has.
#include <initializer_list>

#include "bytes.h"
#include "doctest.h"
#include "tick.h"

using core::Tick;

static Tick tick(uint64_t value) { return {static_cast<uint32_t>(value >> 16), static_cast<uint16_t>(value)}; }
static uint64_t value(const Tick& tick) { return (static_cast<uint64_t>(tick.overflows) << 16) | tick.low; }
static const uint64_t kMask48 = (1ull << 48) - 1;
// Of the timer, of 7 and 8 bits of overflows, of 31 and 32 bits of ticks, of the clock itself.
static const uint64_t kWraps[] = {1ull << 16, 1ull << 23, 1ull << 24, 1ull << 31, 1ull << 32, 1ull << 40, 1ull << 48};

TEST_CASE("a captured time is extended to the full one around every wrap") {
  for (uint64_t wrap : kWraps) {
    for (int64_t happened = -200000; happened <= 200000; happened += 3331) {
      for (uint64_t age : {0ull, 1ull, 65535ull, 65536ull, 500000ull, (127ull << 16)}) {
        const uint64_t at = (wrap + happened) & kMask48, now = (at + age) & kMask48;
        const Tick event = tick(at);
        const Tick extended = core::extend(tick(now), event.overflows & 0x7F, event.low);
        REQUIRE(value(extended) == at);
      }
    }
  }
}

TEST_CASE("earlier is earlier across every wrap") {
  for (uint64_t wrap : kWraps) {
    const Tick a = tick((wrap - 1) & kMask48), b = tick(wrap & kMask48), c = tick((wrap + 70000) & kMask48);
    CHECK(core::before(a, b));
    CHECK(core::before(b, c));
    CHECK(core::before(a, c));
    CHECK(!core::before(b, a));
    CHECK(!core::before(c, b));
    CHECK(!core::before(a, a));
    CHECK(core::elapsed(a, c) == 70001);
    CHECK(value(core::later(a, 70001)) == value(c));
  }
}

TEST_CASE("the loop carries the interrupt's 8 bits into 32, also when it comes late") {
  uint64_t overflows = 0xFFFFFF00;  // runs through the wrap of 32 bits
  uint32_t known = static_cast<uint32_t>(overflows);
  for (int step : {0, 1, 255, 128, 254, 3, 255, 255, 1, 200}) {
    overflows += static_cast<uint64_t>(step);
    known = core::carry_overflows(known, static_cast<uint8_t>(overflows));
    REQUIRE(known == static_cast<uint32_t>(overflows));
  }
}

TEST_CASE("a slice is 2.048 ms; limits are never late and minimums never short") {
  CHECK(core::slice(tick(32768)) == 1);
  CHECK(core::slice(tick(32767)) == 0);
  CHECK(core::slice(tick((1ull << 47) - 1)) == 0xFFFFFFFFu);
  for (uint32_t ms : {1u, 20u, 100u, 248u, 1000u, 5200u, 900000u}) {
    CHECK(core::slices(ms) * 32768ull <= ms * 16000ull);
    CHECK((core::slices(ms) + 1) * 32768ull > ms * 16000ull);
    CHECK((core::slices_at_least(ms) - 1) * 32768ull >= ms * 16000ull);
  }
}

TEST_CASE("48-bit fields keep their order of bytes") {
  const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06};
  CHECK(value(core::get48(bytes)) == 0x060504030201ull);
}
