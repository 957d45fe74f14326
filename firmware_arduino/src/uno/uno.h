// SPDX-License-Identifier: Apache-2.0
// The ATmega328P beneath core/board.h: what setup() and loop() call, and what its rooms tell each other.
#pragma once

#include <stdint.h>

#include "../core/tick.h"

namespace uno {

// Sets everything that the firmware relies on; bootloaders and the Arduino core leave timers and USART configured.
void start();

// Sleeps until something is due, and takes all of it. Most interrupts make nothing due and lead straight back to sleep;
// the watchdog is fed on each.
uint8_t wait();

void start_clock();       // time.cpp
// The full time of a reading of Timer1 and of the low bits of its overflow count; from the loop only. time.cpp
core::Tick tick_of(uint16_t low, uint8_t overflows);
void start_tick_timer();  // sampling.cpp
void start_usart();       // usart.cpp

extern volatile uint8_t lost_bins;   // sampling.cpp
extern volatile uint8_t lost_bytes;  // usart.cpp
extern volatile uint8_t bad_bytes;   // usart.cpp

}  // namespace uno
