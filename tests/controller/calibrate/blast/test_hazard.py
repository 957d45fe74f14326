# SPDX-License-Identifier: Apache-2.0
"""Hazards, the test of the slots and the survival curve against scipy, hand counts and launchers of known hazard."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import CensoredData, binom, binomtest, chi2, chi2_contingency, ecdf, multivariate_hypergeom

from controller.calibrate.blast.hazard import Hazard, fit_hazard, slot_test, survival
from controller.calibrate.blast.table import tabulate
from tests.controller.calibrate.blast.simulate import BRAINS, CREEPING, campaign, insert, reset, run_of_inserts

CAMPAIGNS = 200
AT_LEAST = 181
"""Least number that covers, of 200, when 95 % should: missed by chance in fewer than 1 of 100 tries."""


@cache
def hazards(brain: str) -> list[Hazard]:
    """Fits of campaigns whose rounds are given up before an insert in one of seven cases."""
    made = (campaign(brain, seed, inserts=300, give_up=0.15).data for seed in range(CAMPAIGNS))
    return [fit_hazard(tabulate([data]), 4) for data in made]


def test_hazards_by_insert_and_by_slot_by_hand() -> None:
    trials = [
        insert(1, 1, 1, slot=3),
        insert(2, 1, 2, slot=1, verdict="blast"),
        insert(3, 2, 1, slot=1, verdict="latch_fault"),
        insert(4, 3, 1, slot=3),
        insert(5, 3, 2, slot=2),
        reset(6, 3, 2),
    ]
    found = fit_hazard(tabulate([run_of_inserts(trials)]), 4)
    assert (found.n, found.rounds, found.released) == (5, 3, 2)
    assert [(row.n, row.events) for row in found.by_insert] == [(3, 1), (2, 1), (0, 0), (0, 0)]
    assert [(row.n, row.events) for row in found.by_slot] == [(2, 2), (1, 0), (2, 0), (0, 0)]
    assert (found.by_insert[2].p, found.by_insert[2].ci_low, found.by_insert[2].ci_high) == (None, 0, 1)
    exact = binomtest(1, 3).proportion_ci(method="exact")
    assert (found.by_insert[0].ci_low, found.by_insert[0].ci_high) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("brain", BRAINS)
def test_hazard_intervals_cover_the_hazard_in_at_least_95_percent_censored_rounds_included(brain: str) -> None:
    for k in range(1, 5):
        true = 1 / (5 - k) if brain == "hidden_slot" else BRAINS[brain](k, 4)
        rows = [found.by_insert[k - 1] for found in hazards(brain)]
        assert sum(row.ci_low <= true <= row.ci_high for row in rows) >= AT_LEAST, k


def test_the_product_limit_is_scipys() -> None:
    ends, censored = [], []
    data = campaign("creeping", 3, inserts=400, give_up=0.2).data
    inserts = tabulate([data])
    for one in range(inserts.round.max() + 1):
        here = inserts.round == one
        (ends if inserts.fired[here].any() else censored).append(int(inserts.k[here].max()))
    curve = ecdf(CensoredData(uncensored=ends, right=censored)).sf
    expected = curve.evaluate(np.arange(1, 5))
    found = fit_hazard(inserts, 4).survival
    assert len(censored) > 20
    assert [row.p for row in found] == pytest.approx(expected.tolist())


def test_for_many_rounds_the_interval_of_the_survival_nears_greenwoods_log_log_one() -> None:
    at_risk, fired = [10_000, 8_000, 5_000], [1_000, 2_000, 2_500]
    stop = np.repeat([1, 2, 3], fired)
    right = np.repeat([1, 2, 3], [1_000, 1_000, 2_500])
    curve = ecdf(CensoredData(uncensored=stop, right=right)).sf
    bounds = curve.confidence_interval(method="log-log")
    for row, low, high in zip(survival(at_risk, fired), bounds.low.probabilities, bounds.high.probabilities, strict=True):
        assert (row.ci_low, row.ci_high) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize("fired", [[3, 2, 4], [0, 0, 2], [0, 0, 0], [9, 2, 1], [0, 12, 0]])
def test_without_censoring_the_interval_of_the_survival_is_clopper_pearsons(fired: list[int]) -> None:
    at_risk = [12 - sum(fired[:k]) for k in range(3)]
    for k, row in enumerate(survival(at_risk, fired), start=1):
        left = 12 - sum(fired[:k])
        if row.p is not None:
            exact = binomtest(left, 12).proportion_ci(method="exact")
            assert (row.p, row.ci_low, row.ci_high) == pytest.approx((left / 12, exact.low, exact.high))


def test_the_survival_is_not_known_where_no_round_got() -> None:
    rows = survival([5, 0, 0], [2, 0, 0])
    assert [row.p for row in rows] == [0.6, None, None]
    assert [(row.ci_low, row.ci_high) for row in rows[1:]] == [(0.0, rows[0].ci_high)] * 2


@pytest.mark.parametrize("brain", BRAINS)
def test_the_survival_interval_covers_with_censored_rounds(brain: str) -> None:
    for k in range(1, 4):
        hazard = [1 / (5 - j) if brain == "hidden_slot" else BRAINS[brain](j, 4) for j in range(1, k + 1)]
        true = float(np.prod(1 - np.array(hazard)))
        rows = [found.survival[k - 1] for found in hazards(brain)]
        assert sum(row.ci_low <= true <= row.ci_high for row in rows) >= AT_LEAST, k


def test_the_slot_test_at_one_insert_is_pearsons_times_n_minus_1_over_n() -> None:
    table = np.array([[12, 30], [20, 22], [9, 40]])
    slot = np.repeat([1, 2, 3], table.sum(axis=1))
    fired = np.concatenate([np.repeat([True, False], row) for row in table])
    found = slot_test(np.ones(slot.size, dtype=np.int64), slot, fired)
    n = table.sum()
    pearson = chi2_contingency(table, correction=False)
    assert found.df == 2 and found.statistic == pytest.approx(pearson.statistic * (n - 1) / n)
    assert found.p_value == pytest.approx(chi2.sf(pearson.statistic * (n - 1) / n, 2))


def test_the_slot_test_over_several_inserts_is_the_hypergeometric_sum() -> None:
    inserts = tabulate([campaign("creeping", 9, inserts=250).data])
    excess, covariance = np.zeros(3), np.zeros((3, 3))
    for k in range(1, 5):
        here = inserts.k == k
        made = np.array([np.sum(here & (inserts.slot == slot)) for slot in range(1, 5)])
        released = np.array([np.sum(here & inserts.fired & (inserts.slot == slot)) for slot in range(1, 5)])
        excess += (released - multivariate_hypergeom.mean(made, released.sum()))[:3]
        covariance += multivariate_hypergeom.cov(made, released.sum())[:3, :3]
    found = slot_test(inserts.k, inserts.slot, inserts.fired)
    assert found.df == 3 and found.statistic == pytest.approx(float(excess @ np.linalg.solve(covariance, excess)))


@pytest.mark.parametrize("brain", BRAINS)
def test_the_slot_test_seldom_finds_a_difference_where_there_is_none(brain: str) -> None:
    alarms = sum((found.slot_test.p_value or 1) < 0.05 for found in hazards(brain))
    assert alarms <= binom.ppf(0.999, CAMPAIGNS, 0.05)


def test_a_slot_that_releases_more_often_is_found() -> None:
    random = np.random.default_rng(5)
    slot = random.integers(1, 5, 600)
    k = random.integers(1, 5, 600)
    fired = random.random(600) < np.where(slot == 2, 0.5, 0.25)
    assert (slot_test(k, slot, fired).p_value or 1) < 1e-4


@pytest.mark.parametrize(
    ("k", "slot", "fired"),
    [
        ([], [], []),
        ([1, 2, 3, 1, 2, 3], [1, 2, 3, 1, 2, 3], [0, 0, 1, 0, 1, 1]),  # in sequence: slot and place are the same thing
        ([1, 1, 1], [1, 2, 3], [0, 0, 0]),
        ([4, 4, 4], [1, 2, 3], [1, 1, 1]),
    ],
)
def test_slots_that_cannot_be_compared_are_not(k: list[int], slot: list[int], fired: list[int]) -> None:
    found = slot_test(np.array(k, dtype=np.int64), np.array(slot, dtype=np.int64), np.array(fired, dtype=np.bool_))
    assert (found.statistic, found.df, found.p_value) == (None, None, None)


def test_the_creeping_hazard_is_recovered() -> None:
    found = fit_hazard(tabulate([campaign("creeping", 11, inserts=5000).data]), 4)
    for row, true in zip(found.by_insert, CREEPING, strict=True):
        assert row.ci_low <= true <= row.ci_high
    assert all(row.ci_high - row.ci_low < 0.08 for row in found.by_insert)
