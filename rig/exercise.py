# SPDX-License-Identifier: Apache-2.0
"""Every output and sensor of a bench, exercised one after the other at safe levels: for `launchrig selftest`.

Each step says what it did, what it expects and what it saw. An output is on for some 40 ms and read back from the pins
while it is, and again after; that the guard refuses what it must is exercised, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rig.errors import OperatorNeededError
from rig.operator import Sensor
from rig.selfcheck import TRIAL, Bench
from rig.verdict import current_uA, pack_uV
from rig.wire.messages import (
    STOP_SEND,
    TICK_HZ,
    Cause,
    Channel,
    Launcher,
    Output,
    Power,
    Press,
    Pulse,
    Reason,
    Reset,
    Result,
    TrialEnd,
    Verdict,
    Wiring,
)
from rig.wired import FULL, PULSE_MS, ROLLER_DUTY, WIRED, Rule

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


WORDS = {
    Channel.interlock: ("open", "closed"),
    Channel.lid: ("open", "closed"),
    Channel.beam_a: ("clear", "blocked"),
    Channel.beam_b: ("clear", "blocked"),
    Channel.sound: ("quiet", "sounding"),
}
"""What the levels of each input are called."""


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
    """A bench being exercised. `steps` runs them all; what is on at its end, whoever runs it switches off.

    slots: that the board is set up for, whatever launcher that is.
    """

    def __init__(self, bench: Bench, drive: Wiring, *, press: bool) -> None:
        """What is there to exercise the board tells. `press`: press the toy's button, too, by which cards may fly."""
        self._bench = bench
        self._board = bench.board
        self._drive = drive
        self._press = press
        self._settings = self._board.settings()
        self.slots = self._settings["slots"]
        self._launcher = Launcher(self._settings["launcher"])
        self._wired = WIRED[self._launcher]

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
        if Channel.lid in self._wired.rest:
            yield from self._lid()
        yield from self._interlock()
        if closed:
            yield from self._stop()

    # ------------------------------------------------------------------ at rest

    def _level(self, channel: Channel) -> bool:
        return bool(self._board.status().inputs >> channel & 1)

    def _at_rest(self) -> Iterator[Row]:
        status = self._board.status()
        for channel, level in self._wired.rest.items():
            now, words = status.inputs >> channel & 1, WORDS[channel]
            yield row(f"rest.{channel.name}", "read at rest", words[level], words[now], now == level)
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
        for output in self._wired.outputs(self.slots):
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

    def _refused(self, rule: Rule) -> Row:
        """A pulse that must be refused, and must not show at its pin."""
        output = Output(rule.command.output)
        result, _ = self._board.command(rule.command)
        on = self._board.status().outputs & 1 << output
        expects = f"{rule.answer.name}, {output.name} off"
        saw = f"{result.name}, {output.name} {'on' if on else 'off'}"
        return row(rule.name, f"asked for {rule.what}", expects, saw, result is rule.answer and not on)

    def _refused_after(self, rule: Rule, first: Pulse) -> Row:
        """As `_refused`, soon enough after `first`; tried again where the link was too slow for that."""
        board = self._board
        for _ in range(TRIES):
            self._bench.serve(REST_S)
            begin = board.status().tick
            board.demand(first)
            self._bench.serve(rule.wait_s)
            found = self._refused(rule)
            if found.outcome is Outcome.ok or not _late(begin, board.status().tick, rule.within_ms):
                return found
        slow = f"the link is too slow to ask within {rule.within_ms} ms"
        return Row(rule.name, found.did, found.expects, slow, Outcome.skipped)

    def _rules(self) -> Iterator[Row]:
        """What the guard and the board must refuse."""
        for rule in self._wired.rules:
            if rule.first:
                yield self._refused_after(rule, rule.first)
            else:
                self._bench.serve(REST_S)
                yield self._refused(rule)

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
        """Under current: the roller by the rig's bridge, or what the toy moves when one of its buttons is pressed."""
        if self._drive is Wiring.button and not self._press:
            return
        drives = {
            (Launcher.roller, Wiring.direct): self._run,
            (Launcher.roller, Wiring.button): self._press_launch,
            (Launcher.blast, Wiring.button): self._press_reset,
        }
        yield from drives[self._launcher, self._drive]()

    def _peak_A(self) -> float:
        """The highest current in the last trial; 0 when nothing was sampled."""
        return max(map(current_uA, self._bench.heard.bins), default=0) / 1e6

    def _run(self) -> Iterator[Row]:
        end = self._bench.trial(Press(TRIAL, 0, 0, Wiring.direct, 0, 0, RUN_MS, RUN_DUTY))
        most, peak = self._settings["stall_mA"] / 1000, self._peak_A()
        saw = (
            f"{peak * 1000:.0f} mA"
            if self._bench.heard.bins
            else f"no sample: {Verdict(end.verdict).name}, {Reason(end.reason).name}"
        )
        good = ALIVE_A < peak < most
        expects = f"more than {ALIVE_A * 1000:.0f} and less than {most * 1000:.0f} mA"
        yield row("drive.roller", f"driven for {RUN_MS} ms at {RUN_DUTY}/{FULL}", expects, saw, good)

    def _toy_on(self) -> None:
        """Toy power, and time for the toy to begin."""
        self._board.demand(Power(1))
        self._bench.serve(self._settings["settle_ms"] / 1000 + 1.0)

    def _press_launch(self) -> Iterator[Row]:
        self._toy_on()
        end = self._bench.trial(Press(TRIAL, 0, 0, Wiring.button, 0, 0, 0, FULL))
        self._board.demand(Power(0))
        yield self._heard("drive.press", "pressed the toy's button once", end)

    def _press_reset(self) -> Iterator[Row]:
        """The reset button, and once more when that has only woken the toy: awake it drives its latch."""
        self._toy_on()
        end = self._bench.trial(Reset(TRIAL, 0, 0, 0))
        yield self._heard("drive.reset", "pressed the toy's reset button", end)
        did = "watched the pack's current meanwhile"
        if end.verdict == Verdict.held:
            self._bench.serve(REST_S)
            end = self._bench.trial(Reset(TRIAL, 0, 0, 0))
            did = "pressed it again, since the toy was asleep"
        self._board.demand(Power(0))
        expects = f"the latch is driven: at least {self._settings['release_mA']} mA"
        saw = f"{self._peak_A() * 1000:.0f} mA at most, latch driven for {end.roller_ms} ms"
        if self._bench.heard.bins:
            saw += f", pack at {min(map(pack_uV, self._bench.heard.bins)) / 1e6:.2f} V at least"
        yield row("drive.latch", did, expects, saw, end.roller_ms > 0)

    def _heard(self, name: str, did: str, end: TrialEnd) -> Row:
        """Whether the toy answered a press with its sound."""
        saw = f"{'accepted' if end.accepted else 'not accepted'}, {Verdict(end.verdict).name}"
        return row(name, did, "the toy sounds: accepted", saw, bool(end.accepted))

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
        # Should it not be refused, slot 1 does least: at the roller nothing hangs on it, at the blaster no card waits.
        push = Pulse(Output.slot1, PULSE_MS, FULL)
        yield self._refused(Rule("rule.latched", push, "an output while a fault is latched", Result.refused))
        board.clear_fault(Cause.stop_received)
        left = Cause(board.status().cause)
        yield row("stop.clear", "cleared the fault", "none latched", f"{left.name} latched", left is Cause.none)
