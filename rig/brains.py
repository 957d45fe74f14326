# SPDX-License-Identifier: Apache-2.0
"""How a launcher decides whether a press fires, and for how long the roller then runs.

Nobody knows the real toy's rule, so there are three (`docs/facts.md#published-claims`). The twin's toy uses them, and so does
the host in `direct` drive, with a seed of its own. A brain owns no randomness: whoever asks brings the uniforms.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

Runs = tuple[tuple[int, float], ...]
"""Choices of run time: (milliseconds, weight)."""

P_FIRE = 0.354
"""Fires per press. 34 fires in 96 presses of a published list [MEAS on a PUB claim, its truth UNV]."""

HAZARD = (0.21, 0.11, 0.54, 1.0)
"""Probability of a fire at the 1st, 2nd, 3rd, 4th press since the last one, from the gaps of the same list [UNV]."""

SEQUENCE = (
    *(2, 6, 9, 13, 17, 21, 24, 26, 27, 29, 32, 36, 37, 41, 44, 47, 48),
    *(51, 54, 57, 58, 62, 66, 69, 72, 73, 77, 81, 84, 85, 88, 92, 93, 96),
)
"""Presses that fire, counted from power-on or lid close, as one old encyclopedia page claims [PUB, its truth UNV]."""

SEQUENCE_LENGTH = 96
"""Presses after which the sequence begins again; the page says nothing of a 97th press [UNV]."""

RUNS: Runs = (
    *((145, 6.0), (225, 14.0), (305, 20.0), (385, 20.0), (465, 15.0)),
    *((545, 10.0), (625, 6.0), (705, 4.0), (785, 3.0), (865, 2.0)),
)
"""About 1 to 10 cards, about 4 in the mean, at the default roller: the published counts reach 10 to 12 [UNV].

No time is a whole number of sample bins, so that the end of a commanded run never coincides with the end of a bin.
"""

Model = Callable[[int, int], float]
"""Probability that this press fires, given its number since the last fire and since the restart, both from 1."""


def iid(p_fire: float = P_FIRE) -> Model:
    """Every press fires with the same probability."""
    return lambda since_fire, since_restart: p_fire


def hazard(hazards: Sequence[float] = HAZARD) -> Model:
    """The probability depends on the presses since the last fire; after the last entry it stays there."""
    table = tuple(hazards)
    last = len(table) - 1
    return lambda since_fire, since_restart: table[min(since_fire - 1, last)]


def sequence(fires: Sequence[int] = SEQUENCE, length: int = SEQUENCE_LENGTH) -> Model:
    """A fixed cyclic list of the presses that fire, counted from the restart: every probability is 0 or 1."""
    listed = frozenset(fires)
    return lambda since_fire, since_restart: float((since_restart - 1) % length + 1 in listed)


MODELS: Mapping[str, Callable[[], Model]] = {"iid": iid, "hazard": hazard, "sequence": sequence}
"""The three models with their default figures, by name."""


class Prospect(NamedTuple):
    """What a press may lead to, before anything is drawn."""

    p_fire: float
    runs: Runs


class Draw(NamedTuple):
    """What was drawn: `p_fire` before the draw, whether it fires, and the run time (0 when it does not)."""

    p_fire: float
    fired: bool
    run_ms: int


class Brain:
    """Counts the presses that it was asked about and decides on each.

    `since_fire` and `since_restart`, both from 1, belong to the next press.
    """

    def __init__(self, model: Model, runs: Runs = RUNS) -> None:
        if not runs or any(run_ms <= 0 or weight < 0 for run_ms, weight in runs) or not sum(weight for _, weight in runs) > 0:
            raise ValueError("run times must be positive, their weights not negative and not all zero")
        self._model = model
        self.runs = runs
        self._levels = tuple(accumulate(weight for _, weight in runs))
        self.since_fire = 1
        self.since_restart = 1

    def ahead(self) -> Prospect:
        """What the next press may lead to. Changes nothing."""
        return Prospect(self._model(self.since_fire, self.since_restart), self.runs)

    def decide(self, u_fire: float, u_run: float) -> Draw:
        """Take one press. `u_fire` and `u_run` are uniform on [0, 1); both are asked for whether or not it fires."""
        p_fire = self._model(self.since_fire, self.since_restart)
        fired = u_fire < p_fire
        self.since_restart += 1
        self.since_fire = 1 if fired else self.since_fire + 1
        return Draw(p_fire, fired, self._run_ms(u_run) if fired else 0)

    def restart(self) -> None:
        """Forget everything: power-on and lid close."""
        self.recall((1, 1))

    def memory(self) -> tuple[int, int]:
        """All that the brain remembers, for `recall`."""
        return self.since_fire, self.since_restart

    def recall(self, memory: tuple[int, int]) -> None:
        """Go back to what `memory` returned: a press that was never taken leaves no trace."""
        self.since_fire, self.since_restart = memory

    def _run_ms(self, u_run: float) -> int:
        # The product may round up to the last level itself.
        return self.runs[min(bisect_right(self._levels, u_run * self._levels[-1]), len(self.runs) - 1)][0]
