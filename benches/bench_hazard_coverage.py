# SPDX-License-Identifier: Apache-2.0
"""How often the blaster's 95 % intervals hold the truth: 200 campaigns for each brain, with rounds that end by a reset, by the
operator after a fault of the rig, and by the end of the campaign.

Judged against the probabilities that were logged before each draw. Statistics alone, without firmware; about a minute. The
figures stand in `docs/statistics.md`. `coverage` takes any factory of campaigns. Clopper-Pearson is conservative: it covers at
least as often as it says, so there is a lower bound and no upper one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean

import numpy as np
import pytest

from controller.calibrate.blast.fit import BlastFit
from controller.calibrate.blast.table import tabulate
from controller.calibrate.fit import calibrate
from controller.store.records import RunData
from tests.controller.calibrate.blast.simulate import BRAINS, campaign

CAMPAIGNS = 200
INSERTS = 500
LOW = 181  # of 200: a true 95 % lies at or above it with probability .996
MIN_AT_RISK = 10

Logged = Mapping[int, float]
"""Probability of a release before the draw, by number of the trial."""

Factory = Callable[[int], tuple[RunData, Logged]]
"""A campaign from its seed; a function of a module, or a partial of one, so that another process can run it."""

Judged = list[tuple[str, bool]]
"""What an interval is for, and whether it covers."""


def coverage(factory: Factory, campaigns: int = CAMPAIGNS) -> dict[str, tuple[int, int]]:
    """For each interval in how many campaigns it covers, of those that it was judged in."""
    with ProcessPoolExecutor(2) as pool:
        every = [one for found in pool.map(partial(_judge, factory), range(campaigns), chunksize=5) for one in found]
    names = dict.fromkeys(name for name, _ in every)
    inside = {name: [each for other, each in every if other == name] for name in names}
    return {name: (sum(each), len(each)) for name, each in inside.items()}


def _judge(factory: Factory, seed: int) -> Judged:
    return judged(*factory(seed))


def judged(data: RunData, logged: Logged) -> Judged:
    """Which intervals of this campaign cover."""
    fit = calibrate([data])
    assert isinstance(fit, BlastFit) and fit.hazard is not None
    inserts = tabulate([data])
    number, k, slot = (each[inserts.at_risk].tolist() for each in (inserts.number, inserts.k, inserts.slot))
    p = [logged[each] for each in number]
    return list(_judged(fit, np.array(p), np.array(k), np.array(slot)))


def _judged(fit: BlastFit, p: np.ndarray, k: np.ndarray, slot: np.ndarray) -> Iterator[tuple[str, bool]]:
    assert fit.hazard is not None
    survival = 1.0
    for name, place, rows in (("insert", k, fit.hazard.by_insert), ("slot", slot, fit.hazard.by_slot)):
        for i, row in enumerate(rows, start=1):
            if row.n >= MIN_AT_RISK:
                yield f"hazard of {name} {i}", row.ci_low <= fmean(p[place == i]) <= row.ci_high
    for row, count in zip(fit.hazard.survival, fit.hazard.by_insert, strict=True):
        if count.n >= MIN_AT_RISK:
            survival *= 1 - fmean(p[k == row.insert])
            yield f"survival of insert {row.insert}", row.ci_low - 1e-12 <= survival <= row.ci_high


def simulated(brain: str, slots: int, seed: int) -> tuple[RunData, Logged]:
    """A campaign of the simulation: about a round in five is given up, one insert in fifty is lost to a fault of the rig."""
    made = campaign(brain, seed, inserts=INSERTS, slots=slots, give_up=0.1, fault=0.02)
    return made.data, made.p_fire


@pytest.mark.nightly
@pytest.mark.parametrize("slots", [2, 4, 6])
@pytest.mark.parametrize("brain", BRAINS)
def test_hazard_intervals_cover_at_least_as_often_as_they_say(brain: str, slots: int) -> None:
    found = coverage(partial(simulated, brain, slots))
    print(f"\n{brain}, {slots} slots: " + ", ".join(f"{name} {covers}/{times}" for name, (covers, times) in found.items()))
    assert found
    for name, (covers, times) in found.items():
        assert covers >= LOW / CAMPAIGNS * times - 1, name
