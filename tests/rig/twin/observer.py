# SPDX-License-Identifier: Apache-2.0
"""Watches the plant as the firmware would, without firmware: the pins' edges, and current and voltage in 10 ms bins.

The firmware's tick is not in step with the actuation, so the sampling begins at a phase of its own in every trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.plant import Plan, RollerPlant
from rig.twin.truth import Activation
from rig.verdict import Judged, judge
from rig.wire.messages import CURRENT_UA_PER_COUNT, SETTINGS, VOLTAGE_UV_PER_COUNT, Reason, Wiring

MS = CYCLE_HZ // 1000
DEFAULTS = {name: setting.default for name, setting in SETTINGS.items()}
NAMES = {8: "beam_a", 2: "beam_b", 13: "sound", 17: "interlock", 18: "lid"}
ACTIVE_LOW = {8, 2, 17, 18}
QUIET_MS = DEFAULTS["quiet_ms"]
JAM_BINS = DEFAULTS["jam_ms"] // 10
STALL_BINS = DEFAULTS["stall_ms"] // 10 + 1


@dataclass
class Watched:
    """One trial as seen from outside, with what the plant says of it. off: cycle at which the roller's drive went off."""

    at: int
    judged: Judged
    truth: Activation | None
    edges: list[tuple[int, int, int]]
    off: int


