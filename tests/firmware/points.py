# SPDX-License-Identifier: Apache-2.0
"""Random moments at which something fails, one after the other on the same AVR, and how long it took until all was off.

Each function yields a `Point` for every moment. What must hold whatever the moment is asserted here; what is a figure is
left to the caller.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from rig.twin.avr import FOREVER
from rig.wire.messages import STOP_RUN, STOP_SEND, Cause, Counters, Echo, GetCounters, Reason, ResetFlag, Result, Verdict
from rig.wire.session import Session
from tests.firmware import board as built
from tests.firmware.board import BEAM_A, BEAM_B, INTERLOCK, LID, MS, SOUND
from tests.firmware.safety import BYTE_CYCLES, PINS, PULSED, SafetyBoard, assert_within_maximum, last_off, phase_at, spells

LEASE_ENDS = 300 * MS  # whatever the lease does, it has done it by then
ACK_BYTES = 9
PULSE_LATE = 2 * 65536  # cycles of two overflows of Timer1, to which the loop's alarm is exact
HANG_SHOWS = 1000 * MS
UCSR0B, UDRIE = 0xC1, 0x20  # the transmitter wants another byte


@dataclass(frozen=True, slots=True)
class Point:
    """One moment: the phase of the trial that it fell into, and the cycles from it until every output was off."""

    phase: str
    cycles: int


def begin_trial(board: SafetyBoard) -> None:
    """Command a press, for at once or for later, and run until the command is on the line; the host renews its lease."""
    board.session.renew_s = 0.08
    board.command_press(board.draw.choice((0, board.draw.randrange(10, 300))))


def some_time_later(board: SafetyBoard) -> int:
    """A cycle of the trial that has begun or, now and then, soon after it."""
    return board.avr.cycle + board.draw.randrange(board.draw.choice((150, 500, 1300)) * MS)


def strike(board: SafetyBoard) -> None:
    """Begin a trial, and talk until something is to happen."""
    begin_trial(board)
    moment = some_time_later(board)
    while board.avr.cycle < moment:
        board.step(moment)


def silence(draw: random.Random, count: int, *, direct: bool) -> Iterator[Point]:
    """The host falls silent inside a trial. Counted from the end of the last byte that was complete on its line.

    A point after the end of the trial, as the board knows it (the acknowledgement of TRIAL_END was complete), is none.
    """
    with SafetyBoard(draw, direct=direct) as board:
        board.prepare()
        while count:
            begin_trial(board)
            at_its_end = draw.random() < 0.1
            if not at_its_end:
                board.silent_from = some_time_later(board)
            while board.avr.cycle < board.silent_from and board.end_of_trial() is None:
                board.step(board.avr.cycle + 100 * MS)
            if at_its_end:  # the host knows, the board does not know that it does
                board.silent_from = board.avr.cycle + draw.randrange(ACK_BYTES * BYTE_CYCLES)
            while board.session._owes_ack and board.avr.cycle < board.silent_from:
                board.step(board.silent_from)
            if board.end_of_trial() and not board.session._owes_ack and not board.cut_short:
                board.make_ready()
                continue
            yield measured(board)
            count -= 1


def measured(board: SafetyBoard) -> Point:
    """Let the lease lapse; the point, and the board made ready again."""
    silent = board.last_byte
    while board.avr.cycle < silent + LEASE_ENDS:
        board.step(silent + LEASE_ENDS)
    off = last_off(board.outputs, silent)
    assert off is not None, f"still on {LEASE_ENDS // MS} ms after the last byte: {board.outputs}"
    assert_within_maximum(board.outputs)
    board.silent_from = FOREVER
    board.session.renew_s = 0.9
    end = None
    while end is None:
        board.run(20)
        end = board.end_of_trial()
    assert end.verdict in (Verdict.aborted, Verdict.fault) or end.reason == Reason.none, end
    phase = phase_at(board, silent)
    board.make_ready()
    return Point(phase, off - silent)


def pulses(draw: random.Random, count: int) -> Iterator[Point]:
    """The host falls silent after a PULSE, of each output in turn, counted as in `silence`."""
    with SafetyBoard(draw, direct=True) as board:
        board.prepare()
        for n in range(count):
            output = PULSED[n % len(PULSED)]
            ms = board.command_pulse(output)
            board.silent_from = board.avr.cycle + draw.randrange(80 * MS)
            board.run(100)
            (spell,) = (spell for spell in spells(board.outputs) if spell.pin == PINS[output])
            assert spell.off is not None
            assert spell.off - spell.on <= ms * MS + PULSE_LATE, (output, ms)
            assert_within_maximum(board.outputs)
            yield Point("on" if spell.on <= board.last_byte < spell.off else "off", max(0, spell.off - board.last_byte))
            board.make_ready()


# ---------------------------------------------------------------- hangs

LOOP = ("main",)
"""What runs in the loop; link-time optimisation makes one function of it."""

INTERRUPTS = tuple(f"__vector_{n}" for n in (1, 3, 10, 11, 13, 14, 18, 19))
"""Beam B, slow inputs, beam A, the exact moment, overflow, tick, receiver, transmitter."""

# Shows on D13, an input that nothing else drives, that the end of a function has been reached, and stays there.
DDRB5_PORTB5_ON = bytes.fromhex("259a 2d9a")
JUMP_TO_ITSELF = b"\xff\xcf"
NOP = b"\0\0"


@dataclass(frozen=True, slots=True)
class Code:
    """A function of the firmware in flash: where, and its bytes; and what makes it lead nowhere, from wherever it is executed."""

    address: int
    original: bytes

    @property
    def endless(self) -> bytes:
        trap = DDRB5_PORTB5_ON + JUMP_TO_ITSELF
        return NOP * ((len(self.original) - len(trap)) // 2) + trap


def code_of(function: str) -> Code:
    """The function of that name (in the ELF) as it was built."""
    with built.ELF.open("rb") as stream:
        elf = ELFFile(stream)
        text = elf.get_section_by_name(".text")
        symbols = (symbol for part in elf.iter_sections() if isinstance(part, SymbolTableSection) for symbol in part.iter_symbols())
        found = next(symbol for symbol in symbols if symbol.name == function)
        start = found["st_value"]
        return Code(start, text.data()[start - text["sh_addr"] :][: found["st_size"]])


def hang(draw: random.Random, count: int, functions: tuple[str, ...], *, direct: bool) -> Iterator[Point]:
    """A function, of these, is overwritten by an endless loop; counted from the moment at which the AVR is caught in it.

    The watchdog resets the AVR, the next BOOT says so, and with its flash as it was the AVR goes on.
    """
    codes = [code_of(function) for function in functions]
    with SafetyBoard(draw, direct=direct) as board:
        board.prepare()
        while count:
            code = draw.choice(codes)
            strike(board)
            board.avr.poke_flash(code.address, code.endless)
            at = caught(board)
            if at is None:  # nothing led there any more
                board.avr.poke_flash(code.address, code.original)
                board.make_ready()
                continue
            run_to_reset(board)
            board.avr.poke_flash(code.address, code.original)
            off = last_off(board.outputs, at)
            assert off is not None
            if off < board.resets[0][0]:  # with interrupts off nothing counts but the watchdog, which resets
                assert_within_maximum(board.outputs)
            phase = phase_at(board, at)
            board.session = Session()
            boot = board.prepare()
            assert boot.reset_cause & ResetFlag.watchdog
            assert boot.cause in (Cause.watchdog, Cause.max_on), boot
            yield Point(phase, off - at)
            count -= 1


def caught(board: SafetyBoard) -> int | None:
    """The cycle at which the AVR is caught in the trap; None when nothing leads into it within a second."""
    board.resets.clear()
    before, start = len(board.outputs), board.avr.cycle
    while board.avr.cycle < start + HANG_SHOWS:
        board.step(start + HANG_SHOWS)
        for output in board.outputs[before:]:
            if output.pin == SOUND and output.value:
                return output.cycle
        if board.resets:  # it stood on the last instruction already, where nothing shows
            return start
    return None


def run_to_reset(board: SafetyBoard) -> None:
    """Run until the watchdog has reset the AVR, and no further."""
    limit = board.avr.cycle + HANG_SHOWS
    while not board.resets:
        assert board.avr.cycle < limit, "no reset by the watchdog"
        board.step(limit)


# ---------------------------------------------------------------- interlock and STOP


def noise(draw: random.Random, until: int) -> list[tuple[int, int, int]]:
    """Edges of every input in the 2 ms before `until` and in the 50 us after it; all is clear and closed again later."""
    edges = []
    for pin, count, rest in ((BEAM_A, 20, 1), (BEAM_B, 20, 1), (SOUND, 5, 0), (LID, 5, 0)):
        cycles = [until - draw.randrange(2 * MS) for _ in range(count)] + [until + draw.randrange(-200, 800) for _ in range(3)]
        edges += [(cycle, pin, n & 1) for n, cycle in enumerate(sorted(cycles))] + [(until + 2 * MS, pin, rest)]
    return edges


def interlock(draw: random.Random, count: int, *, direct: bool) -> Iterator[Point]:
    """The interlock opens while beams and slow inputs move and both lines of the link are busy; counted from the pin's edge."""
    with SafetyBoard(draw, direct=direct) as board:
        board.prepare()
        for _ in range(count):
            strike(board)
            opened = board.avr.cycle + draw.randrange(3 * MS, 20 * MS)
            board.avr.edges([*noise(draw, opened), (opened, INTERLOCK, 1)])
            while board.avr.cycle < opened + 10 * MS:
                if not board.session._waiting:
                    board.session.send(Echo(draw.randbytes(48)))
                board.step(min(board.avr.cycle + MS, opened + 10 * MS))
            off = last_off(board.outputs, opened)
            assert off is not None
            assert all(spell.on < opened for spell in spells(board.outputs)), "an output went on with the interlock open"
            board.run(100)
            phase = phase_at(board, opened)
            board.avr.edge(board.avr.cycle, INTERLOCK, 0)
            board.run(5)
            board.make_ready()
            yield Point(phase, off - opened)


