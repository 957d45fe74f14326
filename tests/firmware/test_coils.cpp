// SPDX-License-Identifier: Apache-2.0
// Whatever a host asks for, in whatever order: coils keep their limits, as counted at the pins.
#include <random>

#include "press.h"

namespace {

const unsigned kCommands = 100000;

struct Chaos {
  explicit Chaos(uint32_t seed) : random(seed) { bench.hello(); }

  unsigned below(unsigned limit) { return static_cast<unsigned>(random() % limit); }
  uint8_t byte() { return static_cast<uint8_t>(random()); }
  uint64_t moment() { return below(4) ? 0 : the.tick + below(400) * 16000ull; }

  std::vector<uint8_t> pulse() {
    return {static_cast<uint8_t>(below(12)), static_cast<uint8_t>(below(70)), static_cast<uint8_t>(below(2) ? 255 : byte())};
  }
  std::vector<uint8_t> press() {
    if (below(2)) return Bench::press(1 + below(9), moment());
    return Bench::run_direct(1 + below(9), static_cast<uint16_t>(below(below(4) ? 300 : 6000)), byte());
  }
  std::vector<uint8_t> insert() { return Bench::insert(1 + below(9), static_cast<uint8_t>(below(8)), moment()); }
  std::vector<uint8_t> setting() {
    const uint8_t key = static_cast<uint8_t>(1 + below(protocol::kSettingCount));
    const protocol::SettingLimits limits = protocol::setting_limits(key);
    if (static_cast<Setting>(key) == Setting::observe_max_ms) return Bench::setting(Setting::observe_max_ms, 500 + below(500));
    return Bench::setting(static_cast<Setting>(key), limits.min + below(limits.max - limits.min + 2u));
  }
  void ask() {
    switch (below(16)) {
      case 0: case 1: case 2: bench.command(Type::INSERT, insert()); break;
      case 3: case 4: bench.command(Type::RESET, Bench::reset(1 + below(9), moment())); break;
      case 5: case 6: bench.command(Type::PRESS, press()); break;
      case 7: case 8: bench.command(Type::PULSE, pulse()); break;
      case 9: case 10: bench.command(Type::POWER, {static_cast<uint8_t>(below(8) ? 1 : 0)}); break;
      case 11: bench.command(Type::SLOTS, {static_cast<uint8_t>(below(2) ? 0 : byte()), static_cast<uint8_t>(below(8))}); break;
      case 12: bench.command(Type::SET, setting()); break;
      case 13: bench.command(Type::ABORT); break;
      case 14: bench.command(Type::CLEAR_FAULT, {static_cast<uint8_t>(1 + below(6))}); break;
      default: bench.command(Type::IDENTIFY, std::vector<uint8_t>(16, byte())); break;
    }
  }

  // What the toy and people do meanwhile.
  void happen() {
    switch (below(24)) {
      case 0: stub::edge(Channel::sound, below(2)); break;
      case 1: stub::edge(Channel::beam_a, below(4) == 0); break;
      case 2: stub::edge(Channel::beam_b, below(4) == 0); break;
      case 3: bench.current_sum = below(3) ? kStill : below(2) ? kRunning : kStalled; break;
      case 4: stub::edge(Channel::lid, below(3)); break;
      case 5: if (below(8) == 0) open_interlock(); break;
      case 6: if (below(8) == 0) core::Guard::trip(Cause::stop_received); break;
      case 7: if (below(8) == 0) bench.host_answers = false; break;
      default: break;
    }
  }

  void open_interlock() {
    stub::edge(Channel::interlock, false);
    core::Guard::trip(Cause::interlock_open);  // as its interrupt does
  }

  void mend() {
    bench.host_answers = true;
    stub::edge(Channel::interlock, true);
    stub::edge(Channel::beam_a, false);
    stub::edge(Channel::beam_b, false);
    stub::edge(Channel::lid, true);
    bench.current_sum = kStill;
    for (uint8_t cause = 1; cause < protocol::kCauseCount; ++cause) bench.command(Type::CLEAR_FAULT, {cause});
    bench.command(Type::ABORT);
    bench.command(Type::POWER, {1});
    set(Setting::settle_ms, 0);
  }
  void set(Setting key, uint32_t value) { bench.command(Type::SET, Bench::setting(key, value)); }

