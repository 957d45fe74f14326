# SPDX-License-Identifier: Apache-2.0
"""The rivals' likelihoods against integrals, enumeration and one-at-a-time prediction; who wins against known launchers."""

from __future__ import annotations

from itertools import permutations
from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta

from controller.calibrate.blast.fit import by_fold
from controller.calibrate.blast.rivals import FOLDS, LEAST_ROUNDS, RIVALS, Rival, Rivals, compare, points
from controller.calibrate.blast.table import tabulate
from tests.controller.calibrate.blast.simulate import BRAINS, Brain, campaign, constant

Ints = npt.NDArray[np.int64]
RIGHT = {"constant": "constant", "hidden_slot": "hidden_slot", "creeping": "free"}
AT_RISK, FIRED = np.array([23, 15, 9, 4]), np.array([7, 6, 4, 4])


def in_one_fold(counts: Ints) -> Ints:
    """Counts by insert, all of them in the first fold."""
    return np.vstack([counts, np.zeros((FOLDS - 1, counts.size), dtype=np.int64)])


def compared(brain: str | Brain, seed: int, inserts: int, slots: int = 4) -> Rivals:
    table = tabulate([campaign(brain, seed, inserts=inserts, slots=slots).data])
    return compare(*by_fold(table, slots), int(table.round.max()) + 1)


def rival(name: str, at_risk: Ints = AT_RISK, fired: Ints = FIRED) -> Rival:
    return {one.name: one for one in compare(in_one_fold(at_risk), in_one_fold(fired), 200).rivals}[name]


def test_the_marginal_likelihood_of_one_probability_is_the_integral_over_it() -> None:
    n, x = int(AT_RISK.sum()), int(FIRED.sum())
    whole, _ = quad(lambda p: exp(x * log(p) + (n - x) * log(1 - p)), 0, 1, epsabs=0)
    assert rival("constant").log_marginal == pytest.approx(log(whole))


def test_the_marginal_likelihood_of_the_free_hazard_is_a_product_of_such_integrals() -> None:
    whole = [quad(lambda p, n=n, x=x: p**x * (1 - p) ** (n - x), 0, 1, epsabs=0)[0] for n, x in zip(AT_RISK, FIRED, strict=True)]
    assert rival("free").log_marginal == pytest.approx(sum(map(log, whole)))


@pytest.mark.parametrize("name", ["constant", "free"])
def test_the_marginal_likelihood_is_the_sum_of_scores_of_predicting_each_insert_from_those_before(name: str) -> None:
    seen = np.zeros((4, 2))
    total = 0.0
    table = tabulate([campaign("creeping", 2, inserts=120).data])
    for k, fired in zip(table.k - 1, table.fired, strict=True):
        known = seen[k] if name == "free" else seen.sum(axis=0)
        total += log((known[int(fired)] + 1) / (known.sum() + 2))
        seen[k, int(fired)] += 1
    at_risk, fired_ = by_fold(table, 4)
    (found,) = (one for one in compare(at_risk, fired_, 40).rivals if one.name == name)
    assert found.log_marginal == pytest.approx(total)


def test_the_likelihood_of_the_hidden_slot_is_the_chance_over_all_triggers() -> None:
    for slots in (1, 2, 3, 5):
        for order in permutations(range(slots)):
            for released_at in range(1, slots + 1):  # this order, and a release at just this insert
                chance = sum(order.index(trigger) + 1 == released_at for trigger in range(slots)) / slots
                at_risk = np.array([1] * released_at + [0] * (slots - released_at))
                fired = np.array([int(k == released_at) for k in range(1, slots + 1)])
                assert rival("hidden_slot", at_risk, fired).log_likelihood == pytest.approx(log(chance), abs=1e-12)


def test_a_full_blaster_that_held_makes_the_hidden_slot_impossible() -> None:
    found = compare(in_one_fold(AT_RISK), in_one_fold(FIRED - [0, 0, 0, 1]), 200)
    (hidden,) = (one for one in found.rivals if one.name == "hidden_slot")
    assert (hidden.log_likelihood, hidden.aic, hidden.bic, hidden.log_marginal, hidden.log_score) == (None,) * 5
    assert "hidden_slot" not in (found.best, found.runner_up)


def test_likelihood_and_criteria_by_hand() -> None:
    found = rival("free")
    likelihood = sum(x * log(x / n) + ((n - x) * log(1 - x / n) if n > x else 0) for n, x in zip(AT_RISK, FIRED, strict=True))
    assert (found.parameters, found.log_likelihood) == (4, pytest.approx(likelihood))
    assert (found.aic, found.bic) == (pytest.approx(8 - 2 * likelihood), pytest.approx(4 * log(51) - 2 * likelihood))
    hidden = rival("hidden_slot")
    assert hidden.parameters == 0 and hidden.log_likelihood == hidden.log_marginal == hidden.log_score
    assert hidden.log_likelihood is not None and hidden.aic == hidden.bic == -2 * hidden.log_likelihood


