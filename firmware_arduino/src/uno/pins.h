// SPDX-License-Identifier: Apache-2.0
// The wiring of docs/wiring.md: which port bit is what. Everything that names a pin of the ATmega328P is here.
#pragma once

#include <avr/io.h>
#include <stdint.h>

namespace uno {

// Inputs
constexpr uint8_t kBeamA = _BV(PINB0);      // D8, ICP1, pull-up; low = blocked
constexpr uint8_t kSound = _BV(PINB5);      // D13; high = sounding
constexpr uint8_t kBeamB = _BV(PIND2);      // D2, INT0, pull-up; low = blocked
constexpr uint8_t kInterlock = _BV(PINC3);  // A3, pull-up; low = closed
constexpr uint8_t kLid = _BV(PINC4);        // A4, pull-up; low = closed
constexpr uint8_t kCurrentChannel = 0;      // A0
constexpr uint8_t kVoltageChannel = 1;      // A1

// Outputs by port; every one is an input (gate held down by its resistor) unless energised.
constexpr uint8_t kOutputsB = _BV(PORTB1) | _BV(PORTB2) | _BV(PORTB3) | _BV(PORTB4);  // D9 D10 D11 D12
constexpr uint8_t kOutputsC = _BV(PORTC2) | _BV(PORTC5);                              // A2 A5
constexpr uint8_t kOutputsD = _BV(PORTD3) | _BV(PORTD4) | _BV(PORTD5) | _BV(PORTD6) | _BV(PORTD7);  // D3..D7
constexpr uint8_t kRoller = _BV(PORTD3);                                              // D3, OC2B

// Timer2: fast PWM 0..255, 16 MHz / 8 / 256 = 7.8 kHz; the pin is connected only while the roller is on.
constexpr uint8_t kPwmMode = _BV(WGM21) | _BV(WGM20);
constexpr uint8_t kPwmOn = kPwmMode | _BV(COM2B1);

}  // namespace uno
