# SPDX-License-Identifier: Apache-2.0
"""Watches the plant as the firmware would, without firmware: the pins' edges, and current and voltage in 10 ms bins.

The firmware's tick is not in step with the actuation, so the sampling begins at a phase of its own in every trial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rig.twin.avr import FOREVER
from rig.twin.roller.plant import RollerPlant
from rig.twin.roller.truth import Activation
from rig.verdict import Judged, judge
from rig.wire.messages import Reason, Wiring
from tests.rig.twin.watcher import DEFAULTS, MS, Watcher

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


class Observer(Watcher[RollerPlant]):
    """A roller launcher that is watched."""

    def __init__(self, plant: RollerPlant, seed: int = 0) -> None:
        super().__init__(plant)
        self._generator = np.random.default_rng(seed)

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
        edges = self.named(at)
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
    from rig.twin.roller.parameters import RollerParameters

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
    left, _ = plant.take_out(at + MS)
    plant.load(at + 2 * MS, cards)
    observer.take(at + 3 * MS, plant.close_lid(at + 3 * MS))
    return left