def test_the_log_score_predicts_each_fold_from_the_others() -> None:
    table = tabulate([campaign("creeping", 4, inserts=150, give_up=0.1).data])
    at_risk, fired = by_fold(table, 4)
    assert at_risk.sum() == 150 and fired.sum() == table.fired.sum()
    expected = {"constant": 0.0, "free": 0.0}
    for k, one, released in zip(table.k, table.round, table.fired, strict=True):
        others = table.round % FOLDS != one % FOLDS
        for name, like in (("constant", others), ("free", others & (table.k == k))):
            p = (table.fired[like].sum() + 1) / (like.sum() + 2)
            expected[name] += log(p if released else 1 - p)
    found = {one.name: one.log_score for one in compare(at_risk, fired, 60).rivals}
    assert found["constant"] == pytest.approx(expected["constant"])
    assert found["free"] == pytest.approx(expected["free"])


def test_the_hazard_of_a_rival_is_its_posterior_mean_and_interval() -> None:
    (first, *others) = points("constant", AT_RISK, FIRED)
    assert others == [first] * 3
    posterior = beta(21 + 1, 51 - 21 + 1)
    assert (first.p, first.ci_low, first.ci_high) == pytest.approx((posterior.mean(), *posterior.interval(0.95)))
    for point, n, x in zip(points("free", AT_RISK, FIRED), AT_RISK, FIRED, strict=True):
        posterior = beta(x + 1, n - x + 1)
        assert (point.p, point.ci_low, point.ci_high) == pytest.approx((posterior.mean(), *posterior.interval(0.95)))
    assert [point.p for point in points("hidden_slot", AT_RISK, FIRED)] == [1 / 4, 1 / 3, 1 / 2, 1]
    (*_, last) = points("free", np.array([9, 0]), np.array([9, 0]))
    assert (last.p, last.ci_low, last.ci_high) == (None, 0, 1)


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("brain", BRAINS)
def test_fifty_inserts_never_tell(brain: str, slots: int) -> None:
    for seed in range(20):
        found = compared(brain, seed, 50, slots)
        assert found.winner is None and found.evidence == ""
        assert found.reason.startswith("the data cannot tell")


@pytest.mark.parametrize("brain", BRAINS)
def test_a_thousand_inserts_tell_and_the_wrong_rival_never_wins_with_strong_evidence(brain: str) -> None:
    found = [compared(brain, seed, 1000) for seed in range(30)]
    assert sum(one.winner == RIGHT[brain] for one in found) >= 28
    assert not [one for one in found if one.winner not in (None, RIGHT[brain]) and one.evidence != "positive"]


def test_two_slots_can_be_told_apart_though_not_always() -> None:
    found = [compared("hidden_slot", seed, 1000, 2) for seed in range(20)]
    assert {one.winner for one in found} == {"hidden_slot"}
    found = [compared(constant(0.3), seed, 1000, 2) for seed in range(20)]
    assert {one.winner for one in found} <= {"constant", None}


def test_with_one_slot_the_free_hazard_is_the_constant_one_and_is_no_rival() -> None:
    found = compared(constant(0.3), 1, 400, 1)
    assert [one.name for one in found.rivals] == ["constant", "hidden_slot"]
    assert (found.winner, found.log_bayes_factor, found.evidence) == ("constant", None, "very strong")
    assert compared("hidden_slot", 1, 400, 1).winner == "hidden_slot"


@pytest.mark.parametrize(
    ("n", "word"), [(1, ""), (3, "positive"), (18, "positive"), (20, "strong"), (148, "strong"), (150, "very strong")]
)
def test_the_words_at_their_limits(n: int, word: str) -> None:
    # One slot that always releases: 1 under `hidden_slot`, 1/(n + 1) under `constant`, so that the Bayes factor is n + 1.
    found = compare(in_one_fold(np.array([n])), in_one_fold(np.array([n])), 200)
    assert found.log_bayes_factor == pytest.approx(log(n + 1))
    assert (found.winner, found.evidence) == ("hidden_slot" if word else None, word)


COUNTS = st.integers(1, 6).flatmap(
    lambda slots: st.lists(
        st.lists(st.integers(0, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=slots, max_size=slots),
        min_size=FOLDS,
        max_size=FOLDS,
    )
)


@given(COUNTS, st.integers(0, 300))
def test_whoever_wins_is_at_least_three_times_as_likely_and_the_words_are_kass_and_rafterys(
    made: list[list[tuple[int, int]]], rounds: int
) -> None:
    counts = np.array(made)
    found = compare(counts[..., 0], counts[..., 1], rounds)
    marginal = {one.name: -np.inf if one.log_marginal is None else one.log_marginal for one in found.rivals}
    assert set(marginal) <= set(RIVALS)
    assert marginal[found.best] == max(marginal.values())
    factor = np.inf if found.log_bayes_factor is None else exp(min(found.log_bayes_factor, 600))
    told = found.winner is not None
    assert told == (factor >= 3 and rounds >= LEAST_ROUNDS) == (found.reason == "")
    words = "very strong" if factor >= 150 else "strong" if factor >= 20 else "positive"
    assert found.evidence == (words if told else "")
