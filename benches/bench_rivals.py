# SPDX-License-Identifier: Apache-2.0
"""Does the right rival win? A hundred campaigns of a thousand inserts for each brain of the blaster, and of fifty; then how
often a wrong one wins, by number of rounds and kind of launcher, which is what the least number of rounds rests on.

Statistics alone, without firmware; a minute or two. The figures stand in `docs/statistics.md`. `winners` takes any factory of
campaigns, so that the same can be asked of campaigns through the firmware.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from controller.calibrate.blast.fit import BlastFit
from controller.calibrate.blast.rivals import FOLDS, LEAST_ROUNDS, compare
from controller.calibrate.fit import calibrate
from controller.store.records import RunData
from tests.controller.calibrate.blast.simulate import BRAINS, CREEPING, campaign

CAMPAIGNS = 100
LEAST_RIGHT = 95
RIGHT = {"constant": "constant", "hidden_slot": "hidden_slot", "creeping": "free"}

Factory = Callable[[int], RunData]
"""A campaign from its seed; a function of a module, or a partial of one, so that another process can run it."""

Found = tuple[str | None, str]
"""Winner and evidence."""


def winners(factory: Factory, seeds: Sequence[int]) -> Counter[Found]:
    """Who wins in one campaign per seed, and with what evidence."""
    with ProcessPoolExecutor(2) as pool:
        return Counter(pool.map(partial(_winner, factory), seeds, chunksize=5))


def _winner(factory: Factory, seed: int) -> Found:
    return found_in(factory(seed))


def found_in(data: RunData) -> Found:
    """Who wins in this campaign, and with what evidence."""
    fit = calibrate([data])
    assert isinstance(fit, BlastFit) and fit.rivals is not None
    return fit.rivals.winner, fit.rivals.evidence


def right(found: Counter[Found], rival: str) -> int:
    """Campaigns in which the rival won."""
    return sum(n for (winner, _), n in found.items() if winner == rival)


def strongly_wrong(found: Counter[Found], rival: str) -> int:
    """Campaigns in which another one won with more than positive evidence."""
    return sum(n for (winner, evidence), n in found.items() if winner not in (rival, None) and evidence != "positive")


def simulated(brain: str, inserts: int, seed: int) -> RunData:
    """A campaign of the simulation, 4 slots, some rounds given up."""
    return campaign(brain, seed, inserts=inserts, give_up=0.04).data


@pytest.mark.nightly
@pytest.mark.parametrize("brain", BRAINS)
def test_a_thousand_inserts_name_the_right_rival(brain: str) -> None:
    found = winners(partial(simulated, brain, 1000), range(CAMPAIGNS))
    print(f"\n{brain}: {dict(found)}")
    assert right(found, RIGHT[brain]) >= LEAST_RIGHT
    assert strongly_wrong(found, RIGHT[brain]) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("brain", BRAINS)
def test_fifty_inserts_name_none(brain: str) -> None:
    assert winners(partial(simulated, brain, 50), range(CAMPAIGNS)) == {(None, ""): CAMPAIGNS}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of launcher: its hazard by insert, and the rival that is right."""

    hazard: tuple[float, ...]
    rival: str


KINDS = {
    **{f"hidden_slot, {n} slots": Kind(tuple(1 / (n - k) for k in range(n)), "hidden_slot") for n in (2, 3, 4, 6)},
    **{f"constant {p}, {n} slots": Kind((p,) * n, "constant") for n in (2, 3, 4, 6) for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)},
    "creeping, 4 slots": Kind(CREEPING, "free"),
    "creeping, 3 slots": Kind(CREEPING[:3], "free"),
    "creeping, 2 slots": Kind(CREEPING[:2], "free"),
}
ROUNDS = (20, 50, LEAST_ROUNDS, 200)
INSERTS = 1000
MANY = 1000
NEARLY_CONSTANT = "creeping, 2 slots"
"""0.08 and 0.2: so near to each other that one probability explains a hundred rounds as well."""


def rounds_of(kind: Kind, inserts: int) -> int:
    """Rounds that so many inserts make, in the mean."""
    reached = np.cumprod([1.0, *(1 - p for p in kind.hazard[:-1])])
    return round(inserts / float(reached.sum()))


def by_rounds(kind: Kind, rounds: int) -> tuple[float, float, float]:
    """Shares of campaigns that name the right rival, a wrong one, and a wrong one with more than positive evidence, by the Bayes
    factor alone."""
    random = np.random.default_rng(rounds)
    slots = len(kind.hazard)
    tally: Counter[Found] = Counter()
    for _ in range(MANY):
        at_risk = np.zeros((FOLDS, slots), dtype=np.int64)
        fired = np.zeros((FOLDS, slots), dtype=np.int64)
        left = rounds
        for k, p in enumerate(kind.hazard):
            at_risk[0, k], fired[0, k] = left, random.binomial(left, p)
            left -= fired[0, k]
        found = compare(at_risk, fired, LEAST_ROUNDS)
        tally[found.winner, found.evidence] += 1
    undecided = sum(n for (winner, _), n in tally.items() if winner is None)
    good = right(tally, kind.rival)
    return good / MANY, (MANY - undecided - good) / MANY, strongly_wrong(tally, kind.rival) / MANY


@pytest.mark.nightly
def test_from_the_least_number_of_rounds_on_a_wrong_rival_seldom_wins() -> None:
    with ProcessPoolExecutor(2) as pool:
        rounds = {name: (*ROUNDS, rounds_of(kind, INSERTS)) for name, kind in KINDS.items()}
        found = {name: list(pool.map(partial(by_rounds, kind), rounds[name])) for name, kind in KINDS.items()}
    print(f"\nright/wrong/strongly wrong, in percent, at {ROUNDS} rounds and at the rounds of {INSERTS} inserts")
    for name, shares in found.items():
        print(f"{name:22}", "  ".join("/".join(f"{100 * share:.1f}" for share in each) for each in shares))
    for name, shares in found.items():
        for n, (_, wrong, strongly) in zip(rounds[name], shares, strict=True):
            if n >= LEAST_ROUNDS:
                assert strongly <= 0.01, (name, n)
                assert wrong <= 0.04 or name == NEARLY_CONSTANT, (name, n)
