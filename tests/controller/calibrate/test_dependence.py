# SPDX-License-Identifier: Apache-2.0
"""Measures of dependence reproduce published numbers and know when they cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kstwobign

from controller.calibrate.dependence import (
    design_effect,
    drift_test,
    lag1_autocorrelation,
    lag1_test,
    permuted_runs_test,
    runs_test,
)

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def in_runs(runs: int, each: int) -> Flags:
    """An equal number of both outcomes, `each`, in so many runs (even): ones and zeros in turn, the last two long."""
    half = runs // 2
    pattern = [True, False] * (half - 1)
    return np.array(pattern + [True] * (each - half + 1) + [False] * (each - half + 1))


def test_the_runs_test_gives_the_handbooks_numbers_for_lew_dat() -> None:
    found = runs_test(in_runs(120, 100))
    assert found is not None
    assert (found.runs, found.mean) == (120, 101)
    assert found.sd == pytest.approx(7.05328, abs=5e-6)
    assert found.z == pytest.approx(2.69378, abs=5e-6)  # without continuity correction
    assert found.p_value == pytest.approx(0.0070648, abs=5e-6)


def test_runs_of_equals_and_alternation_have_opposite_signs() -> None:
    together, in_turn = runs_test(in_runs(2, 50)), runs_test(in_runs(100, 50))
    assert together is not None and in_turn is not None
    assert together.z < -9 and in_turn.z > 9
    assert (lag1_autocorrelation(in_runs(2, 50)) or 0) > 0.9
    assert (lag1_autocorrelation(in_runs(100, 50)) or 0) < -0.9


def test_autocorrelation_by_hand() -> None:
    # mean 3/4; deviations 1/4 1/4 -3/4 1/4: (1/16 - 3/16 - 3/16) / (12/16)
    assert lag1_autocorrelation(np.array([True, True, False, True])) == pytest.approx(-5 / 12)


@pytest.mark.parametrize("outcomes", [[], [True], [True, False], [True] * 9, [False] * 9])
def test_no_measure_is_made_up_where_there_is_none(outcomes: list[bool]) -> None:
    flags = np.array(outcomes, dtype=np.bool_)
    assert runs_test(flags) is None
    assert lag1_autocorrelation(flags) is None
    assert design_effect(flags, np.zeros(flags.size, dtype=np.int64)) is None


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [0.1] * 9])
def test_no_order_is_tested_where_there_is_none(values: list[float]) -> None:
    one = np.zeros(len(values), dtype=np.int64)
    assert lag1_test(np.array(values), one) is drift_test(np.array(values), one) is None
    assert permuted_runs_test(np.array(values) > 1, one) is None


def over_all_orders(values: Floats, statistic: Callable[[Floats], float]) -> tuple[float, float]:
    """Mean of the statistic over every order of the values, and the share that is at least as far from it as the order given."""
    found = np.array([statistic(np.array(order)) for order in permutations(values.tolist())])
    far = np.abs(found - found.mean())
    return float(found.mean()), float(np.mean(far >= far[0] - 1e-9))


def products(values: Floats) -> float:
    return float(np.sum((values[1:] - values.mean()) * (values[:-1] - values.mean())))


def changes(values: Floats) -> float:
    return float(np.count_nonzero(values[1:] != values[:-1]))


CLOSE: dict[str, float] = {"rel": 0.45, "abs": 0.003}
"""Of a p-value by at most 999 permutations, or 50 that reach it: the larger deviation is a seventh."""


@pytest.mark.parametrize(
    "values", [[0.3, -1.0, 2.5, 0.3, 0.9, -0.2, 0.1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0, 0, 0, 0, 0, 1, 1]]
)
def test_the_p_values_are_those_of_all_orders(values: list[float]) -> None:
    series, one = np.array(values, dtype=np.float64), np.zeros(7, dtype=np.int64)
    lag1, runs = lag1_test(series, one), permuted_runs_test(series > np.median(series), one)
    assert lag1 is not None and runs is not None and lag1.r == lag1_autocorrelation(series)
    assert lag1.p_value == pytest.approx(over_all_orders(series, products)[1], **CLOSE)
    mean, p_value = over_all_orders((series > np.median(series)).astype(np.float64), changes)
    assert runs.mean == pytest.approx(mean + 1)
    assert runs.p_value == pytest.approx(p_value, **CLOSE)


def test_a_lone_outcome_of_its_kind_is_no_dependence_though_the_normal_p_value_says_so() -> None:
    outcomes = np.arange(400) == 0
    plain, permuted = runs_test(outcomes), permuted_runs_test(outcomes, np.zeros(400, dtype=np.int64))
    assert plain is not None and permuted is not None
    assert plain.p_value < 1e-6 and permuted.z == plain.z
    assert permuted.p_value == pytest.approx(2 / 400, abs=0.01)  # it stands at one of two ends, of 400 places


FIRST, SECOND = np.array([0.3, -1.0, 2.5, 0.3, 0.9, -0.2]), np.array([4.0, 1.0, 1.5])


def test_several_stretches_are_tested_together_and_nothing_is_compared_across_a_border() -> None:
    found = lag1_test(np.concatenate([FIRST, SECOND]), np.repeat([0, 1], [6, 3]))
    assert found is not None
    assert found.r == pytest.approx((products(FIRST) + products(SECOND)) / (FIRST.var() * 6 + SECOND.var() * 3))
    # What differs between stretches alone is no dependence, and what tells nothing changes nothing.
    moved = np.concatenate([FIRST, SECOND + 100, [7.0, 7.0, 7.0, 1.0]])
    again = lag1_test(moved, np.repeat([0, 1, 5, 6], [6, 3, 3, 1]))
    assert again is not None and again.r == pytest.approx(found.r)
    levels, run = np.repeat([0.0, 1.0], 40), np.repeat([0, 1], 40)
    levels[[20, 60]] = 0.5
    apart, together = lag1_test(levels, run), lag1_test(levels, np.zeros(80, dtype=np.int64))
    assert apart is not None and together is not None
    assert apart.p_value > 0.5 and together.p_value == 0.001


def test_runs_of_several_stretches_are_summed() -> None:
    one, two = in_runs(120, 100), in_runs(90, 100)
    found = runs_test(np.concatenate([one, two]), np.repeat([3, 4], 200))
    assert found is not None
    assert (found.runs, found.mean) == (210, 202)
    assert found.sd == pytest.approx(7.05328 * 2**0.5, abs=1e-5)


def test_a_step_in_the_mean_is_a_drift_with_kolmogorovs_p_value() -> None:
    step = np.repeat([1.0, -1.0], 8)  # the sum climbs to 8 in the middle, and the root of the sum of squares is 4
    found, twice = drift_test(step), drift_test(np.tile(step, 2) + np.repeat([0, 50], 16), np.repeat([0, 1], 16))
    assert found is not None and twice is not None
    assert found.distance == twice.distance == pytest.approx(2)
    assert found.p_value == pytest.approx(kstwobign.sf(2))
    steady = drift_test(np.tile([1.0, -1.0], 50), np.repeat([0, 1], 50))
    assert steady is not None and steady.p_value == 1
    assert twice.p_value == pytest.approx(2 * kstwobign.sf(2))


def test_independent_presses_have_a_design_effect_near_1_and_clustered_ones_more() -> None:
    random = np.random.default_rng(1)
    clusters = np.repeat(np.arange(400), 25)
    alike = design_effect(random.random(10_000) < 0.35, clusters)
    assert alike == pytest.approx(1, abs=0.2)
    # Beta(3.5, 6.5) between fills: intraclass correlation 1/11, so 1 + 24/11.
    rates = np.repeat(random.beta(3.5, 6.5, 400), 25)
    unlike = design_effect(random.random(10_000) < rates, clusters)
    assert unlike == pytest.approx(1 + 24 / 11, rel=0.2)


def test_a_cluster_number_that_is_not_used_does_not_count() -> None:
    outcomes = np.array([True, False, True, True])
    tight, gap = np.array([0, 0, 1, 1]), np.array([0, 0, 5, 5])
    assert design_effect(outcomes, tight) == pytest.approx(design_effect(outcomes, gap))
