# SPDX-License-Identifier: Apache-2.0
"""Trials on the built firmware, spoiled at a moment that is drawn: what was on then, and when it went off.

The host may fall silent at any cycle, in the middle of a frame too; the toy answers a press, or a run, as a toy may. Every
figure is in AVR cycles.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from rig.twin.avr import FOREVER, Output
from rig.wire.messages import PULSE_MAX_MS, STOP_RUN, Actuated, Boot, ClearFault, Power, Pulse, Result, Set, TrialEnd
from rig.wire.messages import Output as Named
from tests.firmware.board import BEAM_A, BEAM_B, LAUNCH, MS, POWER, ROLLER, SOUND, Board, press

BYTE_CYCLES = 1360  # 10 bits at the 117,647 baud that 16 MHz makes of 115,200

PINS = {
    Named.roller: ROLLER,
    Named.reverse: 4,
    Named.slot1: 5,
    Named.slot2: 6,
    Named.slot3: 7,
    Named.slot4: 9,
    Named.slot5: 10,
    Named.slot6: 11,
    Named.launch: LAUNCH,
    Named.reset: 12,
    Named.power: POWER,
}
OUTPUT_PINS = frozenset(PINS.values())

MAX_ON_MS = {ROLLER: 5200, LAUNCH: 200, 4: 600, 12: 400, **dict.fromkeys((5, 6, 7, 9, 10, 11), 80)}
"""As docs/protocol.md tells them; toy power has none."""

PULSED = [each for each in Named if each is not Named.power]


class SafetyBoard(Board):
    """A board with a toy. `silent_from`: the first cycle of which the host's line says nothing any more."""

    def __init__(self, draw: random.Random, *, direct: bool = False, audit: bool | None = None) -> None:
        super().__init__(audit=audit)
        self.draw = draw
        self.direct = direct
        self.silent_from = FOREVER
        self.cut_short = False  # the last thing said was not said to its end
        self.last_byte = 0  # cycle at which the last byte of the host was complete on the line
        self.zeros = 0  # in a row, up to the last byte
        self.eighth_zero = 0  # cycle at which the last run of eight was complete
        self.fires = True
        self.moves_until = 0  # the toy is still or silent again

    def step(self, until: int) -> None:
        out = self.session.output(self.now) if not self.mute and self.avr.cycle < self.silent_from else b""
        if out:
            self.say(out)
            until = min(until, self._session_wants())
        elif not self.mute and self.avr.cycle < self.silent_from:
            until = min(until, self._session_wants())
        if self.avr.cycle < self.silent_from:
            until = min(until, self.silent_from)
        step = self.avr.run(max(until, self.avr.cycle + 1))
        assert not step.crashed
        assert not step.unmodelled
        self.outputs += step.outputs
        self.resets += step.resets
        for output in step.outputs:
            if output.value and output.pin == (ROLLER if self.direct else LAUNCH):
                self._answer(output.cycle)
        self.received += self.session.receive(step.tx, self.now)

    def _session_wants(self) -> int:
        return int(min(self.session.deadline(), 1e9) * 16e6) + 1

    def say(self, data: bytes) -> None:
        """Put bytes on the line as far as they are complete before the host falls silent."""
        begin = max(self.last_byte, self.avr.cycle)
        whole = min(len(data), max(0, self.silent_from - begin) // BYTE_CYCLES)
        self.avr.write(data[:whole])
        self.cut_short = whole < len(data)
        self._count(data[:whole], begin)

    def _count(self, data: bytes, begin: int) -> None:
        for at, byte in enumerate(data, start=1):
            self.last_byte = begin + at * BYTE_CYCLES
            self.zeros = 0 if byte else self.zeros + 1
            if self.zeros == STOP_RUN:
                self.eighth_zero = self.last_byte

    def _answer(self, pressed: int) -> None:
        """The toy: sound at every press; when it fires, current and cards."""
        draw, avr = self.draw, self.avr
        sound = pressed + draw.randrange(20, 120) * MS
        quiet = sound + draw.randrange(50, 400) * MS
        avr.edges([(sound, SOUND, 1), (quiet, SOUND, 0)])
        self.moves_until = quiet
        if not self.fires:
            return
        start = pressed + draw.randrange(130, 200) * MS
        cards = draw.randrange(0, 5)
        stop = start + (100 + 80 * cards) * MS
        avr.analog(0, [(start, 0.0), (start + MS, 0.3), (stop, 0.3), (stop + MS, 0.0)])
        for card in range(cards):
            at = start + 60 * MS + card * 80 * MS + draw.randrange(5 * MS)
            lag = draw.randrange(10 * MS, 30 * MS)
            avr.edges([(at, BEAM_A, 0), (at + lag, BEAM_B, 0), (at + 45 * MS, BEAM_A, 1), (at + 45 * MS + lag, BEAM_B, 1)])
        self.moves_until = max(quiet, stop + 100 * MS)

    # ------------------------------------------------------------------ one trial after the other

    def prepare(self) -> Boot:
        """A new conversation with a board that was reset: wiring set, nothing latched, toy on in `button`."""
        self.silent_from = FOREVER
        self.received.clear()
        self.outputs.clear()
        self.zeros = 0
        boot = self.connect(nonce=self.draw.randrange(1 << 16))
        assert self.ask(Set(1, int(self.direct))) is Result.ok
        self.make_ready()
        return boot

    def make_ready(self) -> None:
        """After whatever happened: the host speaks again, faults are cleared, the toy is on and has settled."""
        self.silent_from = FOREVER
        while cause := self.status().cause:
            assert self.ask(ClearFault(cause)) is Result.ok
        if not self.direct:
            assert self.ask(Power(1)) is Result.ok
        rest = max((700 if self.direct else 520) * MS, self.moves_until - self.avr.cycle)
        self.run(rest / MS)
        self.received.clear()
        self.outputs = [Output(self.avr.cycle, pin, 1.0) for pin in OUTPUT_PINS if self.is_on(pin)]

    def command_press(self, ahead_ms: float = 0) -> None:
        """Send a PRESS (a run of the roller in `direct`), perhaps for later, and run until its last byte is on the line."""
        draw = self.draw
        self.fires = draw.random() < 0.7
        moment = 0
        if ahead_ms:
            moment = self.status().tick + round(ahead_ms * MS)
            self.received.clear()
        run_ms, duty = (draw.randrange(100, 900), draw.randrange(60, 256)) if self.direct else (0, 0)
        self.session.send(press(draw.randrange(1, 1 << 32), moment, int(self.direct), run_ms, duty))
        self.step(self.avr.cycle + 1)
        while self.avr.cycle < self.last_byte:
            self.step(self.last_byte)

    def command_pulse(self, output: Named) -> int:
        """Send a PULSE and run until its last byte is on the line; its length in ms."""
        ms = self.draw.randrange(1, PULSE_MAX_MS + 1)
        duty = self.draw.randrange(20, 256) if output is Named.roller else 255
        self.session.send(Pulse(int(output), ms, duty))
        self.step(self.avr.cycle + 1)
        while self.avr.cycle < self.last_byte:
            self.step(self.last_byte)
        return ms

    def end_of_trial(self) -> TrialEnd | None:
        """The last TRIAL_END received since `make_ready`."""
        return next((message for message in reversed(self.received) if isinstance(message, TrialEnd)), None)


@dataclass(frozen=True, slots=True)
class Spell:
    """A time for which an output was on; `off` is None while it is."""

    pin: int
    on: int
    off: int | None


def spells(outputs: list[Output]) -> list[Spell]:
    """When each output was on, in the order of switching on; a change of duty ends nothing."""
    found: dict[int, int] = {}
    done: list[Spell] = []
    for output in outputs:
        if output.pin not in OUTPUT_PINS:
            continue
        if output.value and output.pin not in found:
            found[output.pin] = output.cycle
        elif not output.value and output.pin in found:
            done.append(Spell(output.pin, found.pop(output.pin), output.cycle))
    return sorted([*done, *(Spell(pin, on, None) for pin, on in found.items())], key=lambda spell: spell.on)


def assert_within_maximum(outputs: list[Output]) -> None:
    """No output was on for longer than its own maximum."""
    for spell in spells(outputs):
        if spell.off is not None and spell.pin in MAX_ON_MS:
            assert spell.off - spell.on <= MAX_ON_MS[spell.pin] * MS, spell


def last_off(outputs: list[Output], since: int) -> int | None:
    """When everything was off for good after `since`: the cycle; `since` when nothing was on; None when something still is."""
    latest = since
    for spell in spells(outputs):
        if spell.off is None:
            return None
        if spell.off > since:
            latest = max(latest, spell.off)
    return latest


PHASES = ("waiting", "driven", "running", "quiet", "over")


def phase_at(board: SafetyBoard, cycle: int) -> str:
    """Where the trial stood at `cycle`, seen afterwards.

    Before its output; with it; while the toy still moved; while all was quiet; over, and the host's acknowledgement not there yet.
    """
    driver = ROLLER if board.direct else LAUNCH
    driven = next((spell for spell in spells(board.outputs) if spell.pin == driver), None)
    if driven is None or cycle < driven.on:
        return "waiting"
    if driven.off is None or cycle < driven.off:
        return "driven"
    actuated = next(message for message in board.received if isinstance(message, Actuated))
    end = board.end_of_trial()
    if end is not None and cycle >= driven.on + end.tick - actuated.tick:
        return "over"
    return "running" if cycle < board.moves_until else "quiet"
