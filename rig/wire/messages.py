# SPDX-License-Identifier: Apache-2.0
# Generated from firmware_arduino/protocol.toml by generate.py; change that file, not this one.
"""Every message, code and setting on the wire, as Python sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import ClassVar

PROTOCOL_HASH = 0x4A4F0870
BAUD = 115200
MAX_PAYLOAD = 48
WINDOW = 4
WINDOW_BYTES = 128
PULSE_MAX_MS = 60
STOP_RUN = 8
STOP_SEND = 16
LEASE_MS = 248
RENEW_MS = 80
BOOT_AFTER_MS = 1000
BOOT_EVERY_MS = 250
POWER_HOLD_MS = 900000
CRC_INIT = 0xFFFF
CRC_XOROUT = 0xFFFF
CRC_CHECK = 0xD64E
TICK_HZ = 16000000
BIN_MS = 10
CURRENT_SAMPLES_PER_BIN = 4
CURRENT_UA_PER_COUNT = 4888
VOLTAGE_UV_PER_COUNT = 9775


class Wiring(IntEnum):
    """Who drives the motor: the toy's own board, or the rig's bridge."""

    button = 0
    direct = 1


class Launcher(IntEnum):
    """The kind of machine that the firmware is set up for."""

    roller = 0
    blast = 1


class Channel(IntEnum):
    """A digital input whose edges are timestamped. Level 1 is the named state."""

    beam_a = 0  # 1 = blocked; D8, hardware capture
    beam_b = 1  # 1 = blocked; D2, external interrupt
    sound = 2  # 1 = the toy is sounding; D13
    lid = 3  # 1 = closed; A4
    interlock = 4  # 1 = closed, so outputs are allowed; A3


class Output(IntEnum):
    """Every output that the guard owns, in the order of its table."""

    roller = 0  # D3, PWM
    reverse = 1  # D4, only after the roller was off for 100 ms
    slot1 = 2  # D5
    slot2 = 3  # D6
    slot3 = 4  # D7
    slot4 = 5  # D9
    slot5 = 6  # D10
    slot6 = 7  # D11
    launch = 8  # A2, launch-button actuator
    reset = 9  # D12, reset-button actuator
    power = 10  # A5, toy power relay


class Verdict(IntEnum):
    """What became of a trial."""

    ok = 0
    no_run = 1  # accepted, the roller stayed still: a normal zero
    slip = 2  # the roller ran, the hopper was not empty, nothing came
    jam = 3  # beam A was blocked without a break for jam_ms while driven, or stall current longer than stall_ms
    empty = 4  # the roller ran over an empty hopper
    rejected = 5  # the toy did not take the press, or a precondition failed
    aborted = 6  # ended from outside: STOP, abort, lease or interlock
    fault = 7  # the rig spoiled it
    blast = 8  # insert: the ejector let go, and every loaded card flew
    held = 9  # the toy took it, the ejector held: a normal zero; of a reset, that it only woke the toy
    partial = 10  # the ejector let go, and fewer cards flew than were loaded
    latch_fault = 11  # the toy drove the latch, and nothing flew although something was loaded


class Reason(IntEnum):
    """Why a trial ended with other than a plain outcome."""

    none = 0
    no_sound = 1  # no sound began within accept_ms of button-down
    beam_blocked = 2  # beam A or B was blocked before the press
    wrong_wiring = 3  # a trial for the wiring or the launcher that is not set
    interlock = 4  # the interlock loop is open
    lid = 5  # the lid is open
    power_off = 6  # toy power is off, or has not been on for settle_ms
    fault_latched = 7  # a latched fault is not cleared
    stop = 8  # STOP was received
    abort = 9  # the host aborted the trial
    lease = 10  # the host fell silent for lease_ms
    stall = 11  # stall current longer than stall_ms
    beam_jam = 12  # beam A blocked without a break for jam_ms while driven
    timeout = 13  # not quiet within observe_max_ms
    ring_full = 14  # an edge or a sample was lost
    guard = 15  # the guard refused or cut an output
    ran_unheard = 16  # the roller ran although no sound was heard
    cards_unpowered = 17  # cards passed although the roller never ran, or the latch was never driven
    more_than_loaded = 18  # more cards flew than the bookkeeping had in the slots


class Result(IntEnum):
    """The MCU's answer to a command."""

    ok = 0
    unknown = 1  # no such command or key
    bad_value = 2  # out of range, or of the wrong length
    busy = 3  # a trial is in flight
    refused = 4  # a latched fault, an open interlock or the guard forbids it
    occupied = 5  # the slot holds a card, by the bookkeeping


