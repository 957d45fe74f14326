# SPDX-License-Identifier: Apache-2.0
"""A blaster without firmware: coils and button are worked by hand, and what the pins show is judged as the host judges it."""

from __future__ import annotations

from dataclasses import dataclass

from rig.twin.blast.parameters import BlastParameters
from rig.twin.blast.plant import BlastPlant
from rig.twin.blast.truth import Activation
from rig.verdict import Judged, judge
from rig.wire.messages import Reason, Wiring
from tests.rig.twin.watcher import DEFAULTS, MS, Watcher

S = 1000 * MS
PACE = 3 * S
TAME = {"partial": 0, "latch_fault": 0, "double_feed": 0, "jam": 0}
"""Parameters of a blaster without faults."""


@dataclass
class Seen:
    """One activation as seen from outside, and its number in the truth."""

    at: int
    judged: Judged
    edges: list[tuple[int, str, int]]
    bins: list[int]
    number: int


class Blaster(Watcher[BlastPlant]):
    """A blaster that is watched. `now` is a cycle at which the next thing can be done; everything below moves it on."""

    def __init__(self, seed: int = 1, *, cards: int | None = None, power: bool = True, **said: object) -> None:
        """A blaster with a card before each slot, or the first `cards`, and its toy switched on; `said` are its parameters."""
        self.parameters = BlastParameters(**said)  # type: ignore[arg-type]
        super().__init__(BlastPlant(self.parameters, seed))
        self.load(self.parameters.slots if cards is None else cards)
        self.now = MS
        if power:
            self.output("power", 1)
            self.now += 1000 * MS

    @property
    def truth(self) -> list[Activation]:
        return self.plant.truth()

    @property
    def inside(self) -> list[int]:
        """Slots that hold a card."""
        return sorted(self.plant.ahead.inside)

    @property
    def waiting(self) -> list[int]:
        """Slots with a card in their loader."""
        return sorted(self.plant.ahead.waiting)

    def load(self, cards: int) -> None:
        self.plant.load(getattr(self, "now", 0), cards)

    def output(self, signal: str, value: float, after_ms: float = 0) -> None:
        """An output changes, so many ms after now."""
        at = self.now + round(after_ms * MS)
        self.take(at, self.plant.output(at, signal, value))

    def insert(self, slot: int, *, at: int | None = None, hold_ms: float = 40) -> Seen:
        """Push the card before `slot` in, as the firmware does."""
        return self._activate(f"slot{slot}", "insert", at, hold_ms)

    def reset(self, *, at: int | None = None, hold_ms: float = 120) -> Seen:
        """Press the reset button, as the firmware does."""
        return self._activate("reset", "reset", at, hold_ms)

    def reload(self, cards: int | None = None) -> int:
        """Empty all by hand and fill the loaders; how many cards were there."""
        left, plan = self.plant.take_out(self.now)
        self.take(self.now, plan)
        self.load(self.parameters.slots if cards is None else cards)
        return left

    def clear_mouth(self) -> int:
        cards, plan = self.plant.clear_mouth(self.now)
        self.take(self.now, plan)
        return cards

    def _activate(self, signal: str, kind: str, at: int | None, hold_ms: float) -> Seen:
        at = self.now if at is None else at
        self.now = at
        self.forget(at)
        self.output(signal, 1)
        self.output(signal, 0, hold_ms)
        number = len(self.truth) - 1
        count = max(self.plant.idle_after() - at, 0) // (10 * MS) + 40
        bins, edges = self.bins(at, 700, count), self.named(at)
        judged = judge(
            drive=Wiring.button,
            actuated_tick=at,
            edges=edges,
            bins=bins,
            hopper=0,
            settings=DEFAULTS,
            reason=Reason.none,
            kind=kind,
            loaded=self.truth[number].loaded,
        )
        self.now = max(at + PACE, self.plant.idle_after() + 500 * MS)
        return Seen(at, judged, edges, bins, number)


def moments(seen: Seen, name: str) -> list[tuple[float, int]]:
    """Edges of `name` as (ms since actuation, level)."""
    return [((cycle - seen.at) / MS, level) for cycle, channel, level in seen.edges if channel == name]
