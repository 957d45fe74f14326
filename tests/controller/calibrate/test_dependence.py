# SPDX-License-Identifier: Apache-2.0
"""Measures of dependence reproduce published numbers and know when they cannot tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from controller.calibrate.dependence import design_effect, lag1_autocorrelation, runs_test

Flags = npt.NDArray[np.bool_]


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
