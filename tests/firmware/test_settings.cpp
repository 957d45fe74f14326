// SPDX-License-Identifier: Apache-2.0
// Settings and what EEPROM keeps of them, over many boots and torn writes.
#include <vector>

#include "crc.h"
#include "doctest.h"
#include "settings.h"
#include "stub_board.h"

using core::Settings;
using protocol::Result;
using protocol::Setting;
using stub::the;

static void save_all(Settings& settings) {
  while (settings.save()) {
  }
}

static std::vector<uint8_t> uuid_of(const Settings& settings) {
  std::vector<uint8_t> found(16);
  settings.read_uuid(found.data());
  return found;
}

static const uint8_t kUuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

TEST_CASE("an erased EEPROM gives no UUID, button wiring and boot 1") {
  for (uint8_t blank : {0xFF, 0x00}) {
    stub::reset();
    for (uint16_t n = 0; n < 1024; ++n) the.eeprom[n] = blank;
    Settings settings;
    settings.start();
    CHECK(!settings.has_uuid());
    CHECK(settings.get(Setting::wiring) == 0);
    CHECK(settings.boot_count() == 1);
  }
}

TEST_CASE("boots are counted over the wrap of the ring, and no cell is worn more than another") {
  stub::reset();
  for (uint32_t boot = 1; boot <= 1000; ++boot) {
    Settings settings;
    settings.start();
    REQUIRE(settings.boot_count() == boot);
  }
  CHECK(the.eeprom_writes == 6000);
  CHECK(the.eeprom.size() == 32 * 6);
}

TEST_CASE("a boot count torn while being written costs one count at most") {
  for (int written = 0; written < 6; ++written) {
    stub::reset();
    for (int boot = 0; boot < 40; ++boot) {
      Settings settings;
      settings.start();
    }
    const auto before = the.eeprom;
    {
      Settings settings;
      settings.start();
    }
    auto torn = before;
    int n = 0;
    for (const auto& cell : the.eeprom) {
      if (before.at(cell.first) != cell.second && n++ < written) torn[cell.first] = cell.second;
    }
    the.eeprom = torn;
    Settings settings;
    settings.start();
    CHECK(settings.boot_count() >= 41);
    CHECK(settings.boot_count() <= 42);
  }
}

TEST_CASE("the UUID is stored once, at once, and survives") {
  stub::reset();
  {
    Settings settings;
    settings.start();
    const unsigned writes = the.eeprom_writes;
    CHECK(settings.identify(kUuid) == Result::ok);
    CHECK(the.eeprom_writes == writes + 18);
    CHECK(settings.has_uuid());
    CHECK(settings.identify(kUuid) == Result::refused);
    CHECK(!settings.save());
    CHECK(the.eeprom_writes == writes + 18);
    CHECK(uuid_of(settings) == std::vector<uint8_t>(kUuid, kUuid + 16));
  }
  Settings settings;
  settings.start();
  CHECK(settings.has_uuid());
  CHECK(uuid_of(settings) == std::vector<uint8_t>(kUuid, kUuid + 16));
  CHECK(settings.identify(kUuid) == Result::refused);
}

TEST_CASE("while EEPROM is slow, naming a board waits for each byte and feeds the watchdog") {
  stub::reset();
  Settings settings;
  settings.start();
  the.eeprom_slow = 5;
  const unsigned fed = the.fed;
  CHECK(settings.identify(kUuid) == Result::ok);  // the stub aborts at a write that comes too soon
  CHECK(the.fed >= fed + 17 * 5);
  Settings second;
  second.start();
  CHECK(second.has_uuid());
}

TEST_CASE("a UUID torn while being written is none, and another may be given") {
  for (int written = 0; written < 18; ++written) {
    CAPTURE(written);
    stub::reset();
    Settings settings;
    settings.start();
    const auto before = the.eeprom;
    settings.identify(kUuid);
    auto torn = before;
    for (uint16_t n = 0; n < written; ++n) torn[n] = the.eeprom[n];
    the.eeprom = torn;
    Settings second;
    second.start();
    CHECK(!second.has_uuid());
    CHECK(second.identify(kUuid) == Result::ok);
    Settings third;
    third.start();
    CHECK(third.has_uuid());
  }
}

TEST_CASE("the layout of EEPROM is what the twin and every board in the field have") {
  stub::reset();
  Settings settings;
  settings.start();
  settings.identify(kUuid);
  settings.set(static_cast<uint8_t>(Setting::wiring), 1);
  settings.set(static_cast<uint8_t>(Setting::launcher), 1);
  settings.set(static_cast<uint8_t>(Setting::slots), 6);
  save_all(settings);
  for (uint8_t n = 0; n < 16; ++n) CHECK(the.eeprom[n] == kUuid[n]);
  const uint16_t check = core::crc16_of(kUuid, 16);
  const uint8_t rest[] = {static_cast<uint8_t>(check), static_cast<uint8_t>(check >> 8), 1, 0xFE, 1, 0xFE, 6, 0xF9};
  for (uint8_t n = 0; n < sizeof rest; ++n) CHECK(the.eeprom[static_cast<uint16_t>(16 + n)] == rest[n]);
  for (uint16_t n = 24; n < 64; ++n) CHECK(the.eeprom.count(n) == 0);
  CHECK(the.eeprom[64] == 1);  // the first boot
}

