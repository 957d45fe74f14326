// SPDX-License-Identifier: Apache-2.0
// The ATmega328P beneath core/board.h: what setup() and loop() call, and what its rooms tell each other.
#pragma once

#include <stdint.h>

namespace uno {

// Sets everything that the firmware relies on; bootloaders and the Arduino core leave timers and USART configured.
void start();

// Feeds the watchdog, then sleeps until an interrupt, unless something is due already.
void idle();

void start_clock();       // time.cpp
void start_tick_timer();  // sampling.cpp
void start_usart();       // usart.cpp

extern volatile uint8_t lost_bins;   // sampling.cpp
extern volatile uint8_t lost_bytes;  // usart.cpp
extern volatile uint8_t bad_bytes;   // usart.cpp

}  // namespace uno