class Cause(IntEnum):
    """Numbered causes of a latched fault. All outputs are off until CLEAR_FAULT."""

    none = 0
    interlock_open = 1  # the catch bin is missing or the emergency stop is pressed
    lease_lapsed = 2  # no valid frame for lease_ms inside a trial
    stop_received = 3  # STOP: a run of zero bytes or a line break
    max_on = 4  # an output reached its maximum on-time and was cut
    watchdog = 5  # the main loop hung
    silence = 6  # no valid frame for power_hold_ms; toy power went off


class PowerCause(IntEnum):
    """Why toy power changed."""

    command = 0
    fault = 1  # a latched fault switched it off


class BootFlag(IntFlag):
    """Flags in BOOT."""

    fresh = 1 << 0
    in_trial = 1 << 1
    uuid_blank = 1 << 2


class ResetFlag(IntFlag):
    """Reset cause as the MCU's status register told it; 0 is unknown, since a stock bootloader clears it."""

    power_on = 1 << 0
    external = 1 << 1
    brown_out = 1 << 2
    watchdog = 1 << 3


class BinFlag(IntFlag):
    """Flags in a sample bin, set when the bin closed."""

    beam_a = 1 << 0
    roller = 1 << 1


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that the board keeps: key on the wire, unit, initial value and limits."""

    name: str
    key: int
    unit: str
    default: int
    min: int
    max: int
    stored: bool
    doc: str


SETTINGS: dict[str, Setting] = {
    "wiring": Setting(
        "wiring",
        1,
        "",
        0,
        0,
        1,
        True,
        "wiring of the bench",
    ),
    "press_hold_ms": Setting(
        "press_hold_ms",
        2,
        "ms",
        120,
        20,
        180,
        False,
        "how long the actuator holds the launch button",
    ),
    "accept_ms": Setting(
        "accept_ms",
        3,
        "ms",
        150,
        20,
        1000,
        False,
        "a trial is accepted when a sound begins within this",
    ),
    "onset_ms": Setting(
        "onset_ms",
        4,
        "ms",
        400,
        50,
        3000,
        False,
        "a roller that has not started within this stays still, a latch that was not driven holds",
    ),
    "quiet_ms": Setting(
        "quiet_ms",
        5,
        "ms",
        200,
        50,
        2000,
        False,
        "no edge, no drive and no sound for this long ends a trial",
    ),
    "observe_max_ms": Setting(
        "observe_max_ms",
        6,
        "ms",
        6000,
        500,
        20000,
        False,
        "a trial that is not quiet by then ends",
    ),
    "jam_ms": Setting(
        "jam_ms",
        7,
        "ms",
        300,
        50,
        2000,
        False,
        "beam A blocked for sample bins in a row of this length is a jam; the roller's only while it is driven",
    ),
    "stall_ms": Setting(
        "stall_ms",
        8,
        "ms",
        250,
        50,
        2000,
        False,
        "stall current longer than this is a jam",
    ),
    "stall_mA": Setting(
        "stall_mA",
        9,
        "mA",
        850,
        100,
        5000,
        False,
        "current from which the roller counts as stalled",
    ),
    "roller_on_mA": Setting(
        "roller_on_mA",
        10,
        "mA",
        150,
        20,
        2000,
        False,
        "current from which the roller counts as running",
    ),
    "settle_ms": Setting(
        "settle_ms",
        11,
        "ms",
        500,
        0,
        5000,
        False,
        "toy power must have been on this long before a trial in which the toy takes part",
    ),
    "launcher": Setting(
        "launcher",
        12,
        "",
        0,
        0,
        1,
        True,
        "the machine on the bench",
    ),
    "slots": Setting(
        "slots",
        13,
        "",
        4,
        1,
        6,
        True,
        "slot solenoids that are wired; how many the toy has is not verified",
    ),
    "insert_hold_ms": Setting(
        "insert_hold_ms",
        14,
        "ms",
        40,
        10,
        60,
        False,
        "how long a slot solenoid pushes",
    ),
    "reset_hold_ms": Setting(
        "reset_hold_ms",
        15,
        "ms",
        120,
        20,
        350,
        False,
        "how long the actuator holds the reset button",
    ),
    "release_mA": Setting(
        "release_mA",
        16,
        "mA",
        250,
        20,
        2000,
        False,
        "current from which the blaster's latch counts as driven",
    ),
}


class Message:
    """Base of every message; `LAYOUT` names the field types in order."""

    __slots__ = ()
    TYPE: ClassVar[int]
    RELIABLE: ClassVar[bool]
    LAYOUT: ClassVar[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Opens a conversation: both sequences start at 0, a trial in flight is aborted. Repeated with the same nonce it acts once; READY answers."""

    TYPE: ClassVar[int] = 0x01
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u16")
    protocol_hash: int
    nonce: int


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Carries the acknowledgement in its header and nothing else; renews the lease."""

    TYPE: ClassVar[int] = 0x02
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Nak(Message):
    """Resend the event whose number is in the ack field."""

    TYPE: ClassVar[int] = 0x03
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Press(Message):
    """Starts a press trial. Every PRESS that is answered ok ends with TRIAL_END."""

    TYPE: ClassVar[int] = 0x10
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u32", "u8", "u8", "u48", "u16", "u16", "u8")
    trial: int
    burst: int
    index: int
    drive: int
    not_before: int
    hopper: int
    run_ms: int
    duty: int


@dataclass(frozen=True, slots=True)
class Abort(Message):
    """Ends the trial in flight, outputs off; toy power stays."""

    TYPE: ClassVar[int] = 0x11
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Power(Message):
    """Switches the toy power relay."""

    TYPE: ClassVar[int] = 0x12
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8",)
    on: int


@dataclass(frozen=True, slots=True)
class Set(Message):
    """Writes a setting."""

    TYPE: ClassVar[int] = 0x13
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u32")
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Get(Message):
    """Asks for a setting; VALUE answers, then REPLY."""

    TYPE: ClassVar[int] = 0x14
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8",)
    key: int


@dataclass(frozen=True, slots=True)
class GetStatus(Message):
    """Asks for STATUS."""

    TYPE: ClassVar[int] = 0x15
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class GetCounters(Message):
    """Asks for COUNTERS."""

    TYPE: ClassVar[int] = 0x16
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class ClearFault(Message):
    """Clears the latched fault whose cause it names."""

    TYPE: ClassVar[int] = 0x17
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8",)
    cause: int


@dataclass(frozen=True, slots=True)
class Identify(Message):
    """Stores a UUID; refused when one is stored, busy in a trial or a pulse, since EEPROM keeps the board for 61 ms."""

    TYPE: ClassVar[int] = 0x18
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("bytes[16]",)
    uuid: bytes


@dataclass(frozen=True, slots=True)
class Echo(Message):
    """ECHOED returns the same bytes: link tests."""

    TYPE: ClassVar[int] = 0x19
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("bytes",)
    data: bytes


@dataclass(frozen=True, slots=True)
class Rate(Message):
    """Link tests: the line runs at 2000000 / (divisor + 1) baud once the answer is acknowledged, until the next RATE, or until silence brings BOOT at the built rate."""

    TYPE: ClassVar[int] = 0x1A
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8",)
    divisor: int


@dataclass(frozen=True, slots=True)
class Pulse(Message):
    """Self-test: energises one output, through the guard, for so long. Refused in a trial and while another pulse lasts; toy power has its own command."""

    TYPE: ClassVar[int] = 0x1B
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u8", "u8")
    output: int
    ms: int
    duty: int


@dataclass(frozen=True, slots=True)
class Insert(Message):
    """Starts an insert trial: one slot solenoid pushes one waiting card in. Answered `bad_value` for a slot that is not wired, `occupied` for one that holds a card; then nothing moves."""

    TYPE: ClassVar[int] = 0x1C
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u32", "u8", "u48", "u8")
    trial: int
    burst: int
    index: int
    not_before: int
    slot: int


@dataclass(frozen=True, slots=True)
class Reset(Message):
    """Starts a reset trial: the toy's reset button is pressed. Asleep it wakes, awake it ejects what is loaded."""

    TYPE: ClassVar[int] = 0x1D
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u32", "u8", "u48")
    trial: int
    burst: int
    index: int
    not_before: int


