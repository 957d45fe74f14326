# SPDX-License-Identifier: Apache-2.0
"""Merges the plans of a plant as the bench does, and keeps what its pins then show."""

from __future__ import annotations

from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.plan import Plan
from rig.twin.twins import TwinPlant
from rig.wire.messages import CURRENT_UA_PER_COUNT, SETTINGS, VOLTAGE_UV_PER_COUNT

MS = CYCLE_HZ // 1000
DEFAULTS = {name: setting.default for name, setting in SETTINGS.items()}
NAMES = {8: "beam_a", 2: "beam_b", 13: "sound", 17: "interlock", 18: "lid"}
ACTIVE_LOW = {8, 2, 17, 18}

P = TypeVar("P", bound=TwinPlant)


class Watcher(Generic[P]):
    """A plant, and everything that it has planned so far."""

    def __init__(self, plant: P) -> None:
        self.plant = plant
        self.edges: list[tuple[int, int, int]] = []
        self.analog: dict[int, list[tuple[int, float]]] = {0: [], 1: []}
        self.plans: list[tuple[int, Plan]] = []
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

    def named(self, at: int) -> list[tuple[int, str, int]]:
        """Edges from `at` on as the wire tells them: level 1 is the named state."""
        return [(cycle, NAMES[pin], level ^ (pin in ACTIVE_LOW)) for cycle, pin, level in self.edges if cycle >= at]

    def bins(self, act: int, phase: int, count: int, off: int = FOREVER, direct: bool = False) -> list[int]:
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
