# SPDX-License-Identifier: Apache-2.0
"""Intervals reproduce published numbers and keep their head at the ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from controller.calibrate.intervals import beta_interval, clopper_pearson, jeffreys, wilson


def test_exact_binomial_20_of_100() -> None:
    assert clopper_pearson(20, 100) == pytest.approx((0.1266555521019559, 0.2918426890886281), abs=1e-13)
    assert clopper_pearson(20, 100, alternative="less") == pytest.approx((0, 0.2772002496709138), abs=1e-13)
    assert clopper_pearson(20, 100, alternative="greater") == pytest.approx((0.1366613252458672, 1), abs=1e-13)


def test_nothing_in_10() -> None:
    assert clopper_pearson(0, 10) == pytest.approx((0, 0.3084971), abs=5e-8)
    assert clopper_pearson(0, 10, alternative="less")[1] == pytest.approx(0.2588656, abs=5e-8)
    assert wilson(0, 10) == pytest.approx((0, 0.2775328), abs=5e-8)


def test_4_of_20() -> None:
    assert wilson(4, 20) == pytest.approx((0.0806576626, 0.4160174323), abs=1e-10)
    assert clopper_pearson(4, 20) == pytest.approx((0.0573339970, 0.4366140030), abs=1e-10)
    assert jeffreys(4, 20) == pytest.approx((0.0715200525, 0.4082257626), abs=1e-10)


def test_the_closed_form_holds_where_packages_fail() -> None:
    tiny = 1e-12
    assert clopper_pearson(0, 100, confidence=1 - tiny)[1] == pytest.approx(1 - (tiny / 2) ** 0.01, rel=1e-5)


def test_no_trial_tells_nothing() -> None:
    assert clopper_pearson(0, 0) == wilson(0, 0) == (0, 1)
    assert jeffreys(0, 0) == beta_interval(0.5, 0.5)


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_every_interval_lies_within_0_and_1_around_the_rate(case: tuple[int, int]) -> None:
    events, n = case
    for low, high in (clopper_pearson(events, n), wilson(events, n)):
        assert 0 <= low <= events / n <= high <= 1
    low, high = jeffreys(events, n)
    assert 0 <= low <= high <= 1


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_what_went_well_and_what_went_wrong_mirror_each_other(case: tuple[int, int]) -> None:
    events, n = case
    for interval in (clopper_pearson, wilson, jeffreys):
        low, high = interval(events, n)
        assert interval(n - events, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_clopper_pearson_covers_at_least_95_percent_whatever_the_truth() -> None:
    n = 60
    bounds = [clopper_pearson(events, n) for events in range(n + 1)]
    for p in (0.01, 0.1, 0.21, 0.354, 0.5, 0.9):
        covered = sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(bounds) if low <= p <= high)
        assert covered >= 0.95


def test_a_fractional_number_of_trials_lies_between_its_neighbours() -> None:
    widths = [high - low for low, high in (clopper_pearson(0.3 * n, n) for n in (100, 100.5, 101))]
    assert widths == sorted(widths, reverse=True)