@dataclass(frozen=True, slots=True)
class Slots(Message):
    """Puts the bookkeeping right after a person, or a reset of the board, has changed what is in the slots. Refused in a trial; `bad_value` for a slot that is not wired, and for more cards than occupied slots."""

    TYPE: ClassVar[int] = 0x1E
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u8")
    occupied: int
    cards: int


@dataclass(frozen=True, slots=True)
class Boot(Message):
    """Who the board is. Said every boot_every_ms while no host speaks."""

    TYPE: ClassVar[int] = 0x81
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u8", "u8", "u8", "u32", "bytes[16]", "u32", "u8", "u8", "u8", "u8", "u8")
    protocol_hash: int
    version_major: int
    version_minor: int
    version_patch: int
    build_id: int
    uuid: bytes
    boot_count: int
    wiring: int
    launcher: int
    reset_cause: int
    flags: int
    cause: int


@dataclass(frozen=True, slots=True)
class McuAck(Message):
    """Carries the acknowledgement in its header and nothing else."""

    TYPE: ClassVar[int] = 0x82
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class McuNak(Message):
    """Resend from the number in the ack field."""

    TYPE: ClassVar[int] = 0x83
    RELIABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Ready(Message):
    """Answers HELLO; always event 0 of a conversation."""

    TYPE: ClassVar[int] = 0x90
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u16", "u48")
    nonce: int
    tick: int


