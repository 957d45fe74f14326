// SPDX-License-Identifier: Apache-2.0
// The time base: 48 bits of Timer1 ticks of 62.5 ns, kept as the 16 bits of the timer and the 32 bits of its
// overflows, so that extending a captured time costs a few byte operations and no 64-bit arithmetic.
#pragma once

#include <stdint.h>

namespace core {

struct Tick {
  uint32_t overflows;
  uint16_t low;
};

// Is `a` earlier than `b`? Right across the 48-bit wrap while both lie within half of its 203 days.
inline bool before(const Tick& a, const Tick& b) {
  const int32_t apart = static_cast<int32_t>(a.overflows - b.overflows);
  return apart != 0 ? apart < 0 : a.low < b.low;
}

// Ticks from `since` to `at`, modulo 2^32 (268 s).
inline uint32_t elapsed(const Tick& since, const Tick& at) {
  return ((at.overflows << 16) | at.low) - ((since.overflows << 16) | since.low);
}

inline Tick later(const Tick& from, uint32_t ticks) {
  const uint32_t low = from.low + (ticks & 0xFFFFu);
  return {from.overflows + (ticks >> 16) + (low >> 16), static_cast<uint16_t>(low)};
}

constexpr uint32_t ticks_of_ms(uint16_t ms) { return ms * 16000ul; }

// Interrupts count only the low 8 bits of the overflows, in a single register; the loop carries them into 32.
// Right as long as the loop comes by once in 256 overflows (1.05 s), which the watchdog sees to.
inline uint32_t carry_overflows(uint32_t known, uint8_t low8) {
  return known + static_cast<uint8_t>(low8 - static_cast<uint8_t>(known));
}

// The full time of an event of which the interrupt kept 16 bits and 7 bits of overflow count; `now` is at most
// 127 overflows (520 ms) later.
inline Tick extend(const Tick& now, uint8_t overflow7, uint16_t low) {
  return {now.overflows - ((now.overflows - overflow7) & 0x7Fu), low};
}

// The unit of everything that is merely waited for: 2^15 ticks = 2.048 ms, 32 bits = 101 days.
typedef uint32_t Slice;

inline Slice slice(const Tick& at) { return (at.overflows << 1) | ((at.low & 0x8000u) ? 1 : 0); }

// Slices in so many ms, rounded down: what must end by then ends a little early, never late.
constexpr Slice slices(uint32_t ms) { return ms * 125u / 256u; }

// A difference of slices that is only reached when so many ms have really passed.
constexpr Slice slices_at_least(uint32_t ms) { return slices(ms) + 2; }

}  // namespace core
