# SPDX-License-Identifier: Apache-2.0
"""Intervals cover what is true: 200 seeded campaigns of 500 presses per brain, judged by the probabilities logged.

The nightly form with 1,000 campaigns and more kinds of launcher is `benches/coverage_model.py`.
"""

from __future__ import annotations

from functools import cache

import pytest
from scipy.stats import binom

from controller.calibrate.fit import Fit, calibrate
from tests.controller.calibrate.roller.simulate import DEALT, campaign

CAMPAIGNS = 200
AT_LEAST, AT_MOST = 181, 197
"""Bounds of the number that covers, of 200, when 95 % should: each is passed by chance in fewer than 1 of 100 tries."""


@cache
def fits(brain: str) -> list[tuple[Fit, float]]:
    """Fits with the mean probability that each should cover."""
    made = [campaign(brain, seed) for seed in range(CAMPAIGNS)]
    return [(calibrate([one.data]), one.mean_p) for one in made]


def covering(brain: str) -> int:
    """In how many campaigns the interval for P(fire) holds the mean of the logged probabilities."""
    return sum(fit.fire is not None and fit.fire.ci_low <= p <= fit.fire.ci_high for fit, p in fits(brain))


@pytest.mark.parametrize("brain", ["iid", "hazard"])
def test_the_fire_interval_covers_in_95_percent(brain: str) -> None:
    assert AT_LEAST <= covering(brain) <= AT_MOST


def test_the_fire_interval_is_conservative_for_a_fixed_list() -> None:
    assert covering("sequence") == CAMPAIGNS


def test_without_the_fitted_variance_the_interval_for_the_hazard_would_be_too_wide() -> None:
    plain = [fit.fire.n_effective / fit.fire.n for fit, _ in fits("hazard") if fit.fire]
    assert min(plain) > 1.2


def test_a_remembering_launcher_is_found_out_and_an_independent_one_is_not() -> None:
    def dependent(brain: str) -> int:
        return sum(fit.fire is not None and fit.fire.dependence.winner == "dependent" for fit, _ in fits(brain))

    assert dependent("hazard") == dependent("sequence") == CAMPAIGNS
    assert dependent("iid") <= 18  # 5 % of 200, and 2.6 standard deviations


@pytest.mark.parametrize("restarts_at_lid", [True, False])
def test_reloads_between_fires_tell_whether_the_lid_restarts_the_memory(restarts_at_lid: bool) -> None:
    made = [campaign("hazard", seed, restarts_at_lid=restarts_at_lid, reload_every=25) for seed in range(40)]
    found = [fit.fire.dependence for fit in (calibrate([one.data]) for one in made) if fit.fire]
    right = [(one.restart == "lid_close") == restarts_at_lid for one in found]
    assert len(found) == 40 and sum(right) >= 38


def test_reloads_of_an_empty_hopper_cannot_tell_that_and_the_margin_says_so() -> None:
    assert {fit.fire.dependence.restart_margin for fit, _ in fits("hazard") if fit.fire} == {0.0}


def test_every_count_that_is_frequent_enough_is_covered() -> None:
    for k, p in enumerate(DEALT, start=1):
        judged = [fit.count for fit, _ in fits("hazard") if fit.count and fit.count.n * p >= 5]
        covered = sum(count.ci_low[k - 1] <= p <= count.ci_high[k - 1] for count in judged)
        # A count that is frequent enough in some campaigns only: the bound that 95 % passes in 999 of 1,000 tries.
        assert covered >= (AT_LEAST if len(judged) == CAMPAIGNS else binom.ppf(0.001, len(judged), 0.95)), k
