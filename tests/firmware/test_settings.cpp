// SPDX-License-Identifier: Apache-2.0
// Settings and what EEPROM keeps of them, over many boots and torn writes.
#include <vector>

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

TEST_CASE("the UUID is stored once and survives") {
  stub::reset();
  {
    Settings settings;
    settings.start();
    CHECK(settings.identify(kUuid) == Result::ok);
    CHECK(settings.identify(kUuid) == Result::refused);
    save_all(settings);
  }
  Settings settings;
  settings.start();
  CHECK(settings.has_uuid());
  CHECK(std::vector<uint8_t>(settings.uuid(), settings.uuid() + 16) == std::vector<uint8_t>(kUuid, kUuid + 16));
  CHECK(settings.identify(kUuid) == Result::refused);
}

TEST_CASE("the wiring is stored, and writing it leaves the UUID's cells alone") {
  stub::reset();
  Settings settings;
  settings.start();
  settings.identify(kUuid);
  save_all(settings);
  const unsigned writes = the.eeprom_writes;
  CHECK(settings.set(static_cast<uint8_t>(Setting::wiring), 1) == Result::ok);
  save_all(settings);
  CHECK(the.eeprom_writes == writes + 2);
  Settings second;
  second.start();
  CHECK(second.get(Setting::wiring) == 1);
  CHECK(second.has_uuid());
}

TEST_CASE("saving writes at most one byte a call") {
  stub::reset();
  Settings settings;
  settings.start();
  settings.identify(kUuid);
  unsigned before = the.eeprom_writes;
  bool more = true;
  while (more) {
    more = settings.save();
    CHECK(the.eeprom_writes <= before + 1);
    before = the.eeprom_writes;
  }
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