STATES = ("talking", "garbage", "full", "deaf", "break")


def stops(draw: random.Random, count: int, *, direct: bool) -> Iterator[Point]:
    """STOP in every state that the link may be in; counted from the end of the eighth zero byte (or of the break) at the pin.

    The phase is the state: `talking` (the transmitter is busy), `garbage` (random bytes at wire rate before and after), `full`
    (nothing was acknowledged and the event ring is full), `deaf` (the loop hangs and the receive ring is full), `break`.
    """
    with SafetyBoard(draw, direct=direct) as board:
        board.prepare()
        main = code_of("main")
        for n in range(count):
            if n % 200 == 199:  # before a counter is at its end
                board.avr.reset()
                board.session = Session()
                board.prepare()
            state = draw.choice(("talking", "garbage", "full", "break", draw.choice(("deaf", "garbage", "talking"))))
            strike(board)
            before = lost_edges(board) if state == "full" else 0
            if state == "full":
                fill_events(board)
            elif state == "talking":
                start_talking(board)
            elif state == "deaf":
                board.avr.poke_flash(main.address, main.endless)
                assert caught(board) is not None
            board.mute = True
            stop = stop_by_break(board) if state == "break" else stop_by_zeros(board, state)
            board.run((board.last_byte - board.avr.cycle) / MS + 1)
            off = last_off(board.outputs, stop)
            assert off is not None, state
            assert all(spell.on < stop for spell in spells(board.outputs))
            if state == "deaf":
                run_to_reset(board)
                board.avr.poke_flash(main.address, main.original)
                board.session = Session()
                board.mute = False
                board.prepare()
            else:
                board.mute = False
                board.run(150)
                if state == "full":
                    assert lost_edges(board) > before
                board.make_ready()
            yield Point(state, off - stop)


