// SPDX-License-Identifier: Apache-2.0
// Cycles that two EEPROM writes take, waiting for each.
#include "say.h"

int main(void) {
  link_up();
  TCCR1A = 0;
  TCCR1B = _BV(CS11);
  const uint16_t from = TCNT1;
  eeprom_write_byte((uint8_t *)5, 0x12);
  eeprom_write_byte((uint8_t *)6, 0x34);
  eeprom_busy_wait();
  const uint16_t to = TCNT1;
  say("cycles", (uint32_t)(to - from) * 8);
  say("first", eeprom_read_byte((uint8_t *)5));
  say("second", eeprom_read_byte((uint8_t *)6));
  end();
}
