// SPDX-License-Identifier: Apache-2.0
// EEPROM: address 0 the image (UUID, its check, wiring, its complement), from 64 on the ring of boot counts.
#include "settings.h"

#include "board.h"
#include "bytes.h"
#include "crc.h"

namespace core {

using protocol::Result;

namespace {

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

}  // namespace

void Settings::start() {
  for (uint8_t n = 0; n < kImage; ++n) image_[n] = board::eeprom_read(n);
  for (uint8_t n = 0; n < protocol::kSettingCount; ++n) {
    value_[n] = protocol::setting_limits(static_cast<uint8_t>(n + 1)).initial;
  }
  has_uuid_ = get16(image_ + kUuid) == crc16_of(image_, kUuid);
  const uint8_t wiring = image_[kWiringAt];
  if (wiring < protocol::kWiringCount && image_[kWiringAt + 1] == static_cast<uint8_t>(~wiring)) {
    value_[static_cast<uint8_t>(protocol::Setting::wiring) - 1] = wiring;
  }
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
  for (uint8_t n = 0; n < kBootRecord; ++n) {
    while (!board::eeprom_ready()) board::feed_watchdog();
    board::eeprom_write(static_cast<uint16_t>(at + n), record[n]);
  }
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
  if (static_cast<protocol::Setting>(key) == protocol::Setting::wiring) {
    image_[kWiringAt] = static_cast<uint8_t>(value);
    image_[kWiringAt + 1] = static_cast<uint8_t>(~value);
    saved_ = 0;
  }
  return Result::ok;
}

Result Settings::identify(const uint8_t* uuid) {
  if (has_uuid_) return Result::refused;
  for (uint8_t n = 0; n < kUuid; ++n) image_[n] = uuid[n];
  put16(image_ + kUuid, crc16_of(image_, kUuid));
  has_uuid_ = true;
  saved_ = 0;
  return Result::ok;
}

bool Settings::save() {
  while (saved_ < kImage && board::eeprom_ready()) {
    const uint8_t at = saved_++;
    if (board::eeprom_read(at) == image_[at]) continue;
    board::eeprom_write(at, image_[at]);
    break;
  }
  return saved_ < kImage;
}

}  // namespace core
