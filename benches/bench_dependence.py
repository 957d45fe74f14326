# SPDX-License-Identifier: Apache-2.0
"""How often rounds of a blaster are called dependent: those that are not, by number of rounds, and those that are.

Statistics alone, without firmware; some minutes. The figures stand in `docs/statistics.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat

import numpy as np
import pytest

from controller.calibrate.blast.dependence import LEAST_ROUNDS, SIGNIFICANCE, TESTS, Dependence, fit_dependence
from controller.calibrate.blast.inserts import Inserts
from tests.controller.calibrate.blast.simulate import CREEPING, table_of

CAMPAIGNS, ROUNDS = 1000, (20, LEAST_ROUNDS, 200, 1000)
"""Of launchers whose rounds are independent."""

TRIED, TRIED_ROUNDS = 200, (LEAST_ROUNDS, 100, 200, 400)
"""Of those that do depend."""

SLOTS = 4

Launcher = Callable[[int, int], Inserts]
"""A campaign from its number of rounds and its seed; rounds are given up before an insert in one of twenty cases."""


def steady(hazard: tuple[float, ...], rounds: int, seed: int) -> Inserts:
    """Every round alike."""
    return table_of(np.tile(hazard, (rounds, 1)), seed)


def hidden_slot(slots: int, rounds: int, seed: int) -> Inserts:
    """A trigger drawn anew in every round."""
    trigger = np.random.default_rng((seed, 1)).integers(1, slots + 1, rounds)
    return table_of(np.zeros((rounds, slots)), seed, trigger=trigger)


def cycle(slots: int, rounds: int, seed: int) -> Inserts:
    """The trigger goes from slot to slot."""
    return table_of(np.zeros((rounds, slots)), seed, trigger=np.arange(rounds) % slots + 1)


def halved(p: float, rounds: int, seed: int) -> Inserts:
    """A constant hazard that is half as large in the second half."""
    return table_of(np.repeat([[p], [p / 2]], rounds // 2, axis=0) * np.ones(SLOTS), seed)


INDEPENDENT: dict[str, Launcher] = {
    **{f"hidden_slot, {n} slots": partial(hidden_slot, n) for n in (2, 4, 6)},
    **{f"constant {p}, 4 slots": partial(steady, (p,) * SLOTS) for p in (0.1, 0.3, 0.6, 0.8, 0.95)},
    **{f"constant 0.3, {n} slots": partial(steady, (0.3,) * n) for n in (2, 6)},
    "creeping, 4 slots": partial(steady, CREEPING),
}
CYCLES: dict[str, Launcher] = {f"fixed cycle, {n} slots": partial(cycle, n) for n in (2, 4, 6)}
DEPENDENT: dict[str, Launcher] = {
    **CYCLES,
    **{f"constant {p}, then half": partial(halved, p) for p in (0.3, 0.4, 0.6, 0.8, 0.9)},
}


def shares(launcher: Launcher, rounds: int, campaigns: int) -> tuple[float, ...]:
    """Shares of campaigns that are dependent by all tests together, and by lag 1, runs, drift, slots."""
    tables = (launcher(rounds, seed) for seed in range(campaigns))
    called = [_called(fit_dependence(table, int(table.slot.max()), ["random"])) for table in tables]
    return tuple(np.mean(called, axis=0).tolist())


def _called(found: Dependence) -> list[bool]:
    measured = (found.residuals.lag1, found.residuals.runs_test, found.residuals.drift, found.trigger_slots)
    each = [1.0 if test is None or test.p_value is None else test.p_value for test in measured]
    return [p < SIGNIFICANCE for p in (1.0 if found.p_value is None else found.p_value, *(TESTS * p for p in each))]


def by_rounds(launchers: dict[str, Launcher], campaigns: int, numbers: tuple[int, ...]) -> dict[tuple[str, int], tuple[float, ...]]:
    """Shares by launcher and number of rounds."""
    asked = [(name, rounds) for name in launchers for rounds in numbers]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(shares, [launchers[name] for name, _ in asked], [rounds for _, rounds in asked], repeat(campaigns)))
    print(f"\npercent called dependent: together / lag 1 / runs / drift / slots, at {numbers} rounds")
    for i, name in enumerate(launchers):
        rows = found[i * len(numbers) : (i + 1) * len(numbers)]
        print(f"{name:24}", "  ".join("/".join(f"{100 * share:.1f}" for share in row) for row in rows))
    return dict(zip(asked, found, strict=True))


@pytest.mark.nightly
def test_independent_rounds_are_seldom_called_dependent() -> None:
    for (name, rounds), (together, *_) in by_rounds(INDEPENDENT, CAMPAIGNS, ROUNDS).items():
        # 1 %, and 3 standard deviations of 1,000 campaigns.
        assert together <= 0.019, (name, rounds)


@pytest.mark.nightly
def test_dependent_rounds_are_found() -> None:
    for (name, rounds), (together, *_) in by_rounds(DEPENDENT, TRIED, TRIED_ROUNDS).items():
        assert together >= 0.95 or (rounds < 400 and name not in CYCLES), (name, rounds)
