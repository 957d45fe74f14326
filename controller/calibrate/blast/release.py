# SPDX-License-Identifier: Apache-2.0
"""What a release does: how many of the loaded cards fly, and what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.calibrate.blast.inserts import Inserts
from controller.calibrate.categorical import Categorical, categorical
from controller.calibrate.share import Share, share

COUNTABLE = ("blast", "partial", "latch_fault")
"""Verdicts of a release whose cards were counted to the end; a jam's were not."""


@dataclass(frozen=True, slots=True)
class FaultRate:
    """One fault per insert, and per release where that has a meaning."""

    per_insert: Share
    per_release: Share | None


def fit_ejected(inserts: Inserts, slots: int) -> tuple[Categorical | None, ...]:
    """Distribution of cards that flew (0 to loaded), for each number loaded from 1 to slots; None without a release.

    A latch fault is a release with 0 cards. Jams are left out: a wedged card says nothing of a sound release.
    """
    use = inserts.known & inserts.fired & np.isin(inserts.verdict, COUNTABLE)
    found = []
    for loaded in range(1, slots + 1):
        cleared = inserts.cleared[use & (inserts.loaded == loaded)]
        seen = np.bincount(cleared, minlength=loaded + 1)
        found.append(categorical(seen, range(loaded + 1)) if cleared.size else None)
    return tuple(found)


def fit_faults(inserts: Inserts) -> dict[str, FaultRate]:
    """Rates of `partial`, `latch_fault`, `jam` and `rejected`.

    Per insert: of those that the toy took with a known number of cards in its slots; `rejected`: of these and the
    rejected ones. Per release: of the releases among them; a jam counts there when the toy had released.
    """
    known = inserts.known
    n, releases = int(known.sum()), int((known & inserts.fired).sum())
    rates = {}
    for verdict in ("partial", "latch_fault", "jam"):
        found = known & (inserts.verdict == verdict)
        rates[verdict] = FaultRate(share(int(found.sum()), n), share(int((found & inserts.fired).sum()), releases))
    rejected = int(np.count_nonzero(inserts.rule == "rejected"))
    return rates | {"rejected": FaultRate(share(rejected, n + rejected), None)}
