# SPDX-License-Identifier: Apache-2.0
"""The model that a game plays: the hazard of one rival, and how long a blast then lets itself be waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.calibrate.blast.rivals import Counts, Point, Rivals, points

FALLBACK = "free"
"""The rival whose hazard is exported when none won: it assumes least."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Chance that the first release of a round comes at insert `insert`, and that it has come by then; None: not known."""

    insert: int
    p: float | None
    p_by: float | None


@dataclass(frozen=True, slots=True)
class Model:
    """Exported hazard by insert, of `rival`, and the waiting time from empty slots on.

    p_none: no release although every slot is full. mean: inserts to a release, given that one comes. Both are None when
    the hazard is not known at some insert.
    """

    rival: str
    hazard: tuple[Point, ...]
    until_release: tuple[Wait, ...]
    p_none: float | None
    mean: float | None


def make_model(rivals: Rivals, at_risk: Counts, fired: Counts) -> Model:
    """Hazard of the winner, or of `FALLBACK` when none won; at_risk, fired: by insert, shape (slots,)."""
    slots = at_risk.size
    rival = rivals.winner or (FALLBACK if slots > 1 else "constant")
    hazard = points(rival, at_risk, fired)
    waits, p_none = waiting_times([point.p for point in hazard])
    return Model(rival, hazard, waits, p_none, _mean(waits, p_none))


def waiting_times(hazard: Sequence[float | None]) -> tuple[tuple[Wait, ...], float | None]:
    """Distribution of the first release from hazards by insert, and the chance of none; None from the first unknown on."""
    left: float | None = 1.0
    waits = []
    for insert, p in enumerate(hazard, start=1):
        here = None if left is None or p is None else left * p
        left = None if left is None or here is None else left - here
        waits.append(Wait(insert, here, None if left is None else 1 - left))
    return tuple(waits), left


def _mean(waits: Sequence[Wait], p_none: float | None) -> float | None:
    if p_none is None or p_none >= 1:
        return None
    return max(1.0, sum(wait.insert * wait.p for wait in waits if wait.p is not None) / (1 - p_none))  # but for rounding
