// SPDX-License-Identifier: Apache-2.0
// A board for the host's tests: core/board.h in ordinary memory, with time that only the test moves. That the core
// links against it is the proof that it needs nothing of an AVR.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "board.h"
#include "ledger.h"

namespace stub {

struct Board {
  uint64_t tick = 0;
  bool locked = false;
  uint8_t due = 0;
  uint8_t alarm = 0;
  uint64_t exact = 0;
  bool exact_set = false;
  uint16_t on = 0;           // outputs, bit n
  uint8_t duty = 0;          // of the roller
  uint16_t cut_ticks = 0;    // as cut_in() was told
  uint64_t cut_at = 0;       // when the last of them is over at the latest
  Ledger ledger;
  uint8_t pins = 0;          // levels, bit n = channel n
  uint8_t told = 0;          // levels as the queues tell them
  bool sampling = false;
  std::deque<board::Bin> bins;
  board::Losses losses = {0, 0, 0, 0};
  std::deque<uint8_t> rx;
  std::vector<uint8_t> tx;   // everything sent
  bool sending = false;
  uint8_t buffer[64];
  std::map<uint16_t, uint8_t> eeprom;
  unsigned eeprom_writes = 0;
  unsigned eeprom_slow = 0;  // eeprom_ready() says no so many times after a write
  unsigned eeprom_busy = 0;  // of these, left
  unsigned fed = 0;          // the watchdog
  unsigned energised_count = 0;
  uint8_t rate = 0;          // divisor, 0 = as built
};

extern Board the;

// Everything as at power-on: beams clear, lid and interlock closed, EEPROM erased. `keep_eeprom` for a second boot.
void reset(bool keep_eeprom = false);

void at_ms(double ms);       // moves time to this many ms
void later_ms(double ms);
void edge(protocol::Channel channel, bool level);  // an input changes now
core::Tick tick();
void tick_ends();            // the 2 ms tick: cuts what has reached its deadline

}  // namespace stub
