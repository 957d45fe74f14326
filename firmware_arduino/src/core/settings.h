// SPDX-License-Identifier: Apache-2.0
// What the board knows about itself: the settings, and what EEPROM keeps of them (UUID, wiring, boot count), each
// record with its own check, so that a torn write loses one record and never invents one.
#pragma once

#include <stdint.h>

#include "protocol.h"

namespace core {

class Settings {
 public:
  // Reads EEPROM and counts this boot; waits for the writes. Call once, before anything is due.
  void start();

  uint16_t get(protocol::Setting key) const { return value_[static_cast<uint8_t>(key) - 1]; }
  // `unknown` key, `bad_value` out of the setting's range, else ok; a stored one is written by save().
  protocol::Result set(uint8_t key, uint32_t value);
  protocol::Result read(uint8_t key, uint16_t& value) const;

  bool has_uuid() const { return has_uuid_; }
  const uint8_t* uuid() const { return image_; }
  protocol::Result identify(const uint8_t* uuid);  // refused when there is one

  uint32_t boot_count() const { return boot_count_; }

  // Writes one changed byte if EEPROM is ready; true while more are to come. Never waits.
  bool save();

 private:
  static constexpr uint8_t kUuid = 16;
  static constexpr uint8_t kWiringAt = kUuid + 2;      // behind the UUID's check
  static constexpr uint8_t kImage = kWiringAt + 2;     // wiring and its complement

  void count_boot();

  uint16_t value_[protocol::kSettingCount];
  uint8_t image_[kImage];  // what EEPROM holds or is about to
  uint8_t saved_ = kImage;
  bool has_uuid_ = false;
  uint32_t boot_count_ = 0;
};

}  // namespace core
