# SPDX-License-Identifier: Apache-2.0
"""What flies, given a release, and what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from controller.calibrate.blast.release import fit_ejected, fit_faults
from controller.calibrate.blast.table import tabulate
from controller.calibrate.categorical import WEIGHT_TOTAL
from controller.store.records import Trial
from tests.controller.calibrate.blast.simulate import campaign, insert, run_of_inserts


def a_round(number: int, round_: int, loaded: int, **last: object) -> list[Trial]:
    """A round that ends with its insert `loaded`."""
    held = [insert(number + k, round_, k + 1) for k in range(loaded - 1)]
    return [*held, insert(number + loaded - 1, round_, loaded, **last)]


MADE = [
    *a_round(1, 1, 1, verdict="blast"),
    *a_round(2, 2, 2, verdict="blast"),
    *a_round(4, 3, 2, verdict="partial", cleared=1),
    *a_round(6, 4, 2, verdict="latch_fault"),
    *a_round(8, 5, 3, verdict="jam", cleared=1),
    *a_round(11, 6, 2, verdict="jam", fired=False),
    insert(13, 7, 0, verdict="rejected", reason="no_sound"),
    insert(14, 7, 1, loaded=2, slot=2, verdict="blast", cleared=2),
    insert(15, 8, 1, verdict="fault", reason="more_than_loaded", fired=True, cleared=2),
]


def test_cards_ejected_given_loaded_by_hand() -> None:
    one, two, three, four = fit_ejected(tabulate([run_of_inserts(MADE)]), 4)
    assert one is not None and (one.support, one.alpha, one.n) == ((0, 1), (0.5, 1.5), 1)
    assert two is not None and two.support == (0, 1, 2)
    assert two.alpha == (1.5, 1.5, 2.5)  # a latch fault, a partial release, and two blasts, one with a card nobody noticed
    assert three is None and four is None  # a jam says nothing of a sound release
    marginal = beta(2.5, 3)
    assert (two.p[2], two.ci_low[2], two.ci_high[2]) == pytest.approx((marginal.mean(), *marginal.interval(0.95)))


def test_faults_per_insert_and_per_release_by_hand() -> None:
    faults = fit_faults(tabulate([run_of_inserts(MADE)]))
    found = {
        name: (rate.per_insert.events, rate.per_insert.n, rate.per_release and (rate.per_release.events, rate.per_release.n))
        for name, rate in faults.items()
    }
    # 13 inserts that the toy took, 6 releases; one jam came without a release.
    assert found == {
        "partial": (1, 13, (1, 6)),
        "latch_fault": (1, 13, (1, 6)),
        "jam": (2, 13, (1, 6)),
        "rejected": (1, 14, None),
    }
    exact = binomtest(1, 6).proportion_ci(method="exact")
    latch = faults["latch_fault"].per_release
    assert latch is not None and (latch.ci_low, latch.ci_high) == pytest.approx((exact.low, exact.high))


def test_what_the_toy_ejects_is_recovered_and_weights_sum_exactly() -> None:
    made = campaign("constant", 8, inserts=6000, partial=0.1, latch_fault=0.05)
    for loaded, counts in enumerate(fit_ejected(tabulate([made.data]), 4), start=1):
        short = 0.1 if loaded > 1 else 0
        true = [0.05, *[short / max(loaded - 1, 1)] * (loaded - 1), 0.95 - short]
        assert counts is not None and counts.support == tuple(range(loaded + 1))
        assert sum(counts.weights) == WEIGHT_TOTAL
        for cards, p in enumerate(true):
            assert abs(counts.p[cards] - p) < 4 * np.sqrt(p * (1 - p) / counts.n) + 1 / counts.n


def test_without_any_insert_no_rate_is_made_up() -> None:
    inserts = tabulate([run_of_inserts([])])
    assert fit_ejected(inserts, 2) == (None, None)
    for rate in fit_faults(inserts).values():
        assert (rate.per_insert.p, rate.per_insert.ci_low, rate.per_insert.ci_high) == (None, 0, 1)