@dataclass(frozen=True, slots=True)
class Reply(Message):
    """The one answer to a reliable command."""

    TYPE: ClassVar[int] = 0x91
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u8")
    command: int
    result: int


@dataclass(frozen=True, slots=True)
class Value(Message):
    """Answers GET."""

    TYPE: ClassVar[int] = 0x92
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u32")
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Status(Message):
    """State of the board. `outputs` is read back from the pins, not remembered."""

    TYPE: ClassVar[int] = 0x93
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u48", "u16", "u8", "u8", "u32", "u16", "u16", "u8")
    tick: int
    outputs: int
    inputs: int
    cause: int
    trial: int
    pack: int
    stack_free: int
    occupied: int


@dataclass(frozen=True, slots=True)
class Counters(Message):
    """Losses on the link and in the rings, since reset; they stop at 65535."""

    TYPE: ClassVar[int] = 0x94
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u16", "u16", "u16", "u16", "u16", "u16", "u16", "u16", "u16")
    crc: int
    resync: int
    overrun: int
    framing: int
    resent: int
    stale: int
    duplicate: int
    gap: int
    ring_full: int


@dataclass(frozen=True, slots=True)
class Echoed(Message):
    """Answers ECHO."""

    TYPE: ClassVar[int] = 0x95
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("bytes",)
    data: bytes


@dataclass(frozen=True, slots=True)
class Actuated(Message):
    """The moment of the trial: an actuator or a slot solenoid was switched on, or the roller."""

    TYPE: ClassVar[int] = 0xA0
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u48")
    trial: int
    tick: int


@dataclass(frozen=True, slots=True)
class Edges(Message):
    """Edges of one channel, in order. An edge is (tick mod 2^31) << 1 | level; `tick` gives the high bits: each edge lies less than 2^31 ticks before it."""

    TYPE: ClassVar[int] = 0xA1
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u8", "u48", "u32[]")
    trial: int
    channel: int
    tick: int
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Samples(Message):
    """Sample bins of a trial, without a gap. A bin is current (sum of 4 counts, 12 bits) | voltage count << 12 | flags << 22."""

    TYPE: ClassVar[int] = 0xA2
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u16", "u24[]")
    trial: int
    first: int
    bins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrialEnd(Message):
    """The MCU's verdict on a trial; all its edges and samples come before."""

    TYPE: ClassVar[int] = 0xA3
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u32", "u48", "u8", "u8", "u8", "u16", "u8", "u16")
    trial: int
    tick: int
    verdict: int
    reason: int
    accepted: int
    cleared: int
    sticking: int
    roller_ms: int


@dataclass(frozen=True, slots=True)
class Powered(Message):
    """Toy power changed."""

    TYPE: ClassVar[int] = 0xA4
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u48", "u8")
    on: int
    tick: int
    cause: int


@dataclass(frozen=True, slots=True)
class Fault(Message):
    """A fault latched; every output is off."""

    TYPE: ClassVar[int] = 0xA5
    RELIABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[str, ...]] = ("u8", "u8", "u32", "u48")
    cause: int
    output: int
    trial: int
    tick: int


MESSAGES: dict[int, type[Message]] = {
    Hello.TYPE: Hello,
    Ack.TYPE: Ack,
    Nak.TYPE: Nak,
    Press.TYPE: Press,
    Abort.TYPE: Abort,
    Power.TYPE: Power,
    Set.TYPE: Set,
    Get.TYPE: Get,
    GetStatus.TYPE: GetStatus,
    GetCounters.TYPE: GetCounters,
    ClearFault.TYPE: ClearFault,
    Identify.TYPE: Identify,
    Echo.TYPE: Echo,
    Rate.TYPE: Rate,
    Pulse.TYPE: Pulse,
    Insert.TYPE: Insert,
    Reset.TYPE: Reset,
    Slots.TYPE: Slots,
    Boot.TYPE: Boot,
    McuAck.TYPE: McuAck,
    McuNak.TYPE: McuNak,
    Ready.TYPE: Ready,
    Reply.TYPE: Reply,
    Value.TYPE: Value,
    Status.TYPE: Status,
    Counters.TYPE: Counters,
    Echoed.TYPE: Echoed,
    Actuated.TYPE: Actuated,
    Edges.TYPE: Edges,
    Samples.TYPE: Samples,
    TrialEnd.TYPE: TrialEnd,
    Powered.TYPE: Powered,
    Fault.TYPE: Fault,
}
