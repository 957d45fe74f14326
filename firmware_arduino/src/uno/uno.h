// SPDX-License-Identifier: Apache-2.0
// The ATmega328P beneath core/board.h: what setup() and loop() call, and what its rooms tell each other.
#pragma once

#include <stdint.h>

namespace uno {

// Sets everything that the firmware relies on; bootloaders and the Arduino core leave timers and USART configured.
void start();

// Sleeps until something is due, and takes all of it. Most interrupts make nothing due and lead straight back to sleep;
// the watchdog is fed on each.
uint8_t wait();

void start_clock();       // time.cpp
void start_tick_timer();  // sampling.cpp
void start_usart();       // usart.cpp

extern volatile uint8_t lost_bins;   // sampling.cpp
extern volatile uint8_t lost_bytes;  // usart.cpp
extern volatile uint8_t bad_bytes;   // usart.cpp

}  // namespace uno
