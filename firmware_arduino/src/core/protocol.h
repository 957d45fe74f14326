// SPDX-License-Identifier: Apache-2.0
// Generated from protocol.toml by generate.py; change that file, not this one.
// Codes, offsets and limits of the wire, as the firmware sees them.
#pragma once

#include <stdint.h>

#include "rom.h"

namespace protocol {

constexpr uint32_t kHash = 0x4A4F0870UL;
constexpr uint32_t kBaud = 115200UL;
constexpr uint8_t kMaxPayload = 48;
constexpr uint8_t kWindow = 4;
constexpr uint8_t kPulseMaxMs = 60;
constexpr uint8_t kStopRun = 8;
constexpr uint16_t kLeaseMs = 248;
constexpr uint16_t kBootAfterMs = 1000;
constexpr uint16_t kBootEveryMs = 250;
constexpr uint32_t kPowerHoldMs = 900000UL;
constexpr uint16_t kCrcCheck = 0xD64E;
constexpr uint32_t kTickHz = 16000000UL;
constexpr uint8_t kBinMs = 10;
constexpr uint8_t kCurrentSamplesPerBin = 4;
constexpr uint16_t kCurrentUaPerCount = 4888;
constexpr uint16_t kVoltageUvPerCount = 9775;

// Who drives the motor: the toy's own board, or the rig's bridge.
enum class Wiring : uint8_t {
  button = 0,
  direct = 1,
};
constexpr uint8_t kWiringCount = 2;

// The kind of machine that the firmware is set up for.
enum class Launcher : uint8_t {
  roller = 0,
  blast = 1,
};
constexpr uint8_t kLauncherCount = 2;

// A digital input whose edges are timestamped. Level 1 is the named state.
enum class Channel : uint8_t {
  beam_a = 0,  // 1 = blocked; D8, hardware capture
  beam_b = 1,  // 1 = blocked; D2, external interrupt
  sound = 2,  // 1 = the toy is sounding; D13
  lid = 3,  // 1 = closed; A4
  interlock = 4,  // 1 = closed, so outputs are allowed; A3
};
constexpr uint8_t kChannelCount = 5;

// Every output that the guard owns, in the order of its table.
enum class Output : uint8_t {
  roller = 0,  // D3, PWM
  reverse = 1,  // D4, only after the roller was off for 100 ms
  slot1 = 2,  // D5
  slot2 = 3,  // D6
  slot3 = 4,  // D7
  slot4 = 5,  // D9
  slot5 = 6,  // D10
  slot6 = 7,  // D11
  launch = 8,  // A2, launch-button actuator
  reset = 9,  // D12, reset-button actuator
  power = 10,  // A5, toy power relay
};
constexpr uint8_t kOutputCount = 11;

// What became of a trial.
enum class Verdict : uint8_t {
  ok = 0,
  no_run = 1,  // accepted, the roller stayed still: a normal zero
  slip = 2,  // the roller ran, the hopper was not empty, nothing came
  jam = 3,  // beam A was blocked without a break for jam_ms while driven, or stall current longer than stall_ms
  empty = 4,  // the roller ran over an empty hopper
  rejected = 5,  // the toy did not take the press, or a precondition failed
  aborted = 6,  // ended from outside: STOP, abort, lease or interlock
  fault = 7,  // the rig spoiled it
  blast = 8,  // insert: the ejector let go, and every loaded card flew
  held = 9,  // the toy took it, the ejector held: a normal zero; of a reset, that it only woke the toy
  partial = 10,  // the ejector let go, and fewer cards flew than were loaded
  latch_fault = 11,  // the toy drove the latch, and nothing flew although something was loaded
};
constexpr uint8_t kVerdictCount = 12;

// Why a trial ended with other than a plain outcome.
enum class Reason : uint8_t {
  none = 0,
  no_sound = 1,  // no sound began within accept_ms of button-down
  beam_blocked = 2,  // beam A or B was blocked before the press
  wrong_wiring = 3,  // a trial for the wiring or the launcher that is not set
  interlock = 4,  // the interlock loop is open
  lid = 5,  // the lid is open
  power_off = 6,  // toy power is off, or has not been on for settle_ms
  fault_latched = 7,  // a latched fault is not cleared
  stop = 8,  // STOP was received
  abort = 9,  // the host aborted the trial
  lease = 10,  // the host fell silent for lease_ms
  stall = 11,  // stall current longer than stall_ms
  beam_jam = 12,  // beam A blocked without a break for jam_ms while driven
  timeout = 13,  // not quiet within observe_max_ms
  ring_full = 14,  // an edge or a sample was lost
  guard = 15,  // the guard refused or cut an output
  ran_unheard = 16,  // the roller ran although no sound was heard
  cards_unpowered = 17,  // cards passed although the roller never ran, or the latch was never driven
  more_than_loaded = 18,  // more cards flew than the bookkeeping had in the slots
};
constexpr uint8_t kReasonCount = 19;

// The MCU's answer to a command.
enum class Result : uint8_t {
  ok = 0,
  unknown = 1,  // no such command or key
  bad_value = 2,  // out of range, or of the wrong length
  busy = 3,  // a trial is in flight
  refused = 4,  // a latched fault, an open interlock or the guard forbids it
  occupied = 5,  // the slot holds a card, by the bookkeeping
};
constexpr uint8_t kResultCount = 6;

// Numbered causes of a latched fault. All outputs are off until CLEAR_FAULT.
enum class Cause : uint8_t {
  none = 0,
  interlock_open = 1,  // the catch bin is missing or the emergency stop is pressed
  lease_lapsed = 2,  // no valid frame for lease_ms inside a trial
  stop_received = 3,  // STOP: a run of zero bytes or a line break
  max_on = 4,  // an output reached its maximum on-time and was cut
  watchdog = 5,  // the main loop hung
  silence = 6,  // no valid frame for power_hold_ms; toy power went off
};
constexpr uint8_t kCauseCount = 7;

// Why toy power changed.
enum class PowerCause : uint8_t {
  command = 0,
  fault = 1,  // a latched fault switched it off
};
constexpr uint8_t kPowerCauseCount = 2;

// Flags in BOOT.
namespace boot_flag {
constexpr uint8_t fresh = 1 << 0;
constexpr uint8_t in_trial = 1 << 1;
constexpr uint8_t uuid_blank = 1 << 2;
}

// Reset cause as the MCU's status register told it; 0 is unknown, since a stock bootloader clears it.
namespace reset_flag {
constexpr uint8_t power_on = 1 << 0;
constexpr uint8_t external = 1 << 1;
constexpr uint8_t brown_out = 1 << 2;
constexpr uint8_t watchdog = 1 << 3;
}

// Flags in a sample bin, set when the bin closed.
namespace bin_flag {
constexpr uint8_t beam_a = 1 << 0;
constexpr uint8_t roller = 1 << 1;
}

// Settings: index = key - 1. Every value fits 16 bits.
enum class Setting : uint8_t {
  wiring = 1,  // wiring of the bench
  press_hold_ms = 2,  // how long the actuator holds the launch button
  accept_ms = 3,  // a trial is accepted when a sound begins within this
  onset_ms = 4,  // a roller that has not started within this stays still, a latch that was not driven holds
  quiet_ms = 5,  // no edge, no drive and no sound for this long ends a trial
  observe_max_ms = 6,  // a trial that is not quiet by then ends
  jam_ms = 7,  // beam A blocked for sample bins in a row of this length is a jam; the roller's only while it is driven
  stall_ms = 8,  // stall current longer than this is a jam
  stall_mA = 9,  // current from which the roller counts as stalled
  roller_on_mA = 10,  // current from which the roller counts as running
  settle_ms = 11,  // toy power must have been on this long before a trial in which the toy takes part
  launcher = 12,  // the machine on the bench
  slots = 13,  // slot solenoids that are wired; how many the toy has is not verified
  insert_hold_ms = 14,  // how long a slot solenoid pushes
  reset_hold_ms = 15,  // how long the actuator holds the reset button
  release_mA = 16,  // current from which the blaster's latch counts as driven
};
constexpr uint8_t kSettingCount = 16;

// The largest value of each, for checks at compile time.
namespace setting_max {
constexpr uint16_t wiring = 1;
constexpr uint16_t press_hold_ms = 180;
constexpr uint16_t accept_ms = 1000;
constexpr uint16_t onset_ms = 3000;
constexpr uint16_t quiet_ms = 2000;
constexpr uint16_t observe_max_ms = 20000;
constexpr uint16_t jam_ms = 2000;
constexpr uint16_t stall_ms = 2000;
constexpr uint16_t stall_mA = 5000;
constexpr uint16_t roller_on_mA = 2000;
constexpr uint16_t settle_ms = 5000;
constexpr uint16_t launcher = 1;
constexpr uint16_t slots = 6;
constexpr uint16_t insert_hold_ms = 60;
constexpr uint16_t reset_hold_ms = 350;
constexpr uint16_t release_mA = 2000;
}

struct SettingLimits {
  uint16_t initial, min, max;
  bool stored;
};

const SettingLimits kSettingLimits[kSettingCount] ROM = {
    {0, 0, 1, true},  // wiring
    {120, 20, 180, false},  // press_hold_ms
    {150, 20, 1000, false},  // accept_ms
    {400, 50, 3000, false},  // onset_ms
    {200, 50, 2000, false},  // quiet_ms
    {6000, 500, 20000, false},  // observe_max_ms
    {300, 50, 2000, false},  // jam_ms
    {250, 50, 2000, false},  // stall_ms
    {850, 100, 5000, false},  // stall_mA
    {150, 20, 2000, false},  // roller_on_mA
    {500, 0, 5000, false},  // settle_ms
    {0, 0, 1, true},  // launcher
    {4, 1, 6, true},  // slots
    {40, 10, 60, false},  // insert_hold_ms
    {120, 20, 350, false},  // reset_hold_ms
    {250, 20, 2000, false},  // release_mA
};

// Of a known key.
inline SettingLimits setting_limits(uint8_t key) { return core::rom(kSettingLimits[key - 1]); }

enum class Type : uint8_t {
  HELLO = 0x01,
  ACK = 0x02,
  NAK = 0x03,
  PRESS = 0x10,
  ABORT = 0x11,
  POWER = 0x12,
  SET = 0x13,
  GET = 0x14,
  GET_STATUS = 0x15,
  GET_COUNTERS = 0x16,
  CLEAR_FAULT = 0x17,
  IDENTIFY = 0x18,
  ECHO = 0x19,
  RATE = 0x1A,
  PULSE = 0x1B,
  INSERT = 0x1C,
  RESET = 0x1D,
  SLOTS = 0x1E,
  BOOT = 0x81,
  MCU_ACK = 0x82,
  MCU_NAK = 0x83,
  READY = 0x90,
  REPLY = 0x91,
  VALUE = 0x92,
  STATUS = 0x93,
  COUNTERS = 0x94,
  ECHOED = 0x95,
  ACTUATED = 0xA0,
  EDGES = 0xA1,
  SAMPLES = 0xA2,
  TRIAL_END = 0xA3,
  POWERED = 0xA4,
  FAULT = 0xA5,
};

// Offsets into payloads; `size` is the payload's fixed part.
namespace hello_at {
constexpr uint8_t protocol_hash = 0;
constexpr uint8_t nonce = 4;
constexpr uint8_t size = 6;
}
namespace ack_at {
constexpr uint8_t size = 0;
}
namespace nak_at {
constexpr uint8_t size = 0;
}
namespace press_at {
constexpr uint8_t trial = 0;
constexpr uint8_t burst = 4;
constexpr uint8_t index = 8;
constexpr uint8_t drive = 9;
constexpr uint8_t not_before = 10;
constexpr uint8_t hopper = 16;
constexpr uint8_t run_ms = 18;
constexpr uint8_t duty = 20;
constexpr uint8_t size = 21;
}
namespace abort_at {
constexpr uint8_t size = 0;
}
namespace power_at {
constexpr uint8_t on = 0;
constexpr uint8_t size = 1;
}
namespace set_at {
constexpr uint8_t key = 0;
constexpr uint8_t value = 1;
constexpr uint8_t size = 5;
}
namespace get_at {
constexpr uint8_t key = 0;
constexpr uint8_t size = 1;
}
namespace get_status_at {
constexpr uint8_t size = 0;
}
namespace get_counters_at {
constexpr uint8_t size = 0;
}
namespace clear_fault_at {
constexpr uint8_t cause = 0;
constexpr uint8_t size = 1;
}
namespace identify_at {
constexpr uint8_t uuid = 0;
constexpr uint8_t size = 16;
}
namespace echo_at {
constexpr uint8_t data = 0;
constexpr uint8_t size = 0;
}
namespace rate_at {
constexpr uint8_t divisor = 0;
constexpr uint8_t size = 1;
}
namespace pulse_at {
constexpr uint8_t output = 0;
constexpr uint8_t ms = 1;
constexpr uint8_t duty = 2;
constexpr uint8_t size = 3;
}
namespace insert_at {
constexpr uint8_t trial = 0;
constexpr uint8_t burst = 4;
constexpr uint8_t index = 8;
constexpr uint8_t not_before = 9;
constexpr uint8_t slot = 15;
constexpr uint8_t size = 16;
}
namespace reset_at {
constexpr uint8_t trial = 0;
constexpr uint8_t burst = 4;
constexpr uint8_t index = 8;
constexpr uint8_t not_before = 9;
constexpr uint8_t size = 15;
}
namespace slots_at {
constexpr uint8_t occupied = 0;
constexpr uint8_t cards = 1;
constexpr uint8_t size = 2;
}
namespace boot_at {
constexpr uint8_t protocol_hash = 0;
constexpr uint8_t version_major = 4;
constexpr uint8_t version_minor = 5;
constexpr uint8_t version_patch = 6;
constexpr uint8_t build_id = 7;
constexpr uint8_t uuid = 11;
constexpr uint8_t boot_count = 27;
constexpr uint8_t wiring = 31;
constexpr uint8_t launcher = 32;
constexpr uint8_t reset_cause = 33;
constexpr uint8_t flags = 34;
constexpr uint8_t cause = 35;
constexpr uint8_t size = 36;
}
namespace mcu_ack_at {
constexpr uint8_t size = 0;
}
namespace mcu_nak_at {
constexpr uint8_t size = 0;
}
namespace ready_at {
constexpr uint8_t nonce = 0;
constexpr uint8_t tick = 2;
constexpr uint8_t size = 8;
}
namespace reply_at {
constexpr uint8_t command = 0;
constexpr uint8_t result = 1;
constexpr uint8_t size = 2;
}
namespace value_at {
constexpr uint8_t key = 0;
constexpr uint8_t value = 1;
constexpr uint8_t size = 5;
}
namespace status_at {
constexpr uint8_t tick = 0;
constexpr uint8_t outputs = 6;
constexpr uint8_t inputs = 8;
constexpr uint8_t cause = 9;
constexpr uint8_t trial = 10;
constexpr uint8_t pack = 14;
constexpr uint8_t stack_free = 16;
constexpr uint8_t occupied = 18;
constexpr uint8_t size = 19;
}
namespace counters_at {
constexpr uint8_t crc = 0;
constexpr uint8_t resync = 2;
constexpr uint8_t overrun = 4;
constexpr uint8_t framing = 6;
constexpr uint8_t resent = 8;
constexpr uint8_t stale = 10;
constexpr uint8_t duplicate = 12;
constexpr uint8_t gap = 14;
constexpr uint8_t ring_full = 16;
constexpr uint8_t size = 18;
}
namespace echoed_at {
constexpr uint8_t data = 0;
constexpr uint8_t size = 0;
}
namespace actuated_at {
constexpr uint8_t trial = 0;
constexpr uint8_t tick = 4;
constexpr uint8_t size = 10;
}
namespace edges_at {
constexpr uint8_t trial = 0;
constexpr uint8_t channel = 4;
constexpr uint8_t tick = 5;
constexpr uint8_t edges = 11;
constexpr uint8_t size = 11;
}
namespace samples_at {
constexpr uint8_t trial = 0;
constexpr uint8_t first = 4;
constexpr uint8_t bins = 6;
constexpr uint8_t size = 6;
}
namespace trial_end_at {
constexpr uint8_t trial = 0;
constexpr uint8_t tick = 4;
constexpr uint8_t verdict = 10;
constexpr uint8_t reason = 11;
constexpr uint8_t accepted = 12;
constexpr uint8_t cleared = 13;
constexpr uint8_t sticking = 15;
constexpr uint8_t roller_ms = 16;
constexpr uint8_t size = 18;
}
namespace powered_at {
constexpr uint8_t on = 0;
constexpr uint8_t tick = 1;
constexpr uint8_t cause = 7;
constexpr uint8_t size = 8;
}
namespace fault_at {
constexpr uint8_t cause = 0;
constexpr uint8_t output = 1;
constexpr uint8_t trial = 2;
constexpr uint8_t tick = 6;
constexpr uint8_t size = 12;
}

// Fixed payload length of a command, or 0xFF for an unknown type; `open` tells that more may follow.
inline uint8_t command_size(uint8_t type, bool& reliable, bool& open) {
  reliable = true;
  open = false;
  switch (type) {
    case 0x01: reliable = false; return 6;
    case 0x02: reliable = false; return 0;
    case 0x03: reliable = false; return 0;
    case 0x10: return 21;
    case 0x11: return 0;
    case 0x12: return 1;
    case 0x13: return 5;
    case 0x14: return 1;
    case 0x15: return 0;
    case 0x16: return 0;
    case 0x17: return 1;
    case 0x18: return 16;
    case 0x19: open = true; return 0;
    case 0x1A: return 1;
    case 0x1B: return 3;
    case 0x1C: return 16;
    case 0x1D: return 15;
    case 0x1E: return 2;
    default: return 0xFF;
  }
}

}  // namespace protocol
