// SPDX-License-Identifier: Apache-2.0
// What the board knows about itself: the settings, and what EEPROM keeps (UUID, the stored settings, boot count), each
// record with its own check, so that a torn write loses one record and never invents one. No copy of EEPROM is held.
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
  void read_uuid(uint8_t* to) const;  // 16 bytes, as EEPROM holds them
  // `refused` when there is one. Waits for the writes, 61 ms, once in a board's life: nothing must be on that has an end.
  protocol::Result identify(const uint8_t* uuid);

  uint32_t boot_count() const { return boot_count_; }

  // Writes one changed byte of the stored settings if EEPROM is ready; true while more are to come. Never waits.
  bool save();

 private:
  void count_boot();

  uint16_t value_[protocol::kSettingCount];
  uint8_t unsaved_ = 0;  // bit n = byte n of the stored settings is to be compared with EEPROM
  bool has_uuid_ = false;
  uint32_t boot_count_ = 0;
};

}  // namespace core
