# SPDX-License-Identifier: Apache-2.0
"""Every output and sensor of a bench, exercised one after the other at safe levels: for `launchrig selftest`.

Each step says what it did, what it expects and what it saw. An output is on for some 40 ms and read back from the pins
while it is, and again after; that the guard refuses what it must is exercised, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from rig.errors import OperatorNeededError
from rig.operator import Sensor
from rig.selfcheck import TRIAL, Bench
from rig.verdict import current_uA
from rig.wire.messages import (
    PULSE_MAX_MS,
    STOP_SEND,
    TICK_HZ,
    Cause,
    Channel,
    Output,
    Power,
    Press,
    Pulse,
    Reason,
    Result,
    Verdict,
    Wiring,
)

PULSE_MS = 40
FULL = 255
ROLLER_DUTY = 20  # the least that the guard allows, of 255
RUN_MS, RUN_DUTY = 100, 64  # of the roller in wiring `direct`: enough to be measured, too little to move a card
REST_S = 0.300  # longer than any output's least rest
ALIVE_A = 0.020
TRIES = 5  # of what must be quick, on a link that is not
HEARD_S = 0.2  # until an edge that came has been told


class Outcome(StrEnum):
    """How a step came out."""

    ok = "ok"
    fail = "fail"
    skipped = "skipped"


@dataclass(frozen=True, slots=True)
class Row:
    """One step: what was done, what is expected of it, what was seen."""

    name: str
    did: str
    expects: str
    saw: str
    outcome: Outcome


Step = Callable[[], Iterator[Row]]


def row(name: str, did: str, expects: str, saw: str, good: bool) -> Row:
    """A step that was carried out."""
    return Row(name, did, expects, saw, Outcome.ok if good else Outcome.fail)


def outputs_of(bits: int) -> str:
    """The outputs that STATUS tells as on, in words."""
    return ", ".join(output.name for output in Output if bits >> output & 1) or "all off"


def _late(begin: int, tick: int, within_ms: int) -> bool:
    """Whether `tick` may be more than `within_ms` after something that came after `begin`; the board counts 2 ms at a time."""
    return tick - begin > (within_ms - 4) * TICK_HZ // 1000


class Exercise:
    """A bench being exercised. `steps` runs them all; what is on at its end, whoever runs it switches off."""

    def __init__(self, bench: Bench, drive: Wiring, *, press: bool) -> None:
        """`press`: press the toy's button, too, by which cards may fly."""
        self._bench = bench
        self._board = bench.board
        self._drive = drive
        self._press = press
        self._settings = self._board.settings()

    def steps(self) -> Iterator[Row]:
        """Every step in order. Raises a `RigError` when link or board fail."""
        self._bench.serve(HEARD_S)
        yield from self._at_rest()
        closed = self._level(Channel.interlock)
        if not closed:
            yield Row("outputs", "nothing", "the interlock closed", "it is open", Outcome.skipped)
        else:
            yield self._clear()
            if self._settings["wiring"] != self._drive:
                self._board.set("wiring", self._drive)
            for step in (self._pulses, self._rules, self._power, self._drives):
                yield from step()
        for sensor in ("beam_a", "beam_b"):
            yield from self._beam(sensor)
        yield from self._lid()
        yield from self._interlock()
        if closed:
            yield from self._stop()

    # ------------------------------------------------------------------ at rest

    def _level(self, channel: Channel) -> bool:
        return bool(self._board.status().inputs >> channel & 1)

    def _at_rest(self) -> Iterator[Row]:
        status = self._board.status()
        rest = {Channel.interlock: 1, Channel.lid: 1, Channel.beam_a: 0, Channel.beam_b: 0, Channel.sound: 0}
        words = {
            Channel.interlock: ("open", "closed"),
            Channel.lid: ("open", "closed"),
            Channel.beam_a: ("clear", "blocked"),
            Channel.beam_b: ("clear", "blocked"),
            Channel.sound: ("quiet", "sounding"),
        }
        for channel, level in rest.items():
            now = status.inputs >> channel & 1
            yield row(f"rest.{channel.name}", "read at rest", words[channel][level], words[channel][now], now == level)
        yield row("rest.outputs", "read at rest", "all off", outputs_of(status.outputs), not status.outputs)

    def _clear(self) -> Row:
        """Clear what is latched, since nothing goes on before."""
        cleared = []
        while cause := Cause(self._board.status().cause):
            self._board.clear_fault(cause)
            cleared.append(cause.name)
        saw = f"cleared {', '.join(cleared)}" if cleared else "none latched"
        return row("fault", "cleared what was latched", "no fault left", saw, True)

    # ------------------------------------------------------------------ outputs

    def _pulses(self) -> Iterator[Row]:
        for output in Output:
            if output is not Output.power:
                yield self._pulse(output, ROLLER_DUTY if output is Output.roller else FULL)

    def _pulse(self, output: Output, duty: int) -> Row:
        """One output on for a moment, read back meanwhile and after; tried again where the link was too slow for that."""
        board = self._board
        did = f"on for {PULSE_MS} ms" + (f" at {duty}/{FULL}" if duty != FULL else "")
        expects = f"{output.name}, then all off"
        for _ in range(TRIES):
            self._bench.serve(REST_S)
            begin = board.status().tick
            result, _ = board.command(Pulse(output, PULSE_MS, duty))
            during = board.status()
            self._bench.serve((PULSE_MS + 20) / 1000)
            after = board.status().outputs
            if result is not Result.ok:
                return row(f"output.{output.name}", did, expects, f"the board answers {result.name}", False)
            good = during.outputs == 1 << output and not after
            if good or not _late(begin, during.tick, PULSE_MS):
                saw = f"{outputs_of(during.outputs)}, then {outputs_of(after)}"
                return row(f"output.{output.name}", did, expects, saw, good)
        return Row(f"output.{output.name}", did, expects, "the link is too slow to read it back meanwhile", Outcome.skipped)

    def _refused(self, name: str, command: Pulse, what: str, expected: Result) -> Row:
        """A pulse that must be refused, and must not show at its pin."""
        result, _ = self._board.command(command)
        on = self._board.status().outputs & 1 << command.output
        expects = f"{expected.name}, {Output(command.output).name} off"
        saw = f"{result.name}, {Output(command.output).name} {'on' if on else 'off'}"
        return row(name, f"asked for {what}", expects, saw, result is expected and not on)

    def _refused_soon(
        self, name: str, first: Pulse, wait_s: float, command: Pulse, what: str, expected: Result, within_ms: int
    ) -> Row:
        """As `_refused`, `wait_s` after `first` and within `within_ms` of it; tried again where the link was too slow for that."""
        board = self._board
        for _ in range(TRIES):
            self._bench.serve(REST_S)
            begin = board.status().tick
            board.demand(first)
            self._bench.serve(wait_s)
            found = self._refused(name, command, what, expected)
            if found.outcome is Outcome.ok or not _late(begin, board.status().tick, within_ms):
                return found
        return Row(name, found.did, found.expects, f"the link is too slow to ask within {within_ms} ms", Outcome.skipped)

    def _rules(self) -> Iterator[Row]:
        """What the guard and the board must refuse."""
        roller = Pulse(Output.roller, PULSE_MS, ROLLER_DUTY)
        reverse, slot2 = (Pulse(output, PULSE_MS, FULL) for output in (Output.reverse, Output.slot2))
        slot1 = Pulse(Output.slot1, PULSE_MAX_MS, FULL)
        yield self._refused_soon(
            "rule.reverse",
            roller,
            (PULSE_MS + 20) / 1000,
            reverse,
            "reverse within 100 ms of the roller",
            Result.refused,
            PULSE_MS + 100,
        )
        yield self._refused_soon(
            "rule.one_at_a_time", slot1, 0.0, slot2, "a second coil while one is on", Result.busy, PULSE_MAX_MS
        )
        yield self._refused_soon(
            "rule.rest", slot1, (PULSE_MAX_MS + 20) / 1000, slot1, "the same coil within 200 ms", Result.refused, PULSE_MAX_MS + 200
        )
        self._bench.serve(REST_S)
        duty, long = Pulse(Output.roller, PULSE_MS, ROLLER_DUTY - 1), Pulse(Output.slot1, PULSE_MAX_MS + 1, FULL)
        power = Pulse(Output.power, PULSE_MS, FULL)
        yield self._refused("rule.duty", duty, "the roller below its least duty", Result.refused)
        yield self._refused("rule.time", long, f"more than {PULSE_MAX_MS} ms", Result.bad_value)
        yield self._refused("rule.power", power, "toy power for a moment", Result.bad_value)

    def _power(self) -> Iterator[Row]:
        board = self._board
        board.demand(Power(1))
        self._bench.serve(0.1)
        during = board.status().outputs
        board.demand(Power(0))
        after = board.status().outputs
        saw = f"{outputs_of(during)}, then {outputs_of(after)}"
        yield row("output.power", "toy power on for 100 ms", "power, then all off", saw, during == 1 << Output.power and not after)

    def _drives(self) -> Iterator[Row]:
        """The roller under current: by the rig's bridge, or by the toy when a press was asked for."""
        if self._drive is Wiring.direct:
            yield self._run()
        elif self._press:
            yield self._press_button()

    def _run(self) -> Row:
        end = self._bench.trial(Press(TRIAL, 0, 0, Wiring.direct, 0, 0, RUN_MS, RUN_DUTY))
        most = self._settings["stall_mA"] / 1000
        peak = max(map(current_uA, self._bench.heard.bins), default=0) / 1e6
        saw = (
            f"{peak * 1000:.0f} mA"
            if self._bench.heard.bins
            else f"no sample: {Verdict(end.verdict).name}, {Reason(end.reason).name}"
        )
        good = ALIVE_A < peak < most
        expects = f"more than {ALIVE_A * 1000:.0f} and less than {most * 1000:.0f} mA"
        return row("drive.roller", f"driven for {RUN_MS} ms at {RUN_DUTY}/{FULL}", expects, saw, good)

    def _press_button(self) -> Row:
        self._board.demand(Power(1))
        self._bench.serve(self._settings["settle_ms"] / 1000 + 1.0)
        end = self._bench.trial(Press(TRIAL, 0, 0, Wiring.button, 0, 0, 0, FULL))
        self._board.demand(Power(0))
        saw = f"{'accepted' if end.accepted else 'not accepted'}, {Verdict(end.verdict).name}"
        return row("drive.press", "pressed the toy's button once", "the toy sounds: accepted", saw, bool(end.accepted))

    # ------------------------------------------------------------------ sensors

    def _worked(self, sensor: Sensor) -> list[tuple[str, int]] | str:
        """The edges that came while a person worked `sensor`; or why nobody did."""
        self._bench.heard.clear()
        try:
            self._bench.rig.operator.work(sensor, self._bench.serve)
        except OperatorNeededError as error:
            return str(error)
        self._bench.serve(HEARD_S)
        return list(self._bench.heard.edges)

    def _sensed(self, sensor: Sensor, did: str, expects: str, words: tuple[str, str], edges: list[tuple[str, int]] | str) -> Row:
        """Whether `sensor` went to the level it has not at rest, and back."""
        name = f"sensor.{sensor}"
        if isinstance(edges, str):
            return Row(name, "nothing", expects, edges, Outcome.skipped)
        levels = [level for channel, level in edges if channel == sensor]
        away = 1 if sensor.startswith("beam") else 0
        good = len(levels) >= 2 and levels[0] == away and levels[-1] != away
        seen = [words[level] for level in levels]
        shown = seen if len(seen) <= 4 else [*seen[:2], f"... {len(seen)} edges ...", seen[-1]]
        return row(name, did, expects, ", ".join(shown) or "nothing", good)

    def _beam(self, sensor: Sensor) -> Iterator[Row]:
        yield self._sensed(sensor, "a card passed by hand", "blocked, clear", ("clear", "blocked"), self._worked(sensor))

    def _lid(self) -> Iterator[Row]:
        """The lid; with its power on the toy confirms the closing with a tone."""
        listens = self._drive is Wiring.button and self._level(Channel.interlock) and not self._board.status().cause
        if listens:
            self._board.demand(Power(1))
            self._bench.serve(self._settings["settle_ms"] / 1000)
        edges = self._worked("lid")
        yield self._sensed("lid", "opened and closed by hand", "open, closed", ("open", "closed"), edges)
        if not listens:
            return
        self._board.demand(Power(0))
        if isinstance(edges, str):
            yield Row("sensor.sound", "nothing", "a tone as the lid closes", edges, Outcome.skipped)
            return
        levels = [level for channel, level in edges if channel == "sound"]
        saw = "a tone" if 1 in levels else "nothing"
        yield row("sensor.sound", "closed the lid with toy power on", "a tone as the lid closes", saw, 1 in levels)

    def _interlock(self) -> Iterator[Row]:
        """Opened with toy power on, which it must take away."""
        powered = self._level(Channel.interlock) and not self._board.status().cause
        if powered:
            self._board.demand(Power(1))
        edges = self._worked("interlock")
        yield self._sensed("interlock", "opened and closed by hand", "open, closed", ("open", "closed"), edges)
        status = self._board.status()
        if isinstance(edges, str):
            if powered:
                self._board.demand(Power(0))
            return
        saw = f"{outputs_of(status.outputs)}, {Cause(status.cause).name} latched"
        good = not status.outputs and status.cause == Cause.interlock_open
        if powered:
            yield row("rule.interlock", "opened it with toy power on", "all off, interlock_open latched", saw, good)
        if status.cause == Cause.interlock_open and status.inputs >> Channel.interlock & 1:
            self._board.clear_fault(Cause.interlock_open)

    # ------------------------------------------------------------------ STOP

    def _stop(self) -> Iterator[Row]:
        board = self._board
        cause = Cause(board.status().cause)
        if cause:
            yield Row("stop", "nothing", "no fault latched before", f"{cause.name} latched", Outcome.skipped)
            return
        board.demand(Power(1))
        before = board.status().outputs
        self._bench.link.write(bytes(STOP_SEND))
        self._bench.serve(HEARD_S)
        status = board.status()
        saw = f"{outputs_of(status.outputs)}, {Cause(status.cause).name} latched"
        good = bool(before) and not status.outputs and status.cause == Cause.stop_received
        yield row("stop", "sent STOP with toy power on", "all off, stop_received latched", saw, good)
        yield self._refused(
            "rule.latched", Pulse(Output.launch, PULSE_MS, FULL), "an output while a fault is latched", Result.refused
        )
        board.clear_fault(Cause.stop_received)
        left = Cause(board.status().cause)
        yield row("stop.clear", "cleared the fault", "none latched", f"{left.name} latched", left is Cause.none)
