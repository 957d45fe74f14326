// SPDX-License-Identifier: Apache-2.0
// Which slots of the blaster hold a card: bookkeeping, since no sensor looks into a slot. The host keeps the same books by
// the same rules (rig/slots.py) and tells them again when a person, or a reset of the board, has made these wrong.
#pragma once

#include <stdint.h>

#include "verdict.h"

namespace core {

class Slots {
 public:
  uint8_t occupied() const { return occupied_; }  // bit n = slot n + 1
  uint8_t cards() const { return cards_; }        // in the slots, all told
  bool holds(uint8_t slot) const { return occupied_ & mask_of(slot); }  // from 1

  void clear() { occupied_ = cards_ = 0; }

  // SLOTS: `bad_value` for a slot that a bench with `slots` slots has not, and for more cards than slots that may hold one.
  protocol::Result tell(uint8_t occupied, uint8_t cards, uint8_t slots) {
    if ((occupied >> slots) || cards > __builtin_popcount(occupied)) return protocol::Result::bad_value;
    occupied_ = occupied;
    cards_ = cards;
    return protocol::Result::ok;
  }

  // The solenoid of `slot` was switched on.
  void inserted(uint8_t slot) {
    occupied_ = static_cast<uint8_t>(occupied_ | mask_of(slot));
    ++cards_;
  }

  // A trial of the blaster is over. When fewer flew than were loaded nobody knows which: every slot stays barred.
  void after(const Outcome& outcome) {
    if (outcome.verdict == protocol::Verdict::blast || outcome.verdict == protocol::Verdict::ok) return clear();
    cards_ = outcome.cleared < cards_ ? static_cast<uint8_t>(cards_ - outcome.cleared) : 0;
  }

 private:
  static constexpr uint8_t mask_of(uint8_t slot) { return static_cast<uint8_t>(1u << (slot - 1)); }

  uint8_t occupied_ = 0;
  uint8_t cards_ = 0;
};

}  // namespace core