def stop_by_zeros(board: SafetyBoard, state: str) -> int:
    draw = board.draw
    before = {"garbage": draw.randrange(50, 600), "deaf": draw.randrange(70, 300)}.get(state, 0)
    garbage = bytes(draw.randrange(256) for _ in range(before)) if state == "garbage" else bytes([0x55]) * before
    after = draw.randbytes(200) if state == "garbage" else b""
    board.say(garbage + (b"\x55" if garbage else b"") + bytes(STOP_SEND) + after)
    if state != "full":  # whose edges are still coming
        board.avr.edges(noise(draw, board.eighth_zero))
    return board.eighth_zero


def stop_by_break(board: SafetyBoard) -> int:
    begin = max(board.last_byte, board.avr.cycle)
    board.avr.line_break()
    board.zeros = STOP_RUN
    board.last_byte = begin + BYTE_CYCLES
    board.avr.edges(noise(board.draw, board.last_byte))
    return board.last_byte


def start_talking(board: SafetyBoard) -> None:
    """Have the board answer an ECHO of the greatest length; returns while its transmitter is at it."""
    board.session.send(Echo(bytes(board.draw.randrange(1, 256) for _ in range(48))))
    limit = board.avr.cycle + 60 * MS
    while not board.avr.peek(UCSR0B, 1)[0] & UDRIE or board.avr.cycle < board.last_byte:
        assert board.avr.cycle < limit
        board.step(board.avr.cycle + MS // 5)


def fill_events(board: SafetyBoard) -> None:
    """Hold back every acknowledgement while the beams move, until the board has lost edges for want of room."""
    start = board.avr.cycle
    board.avr.edges([(start + n * MS // 4, pin, n & 1) for n in range(1, 400) for pin in (BEAM_A, BEAM_B)])
    board.mute = True
    board.run(board.draw.randrange(90, 150))


def lost_edges(board: SafetyBoard) -> int:
    """What the board counts of edges and bins that found no room."""
    assert board.ask(GetCounters()) is Result.ok
    return board.wait(Counters).ring_full
