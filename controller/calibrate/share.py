# SPDX-License-Identifier: Apache-2.0
"""A proportion with its interval: the form of every rate of a fault."""

from __future__ import annotations

from dataclasses import dataclass

from controller.calibrate.intervals import clopper_pearson


@dataclass(frozen=True, slots=True)
class Share:
    """events of n with the proportion and its 95 % Clopper-Pearson interval; p is None when n is 0."""

    events: int
    n: int
    p: float | None
    ci_low: float
    ci_high: float


def share(events: int, n: int) -> Share:
    """Proportion with its interval; n = 0 gives None and (0, 1)."""
    low, high = clopper_pearson(events, n)
    return Share(events, n, events / n if n else None, low, high)