TEST_CASE("what the description calls stored survives a reset, and nothing else does") {
  stub::reset();
  Settings settings;
  settings.start();
  for (uint8_t key = 1; key <= protocol::kSettingCount; ++key) {
    REQUIRE(settings.set(key, protocol::setting_limits(key).max) == Result::ok);
  }
  save_all(settings);
  Settings second;
  second.start();
  for (uint8_t key = 1; key <= protocol::kSettingCount; ++key) {
    CAPTURE(static_cast<int>(key));
    const protocol::SettingLimits limits = protocol::setting_limits(key);
    CHECK(second.get(static_cast<Setting>(key)) == (limits.stored ? limits.max : limits.initial));
  }
}

TEST_CASE("a stored setting that is torn or out of range falls back to its default, and its neighbours stay") {
  struct { Setting key; uint16_t at; uint8_t value; uint8_t too_much; } records[] = {
      {Setting::wiring, 18, 1, 2}, {Setting::launcher, 20, 1, 2}, {Setting::slots, 22, 6, 7}};
  for (const auto& torn : records) {
    for (int how = 0; how < 4; ++how) {
      CAPTURE(torn.at);
      CAPTURE(how);
      stub::reset();
      Settings settings;
      settings.start();
      for (const auto& each : records) settings.set(static_cast<uint8_t>(each.key), each.value);
      save_all(settings);
      const uint16_t check = static_cast<uint16_t>(torn.at + 1);
      if (how == 0) the.eeprom[torn.at] = 0xFF;                                  // erased, not yet written
      if (how == 1) the.eeprom[check] = static_cast<uint8_t>(~0);                // that of another value
      if (how == 2) {                                                            // whole, and of a bench that is not
        the.eeprom[torn.at] = torn.too_much;
        the.eeprom[check] = static_cast<uint8_t>(~torn.too_much);
      }
      if (how == 3) the.eeprom[torn.at] = the.eeprom[check] = 0;
      const unsigned writes = the.eeprom_writes;
      Settings second;
      second.start();
      CHECK(!second.save());
      CHECK(the.eeprom_writes == writes + 6);  // this boot's count: nobody mends what nobody set
      for (const auto& each : records) {
        const uint16_t initial = protocol::setting_limits(static_cast<uint8_t>(each.key)).initial;
        CHECK(second.get(each.key) == (each.key == torn.key ? initial : each.value));
      }
    }
  }
}

TEST_CASE("slots of 0 in EEPROM are no number of slots") {
  stub::reset();
  the.eeprom[22] = 0;
  the.eeprom[23] = 0xFF;
  Settings settings;
  settings.start();
  CHECK(settings.get(Setting::slots) == 4);
}

TEST_CASE("a stored setting is written and leaves every other cell alone") {
  struct { Setting key; uint8_t value; } cases[] = {{Setting::wiring, 1}, {Setting::launcher, 1}, {Setting::slots, 5}};
  stub::reset();
  Settings settings;
  settings.start();
  settings.identify(kUuid);
  for (const auto& each : cases) {
    unsigned writes = the.eeprom_writes;
    CHECK(settings.set(static_cast<uint8_t>(each.key), each.value) == Result::ok);
    save_all(settings);
    CHECK(the.eeprom_writes == writes + 2);
    writes = the.eeprom_writes;
    CHECK(settings.set(static_cast<uint8_t>(each.key), each.value) == Result::ok);
    save_all(settings);
    CHECK(the.eeprom_writes == writes);  // it is there already
  }
  CHECK(settings.set(static_cast<uint8_t>(Setting::quiet_ms), 300) == Result::ok);
  CHECK(!settings.save());
  Settings second;
  second.start();
  for (const auto& each : cases) CHECK(second.get(each.key) == each.value);
  CHECK(second.has_uuid());
}

TEST_CASE("saving writes at most one byte a call, and never waits") {
  stub::reset();
  Settings settings;
  settings.start();
  for (Setting key : {Setting::wiring, Setting::launcher, Setting::slots}) settings.set(static_cast<uint8_t>(key), 1);
  the.eeprom_slow = 3;
  const unsigned first = the.eeprom_writes;
  unsigned before = first, calls = 0;
  bool more = true;
  while (more) {
    more = settings.save();
    ++calls;
    CHECK(the.eeprom_writes <= before + 1);
    before = the.eeprom_writes;
  }
  CHECK(before == first + 6);
  CHECK(calls > 15);
}

TEST_CASE("every setting begins with its default and keeps its range") {
  stub::reset();
  Settings settings;
  settings.start();
  for (uint8_t key = 1; key <= protocol::kSettingCount; ++key) {
    const protocol::SettingLimits limits = protocol::setting_limits(key);
    uint16_t value = 0xFFFF;
    CHECK(settings.read(key, value) == Result::ok);
    CHECK(value == limits.initial);
    CHECK(settings.set(key, limits.min) == Result::ok);
    CHECK(settings.set(key, limits.max) == Result::ok);
    CHECK(settings.set(key, limits.max + 1u) == Result::bad_value);
    CHECK(settings.set(key, 0x10000u + limits.min) == Result::bad_value);
    if (limits.min) CHECK(settings.set(key, limits.min - 1u) == Result::bad_value);
    CHECK(settings.read(key, value) == Result::ok);
    CHECK(value == limits.max);
  }
  uint16_t value;
  for (uint8_t key : {0, protocol::kSettingCount + 1, 255}) {
    CHECK(settings.set(key, 1) == Result::unknown);
    CHECK(settings.read(key, value) == Result::unknown);
  }
}
