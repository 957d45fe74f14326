// SPDX-License-Identifier: Apache-2.0
// A bench that is set up for the blaster, and what its toy does: sound, latch, cards.
#pragma once

#include "press.h"

struct Blast : Powered {
  Blast() { REQUIRE(bench.ask(Type::SET, Bench::setting(Setting::launcher, 1)) == Result::ok); }

  Result insert(uint8_t slot) { return bench.ask(Type::INSERT, Bench::insert(++trial, slot)); }
  Result reset() { return bench.ask(Type::RESET, Bench::reset(++trial)); }
  Result tell(uint8_t occupied, uint8_t cards) { return bench.ask(Type::SLOTS, {occupied, cards}); }
  uint8_t occupied() {
    REQUIRE(bench.ask(Type::GET_STATUS) == Result::ok);
    return bench.last(Type::STATUS)->u8(protocol::status_at::occupied);
  }
  // The toy answers and, if it lets go, so many cards fly.
  Verdict answer(bool release = false, int cards = 0) {
    sound(40, 100);
    if (release) bench.current_sum = kRunning;
    bench.run(40);
    bench.current_sum = kStill;
    for (int n = 0; n < cards; ++n) card();
    return verdict(finish());
  }
  // How many cards the books have in the slots: a reset in which all of them fly is `ok`, one less is `partial`.
  void holds(int cards) {
    REQUIRE(reset() == Result::ok);
    CHECK(answer(true, cards) == Verdict::ok);
    CHECK(occupied() == 0);
  }

  unsigned coils_moved() const {
    unsigned times = 0;
    for (uint8_t n = 0; n < static_cast<uint8_t>(Output::power); ++n) times += the.ledger.pins[n].times;
    return times;
  }
  // Nothing but toy power ever went on.
  bool nothing_moved() const { return coils_moved() == 0 && bench.count(Type::ACTUATED) == 0; }

  uint32_t trial = 0;
};