class Observer:
    """A plant, and everything that it has planned so far, merged as the bench merges it."""

    def __init__(self, plant: RollerPlant, seed: int = 0) -> None:
        self.plant = plant
        self.edges: list[tuple[int, int, int]] = []
        self.analog: dict[int, list[tuple[int, float]]] = {0: [], 1: []}
        self.plans: list[tuple[int, Plan]] = []
        self._generator = np.random.default_rng(seed)
        self.take(0, plant.start(0))

    def take(self, cycle: int, plan: Plan | None) -> None:
        """A new plan replaces whatever was planned from `cycle` on."""
        if plan is None:
            return
        self.plans.append((cycle, plan))
        assert plan.edges == sorted(plan.edges)
        assert all(edge[0] >= cycle for edge in plan.edges)
        self.edges = [edge for edge in self.edges if edge[0] < cycle] + plan.edges
        for channel, points in plan.analog.items():
            assert points[0][0] == cycle
            assert all(a[0] < b[0] for a, b in pairwise(points))
            self.analog[channel] = [point for point in self.analog[channel] if point[0] < cycle] + points

    def forget(self, cycle: int) -> None:
        """Drop what is older than `cycle`, but for the last value."""
        self.edges = [edge for edge in self.edges if edge[0] >= cycle]
        for channel, points in self.analog.items():
            older = [point for point in points if point[0] < cycle]
            self.analog[channel] = older[-1:] + [point for point in points if point[0] >= cycle]

    def volts(self, channel: int, at: np.ndarray) -> np.ndarray:
        cycles, volts = zip(*self.analog[channel], strict=True)
        return np.interp(at, cycles, volts)

    def bins(self, act: int, phase: int, count: int, off: int, direct: bool) -> list[int]:
        starts = act + phase + np.arange(count) * 10 * MS
        current = sum((self.volts(0, starts + ms * MS) * 1e6 / CURRENT_UA_PER_COUNT).astype(np.int64) for ms in (0, 4, 6, 8))
        voltage = (self.volts(1, starts + 2 * MS) * 2e6 / VOLTAGE_UV_PER_COUNT).astype(np.int64)
        closes = starts + 10 * MS
        beam = [(cycle, 1 - level) for cycle, pin, level in self.edges if pin == 8]
        blocked = np.zeros(count, dtype=np.int64)
        for cycle, level in beam:
            blocked[closes > cycle] = level
        for cycle, _ in beam:  # a bin with an edge in it was not blocked throughout
            blocked[(starts <= cycle) & (cycle < closes)] = 0
        roller = (closes <= off) if direct else np.zeros(count, dtype=np.int64)
        return (current | voltage << 12 | blocked << 22 | roller.astype(np.int64) << 23).tolist()

    def press(self, at: int, *, hold_ms: int = 120) -> Watched:
        """Press the toy's button at cycle `at`."""
        self.forget(at)
        before = len(self.plant.truth())
        self.take(at, self.plant.output(at, "launch", 1.0))
        self.take(at + hold_ms * MS, self.plant.output(at + hold_ms * MS, "launch", 0.0))
        return self._judge(at, Wiring.button, before, FOREVER)

    def run(self, at: int, run_ms: int, duty: float = 1.0) -> Watched:
        """Run the roller from cycle `at` for `run_ms`, or until a bin closes that makes it a jam."""
        self.forget(at)
        before = len(self.plant.truth())
        self.take(at, self.plant.output(at, "roller", duty))
        phase = int(self._generator.integers(0, 2 * MS))
        off = at + run_ms * MS + 100
        bins = self.bins(at, phase, run_ms // 10 + 1, off, True)
        wedged = stalled = 0
        for i, each in enumerate(bins):
            close = at + phase + (i + 1) * 10 * MS
            wedged = wedged + 1 if each >> 22 == 3 else 0
            stalled = stalled + 1 if (each & 0xFFF) * 1222 >= DEFAULTS["stall_mA"] * 1000 else 0
            if close <= off and (wedged >= JAM_BINS or stalled >= STALL_BINS):
                off = close + 200
                break
        self.take(off, self.plant.output(off, "roller", 0.0))
        return self._judge(at, Wiring.direct, before, off, phase)

    def _judge(self, at: int, drive: Wiring, before: int, off: int, phase: int | None = None) -> Watched:
        records = self.plant.truth()[before:]
        phase = int(self._generator.integers(0, 2 * MS)) if phase is None else phase
        count = max(self.plant.idle_after() - at, 0) // (10 * MS) + 30
        bins = self.bins(at, phase, count, off, drive is Wiring.direct)
        edges = [(cycle, NAMES[pin], level ^ (pin in ACTIVE_LOW)) for cycle, pin, level in self.edges if cycle >= at]
        hopper = records[0].hopper if records else 0
        judged = judge(
            drive=drive,
            actuated_tick=at,
            edges=edges,
            bins=bins,
            hopper=hopper,
            settings=DEFAULTS,
            reason=Reason.none,
        )
        seen = [edge for edge in self.edges if edge[0] >= at]
        return Watched(at, judged, records[0] if records else None, seen, self.plant._off)


def loaded(parameters: object, seed: int, cards: int = 90, *, power: bool = True) -> tuple[Observer, int]:
    """A plant with cards in it, its toy switched on for long enough, and a cycle at which a trial can begin."""
    from rig.twin.parameters import RollerParameters

    assert isinstance(parameters, RollerParameters)
    observer = Observer(RollerPlant(parameters, seed), seed)
    plant = observer.plant
    observer.take(MS, plant.open_lid(MS))
    plant.take_out(2 * MS)
    plant.load(3 * MS, cards)
    observer.take(4 * MS, plant.close_lid(4 * MS))
    if power:
        observer.take(5 * MS, plant.output(5 * MS, "power", 1.0))
    return observer, 1000 * MS


def refill_if_low(observer: Observer, at: int, cards: int = 90, low: int = 15) -> None:
    """Reload as an operator does."""
    if len(observer.plant._cards) - observer.plant._end.card < low:
        reload(observer, at, cards)


def reload(observer: Observer, at: int, cards: int) -> int:
    """Open the lid, take out, put in, close the lid; returns what was left."""
    plant = observer.plant
    observer.take(at, plant.open_lid(at))
    left = plant.take_out(at + MS)
    plant.load(at + 2 * MS, cards)
    observer.take(at + 3 * MS, plant.close_lid(at + 3 * MS))
    return left
