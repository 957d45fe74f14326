// SPDX-License-Identifier: Apache-2.0
// EEPROM, by address (the twin writes the first three rows as well: `_eeprom` in rig/twin/rig.py):
//    0  UUID, 16 bytes, and its CRC-16, low byte first
//   18  wiring, launcher, slots: each one byte and its complement, 18/19, 20/21, 22/23
//   24  free
//   64  ring of 32 boot counts: each 4 bytes and their CRC-16
// A record whose check fails counts as never written: no UUID, the default of the setting.
#include "settings.h"

#include "board.h"
#include "bytes.h"
#include "crc.h"
#include "rom.h"

namespace core {

using protocol::Result;
using protocol::Setting;

namespace {

constexpr uint8_t kUuid = 16;
constexpr uint8_t kUuidRecord = kUuid + 2;

// In the order of their records, which never changes: a board in the field has them so.
constexpr uint8_t kStoredAt = kUuidRecord;
const Setting kStored[] ROM = {Setting::wiring, Setting::launcher, Setting::slots};
static_assert(2 * sizeof kStored <= 8, "a bit for each byte of them fits unsaved_");

// A boot writes one record of the ring, so that the 100,000 writes of a cell last for 3.2 million boots.
constexpr uint16_t kBootsAt = 64;
constexpr uint8_t kBootSlots = 32;
constexpr uint8_t kBootRecord = 6;  // count, check

bool read_boot(uint8_t slot, uint32_t& count) {
  uint8_t record[kBootRecord];
  const uint16_t at = static_cast<uint16_t>(kBootsAt + slot * kBootRecord);
  for (uint8_t n = 0; n < kBootRecord; ++n) record[n] = board::eeprom_read(static_cast<uint16_t>(at + n));
  count = get32(record);
  return get16(record + 4) == crc16_of(record, 4);
}

// Now, whatever it takes: 3.4 ms a byte.
void write(uint16_t at, const uint8_t* bytes, uint8_t count) {
  for (uint8_t n = 0; n < count; ++n) {
    while (!board::eeprom_ready()) board::feed_watchdog();
    board::eeprom_write(static_cast<uint16_t>(at + n), bytes[n]);
  }
}

}  // namespace

void Settings::start() {
  for (uint8_t n = 0; n < protocol::kSettingCount; ++n) {
    value_[n] = protocol::setting_limits(static_cast<uint8_t>(n + 1)).initial;
  }
  for (uint8_t n = 0; n < sizeof kStored; ++n) {
    const uint8_t value = board::eeprom_read(static_cast<uint16_t>(kStoredAt + 2 * n));
    const uint8_t check = board::eeprom_read(static_cast<uint16_t>(kStoredAt + 2 * n + 1));
    if (check == static_cast<uint8_t>(~value)) set(static_cast<uint8_t>(rom(kStored[n])), value);
  }
  unsaved_ = 0;
  uint8_t uuid[kUuid];
  read_uuid(uuid);
  const uint16_t check = static_cast<uint16_t>(board::eeprom_read(kUuid) | (board::eeprom_read(kUuid + 1) << 8));
  has_uuid_ = check == crc16_of(uuid, kUuid);
  count_boot();
}

// The highest valid count is the last one; the record behind it is the oldest and takes the new one.
void Settings::count_boot() {
  uint32_t highest = 0;
  uint8_t next = 0;
  for (uint8_t slot = 0; slot < kBootSlots; ++slot) {
    uint32_t count;
    if (read_boot(slot, count) && count > highest) {
      highest = count;
      next = static_cast<uint8_t>((slot + 1) % kBootSlots);
    }
  }
  boot_count_ = highest + 1;
  uint8_t record[kBootRecord];
  put32(record, boot_count_);
  put16(record + 4, crc16_of(record, 4));
  const uint16_t at = static_cast<uint16_t>(kBootsAt + next * kBootRecord);
  write(at, record, kBootRecord);
}

void Settings::read_uuid(uint8_t* to) const {
  for (uint8_t n = 0; n < kUuid; ++n) to[n] = board::eeprom_read(n);
}

Result Settings::read(uint8_t key, uint16_t& value) const {
  if (key == 0 || key > protocol::kSettingCount) return Result::unknown;
  value = value_[key - 1];
  return Result::ok;
}

Result Settings::set(uint8_t key, uint32_t value) {
  if (key == 0 || key > protocol::kSettingCount) return Result::unknown;
  const protocol::SettingLimits limits = protocol::setting_limits(key);
  if (value < limits.min || value > limits.max) return Result::bad_value;
  value_[key - 1] = static_cast<uint16_t>(value);
  for (uint8_t n = 0; n < sizeof kStored; ++n) {
    if (static_cast<uint8_t>(rom(kStored[n])) == key) unsaved_ = static_cast<uint8_t>(unsaved_ | (3u << (2 * n)));
  }
  return Result::ok;
}

Result Settings::identify(const uint8_t* uuid) {
  if (has_uuid_) return Result::refused;
  uint8_t check[2];
  put16(check, crc16_of(uuid, kUuid));
  write(0, uuid, kUuid);
  write(kUuid, check, sizeof check);
  has_uuid_ = true;
  return Result::ok;
}

bool Settings::save() {
  for (uint8_t at = 0; unsaved_ && board::eeprom_ready(); ++at) {
    const uint8_t mask = static_cast<uint8_t>(1u << at);
    if (!(unsaved_ & mask)) continue;
    unsaved_ = static_cast<uint8_t>(unsaved_ & ~mask);
    const uint8_t value = static_cast<uint8_t>(get(rom(kStored[at / 2])));
    const uint8_t wanted = at & 1 ? static_cast<uint8_t>(~value) : value;
    if (board::eeprom_read(static_cast<uint16_t>(kStoredAt + at)) == wanted) continue;
    board::eeprom_write(static_cast<uint16_t>(kStoredAt + at), wanted);
    break;
  }
  return unsaved_ != 0;
}

}  // namespace core