  // Anything at all, mostly on a bench of the blaster.
  void muddle() {
    mend();
    set(Setting::launcher, below(4) ? 1 : 0);
    set(Setting::wiring, below(6) ? 0 : 1);
    bench.run(30);
    for (int n = 0; n < 40; ++n) {
      ask();
      happen();
      if (below(3)) bench.run(0.25 * (1 << below(9)));
      forget();
    }
  }

  // One output over and over, for as long as may be asked: its window fills, and is what limits it.
  void strain(Output output) {
    mend();
    set(Setting::launcher, output != Output::launch && output != Output::roller);
    set(Setting::wiring, output == Output::roller);
    set(Setting::slots, 6);
    for (Setting key : {Setting::press_hold_ms, Setting::insert_hold_ms, Setting::reset_hold_ms}) {
      set(key, protocol::setting_limits(static_cast<uint8_t>(key)).max);
    }
    for (Setting key : {Setting::quiet_ms, Setting::onset_ms}) set(key, 50);
    const uint8_t number = static_cast<uint8_t>(output);
    for (int n = 0; n < 100; ++n) {
      if (n % 4 == 0) mend();  // the guard cuts, and that latches
      switch (output) {
        case Output::roller:
          bench.command(Type::PRESS, Bench::run_direct(1, static_cast<uint16_t>(3000 + below(2000)), 255));
          break;
        case Output::launch: bench.command(Type::PRESS, Bench::press(1)); break;
        case Output::reset: bench.command(Type::RESET, Bench::reset(1)); break;
        case Output::reverse: bench.command(Type::PULSE, {number, 60, 255}); break;
        default:
          bench.command(Type::SLOTS, {0, 0});
          if (below(2)) {
            bench.command(Type::INSERT, Bench::insert(1, static_cast<uint8_t>(number - 1)));
          } else {
            bench.command(Type::PULSE, {number, 60, 255});
          }
      }
      const unsigned rest_ms = output == Output::reverse ? 270 + below(10) : below(500);
      bench.run(output == Output::roller ? below(6000) : rest_ms);
      if (below(8) == 0) ask();
      forget();
    }
  }

  void forget() {
    asked += bench.count(Type::REPLY);
    ends += bench.count(Type::TRIAL_END);
    bench.events.clear();
    bench.others.clear();
  }

  void go() {
    for (unsigned round = 0; asked < kCommands; ++round) {
      muddle();
      if (round % 60 == 0) strain(static_cast<Output>(round / 60 % (protocol::kOutputCount - 1)));
    }
    mend();
    bench.run(10000);
  }

  std::mt19937 random;
  Bench bench;
  unsigned asked = 0, ends = 0;  // commands that were answered, and trials
};

}  // namespace

TEST_CASE("in 100,000 commands at random no two coils are on together, and each keeps its on-time, its rest and its window") {
  Chaos chaos(4);
  chaos.go();
  const stub::Ledger& ledger = the.ledger;
  CHECK(ledger.most_coils == 1);
  CHECK(!ledger.motor_fought);
  for (uint8_t n = 0; n + 1 < protocol::kOutputCount; ++n) {
    CAPTURE(static_cast<int>(n));
    const stub::Pin& pin = ledger.pins[n];
    const stub::Allowed& allowed = stub::kAllowed[n];
    CHECK(!pin.on);
    CHECK(pin.longest_ms <= allowed.max_on_ms);
    CHECK(pin.shortest_ms >= allowed.min_off_ms);
    CHECK(pin.fullest_ms <= allowed.store_ms);
    // And that the test went where it could have hurt.
    CHECK(pin.times >= 200);
    CHECK(pin.shortest_ms <= allowed.min_off_ms + 50);
    CHECK(pin.fullest_ms >= 0.85 * allowed.store_ms);
  }
  CHECK(chaos.ends >= 5000);
}
