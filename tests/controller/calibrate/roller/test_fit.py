# SPDX-License-Identifier: Apache-2.0
"""Fire, count and faults from presses made by hand: small enough to check on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from controller.calibrate.categorical import WEIGHT_TOTAL
from controller.calibrate.fit import calibrate
from controller.calibrate.intervals import clopper_pearson
from controller.calibrate.roller.count import fit_count
from controller.calibrate.roller.faults import fit_faults
from controller.calibrate.roller.fire import fit_fire, hazard
from controller.calibrate.roller.table import tabulate
from controller.store.records import Trial
from tests.controller.calibrate.roller.simulate import HAZARD, campaign
from tests.controller.conftest import RunMaker, TrialMaker, make_run, make_trial

VERDICTS = ["ok", "no_run", "slip", "jam", "empty", "rejected", "aborted", "fault"]


def numbered(*changes: dict[str, Any]) -> list[Trial]:
    """Trials 1, 2, 3 and so on."""
    return [make_trial(number=i, **change) for i, change in enumerate(changes, start=1)]


def test_every_run_of_the_roller_counts_as_a_fire(run_of: RunMaker) -> None:
    verdicts = ["ok", "no_run", "slip", "jam", "empty", "rejected", "fault", "no_run"]
    fire = fit_fire(tabulate([run_of(numbered(*({"verdict": verdict} for verdict in verdicts)))]))
    assert fire is not None
    assert (fire.fired, fire.n, fire.p) == (4, 6, 4 / 6)
    assert (fire.ci_low, fire.ci_high) == clopper_pearson(4, 6)
    assert fire.dependence.winner == "undecided" and fire.n_effective == 6


def test_the_hazard_counts_presses_at_each_distance_from_the_fire() -> None:
    since = np.array([1] * 10 + [2] * 7 + [3] * 2 + [4])
    fired = np.array([True] * 3 + [False] * 7 + [True] * 5 + [False] * 2 + [False, True, True])
    rows = hazard(since, fired)
    assert [(row.since_fire, row.at_risk, row.fired, row.or_more) for row in rows] == [
        (1, 10, 3, False),
        (2, 10, 7, True),
    ]
    assert (rows[1].p, (rows[1].ci_low, rows[1].ci_high)) == (0.7, clopper_pearson(7, 10))


def test_the_published_hazard_is_recovered_within_its_intervals() -> None:
    fit = calibrate([campaign("hazard", 5, presses=5000).data])
    assert fit.fire is not None
    assert [row.since_fire for row in fit.fire.hazard] == [1, 2, 3, 4]
    for row, truth in zip(fit.fire.hazard, HAZARD, strict=True):
        assert row.ci_low <= truth <= row.ci_high
    assert fit.fire.dependence.winner == "dependent"
    # The mean of h(1-h) over the presses, from the stationary shares of the four distances.
    shares = np.cumprod([1.0, *(1 - h for h in HAZARD[:-1])])
    truth = float(shares @ [h * (1 - h) for h in HAZARD] / shares.sum())
    assert fit.fire.variance == pytest.approx(truth, rel=0.05)


def test_many_independent_presses_are_called_independent() -> None:
    fit = calibrate([campaign("iid", 1, presses=3000).data])
    assert fit.fire is not None and fit.fire.dependence.winner == "iid"
    assert (fit.fire.dependence.p_value or 0) > 0.05
    assert fit.fire.method == "Clopper-Pearson, presses independent"


@pytest.mark.parametrize("verdict", ["ok", "no_run"])
def test_a_launcher_that_always_or_never_fires_has_no_dependence_to_find(run_of: RunMaker, verdict: str) -> None:
    trials = numbered(*[{"verdict": verdict, "since_fire": None}] * 300)
    fire = fit_fire(tabulate([run_of(trials)]))
    assert fire is not None and fire.dependence.p_value is None
    assert (fire.ci_low, fire.ci_high) == clopper_pearson(fire.fired, 300)


def test_the_count_is_the_dirichlet_posterior_with_half_a_card_of_prior() -> None:
    count = fit_count(np.array([1, 1, 3, 3, 3]), largest=3)
    assert count is not None
    assert count.support == (1, 2, 3)
    assert count.alpha == (2.5, 0.5, 3.5)
    assert count.p == pytest.approx([a / 6.5 for a in count.alpha])
    # The marginal of a count is Beta(3.5, 3): 2.5 % of its density, integrated numerically, lie beyond each end.
    whole = quad(lambda p: p**2.5 * (1 - p) ** 2, 0, 1)[0]
    for start, stop in ((0, count.ci_low[2]), (count.ci_high[2], 1)):
        assert quad(lambda p: p**2.5 * (1 - p) ** 2, start, stop)[0] / whole == pytest.approx(0.025, abs=1e-6)
    assert sum(count.weights) == WEIGHT_TOTAL


def test_the_support_reaches_the_largest_count_even_if_that_press_was_not_counted() -> None:
    count = fit_count(np.array([1]), largest=17)
    assert count is not None and count.support[-1] == 17


def test_faults_per_press_and_per_card_by_hand(run_of: RunMaker) -> None:
    trials = numbered(
        {"verdict": "ok", "cleared": 3, "sticking": 1},
        {"verdict": "ok", "cleared": 2},
        {"verdict": "no_run"},
        {"verdict": "slip"},
        {"verdict": "jam", "cleared": 1},
        {"verdict": "empty", "hopper": 0},
        {"verdict": "rejected"},
        {"verdict": "fault"},
    )
    faults = fit_faults(tabulate([run_of(trials)]))
    # 5 presses with cards in the hopper; 4 + 2 + 1 cards dealt, one wedged, one did not come.
    for name in ("jam", "slip", "stick"):
        rate = faults[name]
        assert rate.per_card is not None
        assert (rate.per_press.events, rate.per_press.n, rate.per_card.n) == (1, 5, 9)
        assert (rate.per_card.ci_low, rate.per_card.ci_high) == clopper_pearson(1, 9)
    assert (faults["rejected"].per_press.events, faults["rejected"].per_press.n) == (1, 7)
    assert faults["rejected"].per_card is None


def test_in_direct_drive_the_fire_is_commanded(run_of: RunMaker, trial: TrialMaker) -> None:
    fit = calibrate([run_of([trial(drive="direct")], drive="direct")])
    assert (fit.fire, fit.fire_reason) == (None, "commanded")
    assert fit.count is not None and fit.count.n == 1


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.integers(0, 4), st.booleans()), max_size=40))
def test_any_sequence_of_presses_can_be_fitted(made: list[tuple[str, int, bool]]) -> None:
    trials = numbered(*({"verdict": verdict, "hopper": hopper, "fill": 1 + lid} for verdict, hopper, lid in made))
    fit = calibrate([make_run(trials)])
    countable = fit.count.n if fit.count else 0
    silent = sum(verdict == "no_run" for verdict, _, _ in made)
    assert fit.n_trials == len(made) == sum(fit.excluded.values()) + silent + countable


def test_no_fire_probability_is_given_when_too_many_presses_are_lost() -> None:
    kept = [{"verdict": "no_run"}] * 19
    assert calibrate([make_run(numbered(*kept, {"verdict": "fault"}))]).fire is not None
    lost = calibrate([make_run(numbered(*kept[:18], {"verdict": "fault"}))])
    assert lost.fire is None
    assert "1 of 19 presses were spoiled" in lost.fire_reason
