// SPDX-License-Identifier: Apache-2.0
// What the interrupts share. Inline, because a call from an interrupt saves and restores every register; kept in the
// general purpose I/O registers, because those take single instructions that nothing can interrupt.
#pragma once

#include <avr/io.h>

#include "../core/board.h"
#include "pins.h"

// GPIOR0: what is due. GPIOR1: low 8 bits of Timer1's overflow count. GPIOR2: overflow at which the alarm is due.

namespace uno {

// Every gate low, then high impedance. Constant time, no table.
inline __attribute__((always_inline)) void outputs_off() {
  TCCR2A = kPwmMode;
  PORTB &= static_cast<uint8_t>(~kOutputsB);
  DDRB &= static_cast<uint8_t>(~kOutputsB);
  PORTC &= static_cast<uint8_t>(~kOutputsC);
  DDRC &= static_cast<uint8_t>(~kOutputsC);
  PORTD &= static_cast<uint8_t>(~kOutputsD);
  DDRD &= static_cast<uint8_t>(~kOutputsD);
}

// core::Guard::trip() for interrupts: off right here, told by the loop.
inline __attribute__((always_inline)) void trip(protocol::Cause cause) {
  outputs_off();
  board::latched |= static_cast<uint8_t>(1u << static_cast<uint8_t>(cause));
  GPIOR0 |= board::due::tripped;
}

// The overflow count that belongs to a reading of Timer1 taken just now, with interrupts off.
inline __attribute__((always_inline)) uint8_t overflows_at(uint16_t reading) {
  uint8_t overflows = GPIOR1;
  if ((TIFR1 & _BV(TOV1)) && !(reading & 0x8000)) ++overflows;
  return overflows;
}

inline __attribute__((always_inline)) void count_overflow() {
  const uint8_t overflows = static_cast<uint8_t>(GPIOR1 + 1);
  GPIOR1 = overflows;
  if (overflows == GPIOR2) GPIOR0 |= board::due::alarm;
}

extern volatile uint8_t lost_edges;

inline __attribute__((always_inline)) void count_lost(volatile uint8_t& counter) {
  const uint8_t lost = static_cast<uint8_t>(counter + 1);
  if (lost) counter = lost;
  GPIOR0 |= board::due::lost;
}

}  // namespace uno
