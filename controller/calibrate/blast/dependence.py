# SPDX-License-Identifier: Apache-2.0
"""Does a round depend on the rounds before it? The model that a game plays says no, and this is the check.

Asked of the rounds in the order in which they were played, within each run: never from one run to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from controller.calibrate.blast.inserts import Inserts
from controller.calibrate.dependence import (
    DriftTest,
    Lag1Test,
    RunsTest,
    drift_test,
    lag1_test,
    permutation_p_value,
    permuted_runs_test,
)

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Winner = Literal["independent", "dependent", "undecided"]

SLOTS_TEST = "permutation test of chi-square, slot of a release against slot of the release in the round before"

SIGNIFICANCE = 0.01
"""Chance to call rounds dependent that are not, over all tests together."""

TESTS = 4
"""Tests that there are; without a value of each nothing is called independent."""

LEAST_ROUNDS = 50
"""Rounds below which nothing is called independent; see the table in `docs/statistics.md#do-rounds-depend-on-each-other`."""

LEAST_PAIRS_PER_SLOT = 5
"""Pairs of releases for the test of the slots, for each slot: from so many on a fixed cycle is hardly ever missed. Its size
needs no least number, a permutation test being exact."""

FREE_ORDERS = ("random", "fixed")
"""Orders of slots that begin every round alike, whatever the round before did."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """Measures of the martingale residuals in order; each None where the residuals of every run are equal, or too few."""

    lag1: Lag1Test | None
    runs_test: RunsTest | None
    drift: DriftTest | None


@dataclass(frozen=True, slots=True)
class TriggerSlots:
    """Does the slot that released depend on the one before? pairs: adjacent rounds of a run that both released.

    statistic, p_value: both None with a `reason`, which is empty otherwise.
    """

    pairs: int
    statistic: float | None
    p_value: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Dependence:
    """The verdict, from `rounds` rounds. tests: that have a value. p_value: the smallest times their number (Bonferroni).

    reason: why it is undecided; empty otherwise.
    """

    winner: Winner
    reason: str
    rounds: int
    tests: int
    p_value: float | None
    residuals: Residuals
    trigger_slots: TriggerSlots


def fit_dependence(inserts: Inserts, slots: int, orders: Sequence[str | None]) -> Dependence:
    """Test whether rounds depend on the rounds before, by the inserts at risk. orders: of the slots, one for each run.

    If rounds are independent and alike, censoring included, any order of a run's rounds is equally likely: all tests rest on that.
    """
    use = inserts.at_risk
    _, first, of_round = np.unique(inserts.round[use], return_index=True, return_inverse=True)
    run = inserts.run[use][first]
    found = residuals(inserts.k[use], inserts.fired[use], of_round)
    measures = _measures(found, run)
    trigger_slots = _trigger_slots(inserts, slots, orders)
    return _judge(run.size, measures, trigger_slots)


def residuals(k: Ints, fired: Flags, of_round: Ints) -> Floats:
    """Martingale residual of each round: releases seen minus those expected, the sum of the hazards at its inserts.

    k, fired, of_round: place in the round, from 1, release, and number of the round, from 0; shape (n,). The hazard is the measured
    one, by insert. A censored round has one like any other. Method: Therneau, Grambsch and Fleming, Biometrika 77
    (1990) 147.
    """
    hazard = np.bincount(k, weights=fired) / np.maximum(np.bincount(k), 1)
    return np.bincount(of_round, weights=fired - hazard[k]).astype(np.float64)


def _measures(found: Floats, run: Ints) -> Residuals:
    # Few values are possible, so many may be equal to the median: they go to the side that makes the halves more even.
    median = np.median(found)
    above = min((found > median, found >= median), key=lambda half: abs(2 * int(half.sum()) - half.size))
    return Residuals(lag1_test(found, run), permuted_runs_test(above, run), drift_test(found, run))


def _trigger_slots(inserts: Inserts, slots: int, orders: Sequence[str | None]) -> TriggerSlots:
    kinds = [str(order or "unknown").partition(":")[0] for order in orders]
    free = np.array([kind in FREE_ORDERS for kind in kinds], dtype=np.bool_)
    if not free.any():
        tied = ", ".join(sorted(set(kinds)))
        return TriggerSlots(0, None, None, f"order {tied}: the order of inserts itself ties the slots of adjacent rounds")
    use = inserts.at_risk & inserts.fired & free[inserts.run]
    run, number, slot = inserts.run[use], inserts.round[use], inserts.slot[use]
    adjacent = (np.diff(run) == 0) & (np.diff(number) == 1)
    pairs, least = int(adjacent.sum()), LEAST_PAIRS_PER_SLOT * slots
    if pairs < least:
        return TriggerSlots(pairs, None, None, f"adjacent rounds that both released: {pairs} pairs of the {least} needed")
    return TriggerSlots(pairs, *slots_test(slot, run, adjacent), reason="")


def slots_test(slot: Ints, run: Ints, adjacent: Flags) -> tuple[float, float]:
    """Chi-square of each release's slot against the next one's, and its p-value over permutations of each run's slots.

    slot, run: of the releases in order, shape (n,), a run's being neighbours. adjacent: which of them form a pair with the
    next one, shape (n - 1,).
    """
    levels, code = np.unique(slot, return_inverse=True)
    (statistic,) = _chi_square(code[np.newaxis], adjacent, levels.size).tolist()
    return statistic, permutation_p_value(code, run, lambda rows: _chi_square(rows, adjacent, levels.size))


def _chi_square(code: Ints, adjacent: Flags, levels: int) -> Floats:
    """Pearson's statistic of each row's table of value against next value, where these are a pair; code: shape (rows, n)."""
    rows, cells = len(code), levels**2
    # Each row has a second table, for neighbours that are no pair: to sort them out is slower than to count them.
    cell = code[:, :-1] * levels
    cell += code[:, 1:]
    cell += np.where(adjacent, 0, cells) + 2 * cells * np.arange(rows)[:, np.newaxis]
    seen = np.bincount(cell.ravel(), minlength=2 * cells * rows).reshape(rows, 2, levels, levels)[:, 0]
    expected = seen.sum(axis=2, keepdims=True) * seen.sum(axis=1, keepdims=True) / np.count_nonzero(adjacent)
    statistic: Floats = np.sum((seen - expected) ** 2 / np.where(expected > 0, expected, 1), axis=(1, 2))
    return statistic


def _judge(rounds: int, measures: Residuals, trigger_slots: TriggerSlots) -> Dependence:
    made = [test.p_value for test in (measures.lag1, measures.runs_test, measures.drift, trigger_slots) if test is not None]
    p_values = [p_value for p_value in made if p_value is not None]
    p_value = min(1.0, len(p_values) * min(p_values)) if p_values else None
    winner: Winner = "undecided"
    reason = ""
    if p_value is not None and p_value < SIGNIFICANCE:
        winner = "dependent"
    elif rounds < LEAST_ROUNDS:
        reason = f"too few rounds: {rounds} of the {LEAST_ROUNDS} needed"
    elif len(p_values) < TESTS:
        reason = trigger_slots.reason or "within each run all residuals are equal, or there are fewer than 3"
    else:
        winner = "independent"
    return Dependence(winner, reason, rounds, len(p_values), p_value, measures, trigger_slots)
