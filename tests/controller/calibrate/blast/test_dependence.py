# SPDX-License-Identifier: Apache-2.0
"""Rounds that depend on the rounds before are found out, those that do not are left in peace, and what cannot be told is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2_contingency

from controller.calibrate.blast.dependence import LEAST_ROUNDS, Dependence, fit_dependence, residuals, slots_test
from controller.calibrate.blast.inserts import Inserts
from controller.calibrate.blast.table import tabulate
from controller.store.records import RunData, Trial
from tests.controller.calibrate.blast.simulate import BRAINS, insert, reset, run_of_inserts, table_of

Ints = npt.NDArray[np.int64]
SLOTS = 4
CAMPAIGNS, LEAST_FOUND = 100, 90


def of_brain(brain: str, rounds: int, seed: int) -> Inserts:
    hazard = np.tile([BRAINS[brain](k, SLOTS) for k in range(1, SLOTS + 1)], (rounds, 1))
    trigger = np.random.default_rng((seed, 1)).integers(1, SLOTS + 1, rounds) if brain == "hidden_slot" else None
    return table_of(hazard, seed, trigger=trigger)


def cycle(rounds: int, seed: int) -> Inserts:
    return table_of(np.zeros((rounds, SLOTS)), seed, trigger=np.arange(rounds) % SLOTS + 1)


def halved(p: float, rounds: int, seed: int) -> Inserts:
    """A constant hazard that is half as large in the second half."""
    return table_of(np.repeat([[p], [p / 2]], rounds // 2, axis=0) * np.ones(SLOTS), seed)


def judged(inserts: Inserts, order: str | None = "random") -> Dependence:
    return fit_dependence(inserts, SLOTS, [order])


def by_residuals(found: Dependence) -> dict[str, float]:
    tests = found.residuals
    assert tests.lag1 is not None and tests.runs_test is not None and tests.drift is not None
    return {"lag1": tests.lag1.p_value, "runs": tests.runs_test.p_value, "drift": tests.drift.p_value}


# ---------------------------------------------------------------- of known truth


def test_independent_rounds_are_called_dependent_in_at_most_a_hundredth() -> None:
    made = [judged(of_brain(brain, 200, seed)) for seed in range(334) for brain in BRAINS]
    verdicts = Counter(found.winner for found in made)
    assert len(made) > 1000 and verdicts["dependent"] <= 15 and not verdicts["undecided"]
    # Nor are the tests blunt: 5 % of 1,002 are 50, with a deviation of 7.
    for name in ("lag1", "runs"):
        assert 29 <= sum(by_residuals(found)[name] < 0.05 for found in made) <= 75, name
    assert 29 <= sum((found.trigger_slots.p_value or 0) < 0.05 for found in made) <= 75
    assert sum(by_residuals(found)["drift"] < 0.05 for found in made) <= 75


def test_where_most_rounds_go_alike_the_level_is_kept() -> None:
    # One residual in twenty differs: a normal p-value of lag 1 or runs is below 0.0025 in 2 % here.
    made = [judged(table_of(np.full((50, SLOTS), 0.95), seed)) for seed in range(400)]
    assert sum(found.winner == "dependent" for found in made) <= 10


def test_a_fixed_cycle_of_trigger_slots_is_found_though_each_round_looks_like_a_hidden_slot() -> None:
    made = [judged(cycle(100, seed)) for seed in range(CAMPAIGNS)]
    assert sum(found.winner == "dependent" for found in made) >= 99
    assert sum(min(by_residuals(found).values()) < 0.01 / 4 for found in made) <= 5, "it is the slots that tell"


def test_with_the_fewest_pairs_a_fixed_cycle_is_found() -> None:
    slot = np.arange(21) % SLOTS + 1
    assert slots_test(slot, np.zeros(21, dtype=np.int64), np.ones(20, dtype=np.bool_))[1] == 0.001


@pytest.mark.parametrize("p", [0.4, 0.9])
def test_a_hazard_that_halves_on_the_way_is_found_by_the_drift(p: float) -> None:
    made = [judged(halved(p, 400, seed)) for seed in range(CAMPAIGNS)]
    assert sum(found.winner == "dependent" and by_residuals(found)["drift"] < 0.01 / 4 for found in made) >= LEAST_FOUND


def test_a_high_hazard_that_halves_is_found_by_lag_1_or_runs_as_well() -> None:
    made = [by_residuals(judged(halved(0.9, 400, seed))) for seed in range(CAMPAIGNS)]
    assert sum(min(found["lag1"], found["runs"]) < 0.01 / 4 for found in made) >= LEAST_FOUND


def test_rounds_that_are_easy_and_hard_in_turn_are_found_by_lag_1_and_by_runs() -> None:
    hazard = np.tile([[0.2], [0.7]], (100, SLOTS))
    made = [judged(table_of(hazard, seed)) for seed in range(CAMPAIGNS)]
    assert sum(found.winner == "dependent" for found in made) >= LEAST_FOUND
    assert all(found.residuals.lag1 is not None and found.residuals.lag1.r < 0 for found in made)
    assert all(found.residuals.runs_test is not None and found.residuals.runs_test.z > 0 for found in made)


# ---------------------------------------------------------------- residuals


def test_residuals_by_hand_censored_rounds_included() -> None:
    # Hazards 1/3 at the first insert, 1 at the second.
    k, fired = np.array([1, 2, 1, 1]), np.array([False, True, True, False])
    found = residuals(k, fired, np.array([0, 0, 1, 2]))
    assert found == pytest.approx([1 - 1 / 3 - 1, 1 - 1 / 3, -1 / 3])


def test_residuals_of_a_campaign_sum_to_0_and_each_is_in_the_range_of_a_martingale() -> None:
    inserts = of_brain("creeping", 500, 1)
    found = residuals(inserts.k, inserts.fired, inserts.round)
    assert found.size == 500 and found.sum() == pytest.approx(0, abs=1e-9)
    assert found.max() < 1 and found.var() > 0.1


# ---------------------------------------------------------------- trigger slots


def test_the_statistic_is_pearsons() -> None:
    slot = np.random.default_rng(2).integers(1, 5, 60)
    table = np.zeros((4, 4), dtype=np.int64)
    np.add.at(table, (slot[:-1] - 1, slot[1:] - 1), 1)
    found, _ = slots_test(slot, np.zeros(60, dtype=np.int64), np.ones(59, dtype=np.bool_))
    assert found == pytest.approx(chi2_contingency(table, correction=False).statistic)


@pytest.mark.parametrize("slot", [[1, 2, 1, 2, 1, 2, 1], [1, 1, 1, 2, 2, 3, 3], [2, 1, 3, 1, 2, 3, 1], [4, 4, 4, 4, 4, 4, 4]])
def test_the_p_value_is_that_of_all_orders(slot: list[int]) -> None:
    def statistic(order: tuple[int, ...]) -> float:
        seen = Counter(pairwise(order))
        first, second = Counter(order[:-1]), Counter(order[1:])
        return sum((seen[a, b] - n * m / 6) ** 2 / (n * m / 6) for a, n in first.items() for b, m in second.items())

    orders = [statistic(order) for order in permutations(slot)]
    exact = sum(one >= orders[0] - 1e-9 for one in orders) / len(orders)
    _, found = slots_test(np.array(slot), np.zeros(7, dtype=np.int64), np.ones(6, dtype=np.bool_))
    # At most 999 draws, or 50 that reach it: the larger deviation is a seventh.
    assert found == pytest.approx(exact, rel=0.45, abs=0.003)


def test_runs_that_have_each_their_own_slot_are_no_dependence() -> None:
    slot, run = np.repeat([1, 2, 3], 30), np.repeat([0, 1, 2], 30)
    assert slots_test(slot, run, np.diff(run) == 0) == (pytest.approx(174), 1.0)


def test_pairs_are_adjacent_rounds_of_one_run_that_both_released() -> None:
    def released(number: int, round_: int) -> Trial:
        return insert(number, round_, 1, verdict="blast")

    first = [released(1, 1), released(2, 2), insert(3, 3, 1), reset(4, 3, 1), released(5, 4), released(6, 6)]
    lost = [released(1, 1), insert(2, 2, 1, verdict="fault", fired=False), released(3, 3), released(4, 4)]
    runs = [run_of_inserts(first), run_of_inserts(lost)]
    found = fit_dependence(tabulate(runs), SLOTS, ["random", "fixed:2,1"])
    assert found.rounds == 8
    # Rounds 1 and 2; 4 and 6, between which none was begun; then 3 and 4 of the other run.
    assert found.trigger_slots.pairs == 3
    assert found.trigger_slots.reason == "adjacent rounds that both released: 3 pairs of the 20 needed"


def in_sequence(p: float, rounds: int, seed: int) -> tuple[Ints, Ints]:
    """Slot of each release and number of its round, of a toy without memory whose slots are filled in sequence."""
    random = np.random.default_rng(seed)
    slot, found = 0, []
    for round_ in range(rounds):
        for _ in range(SLOTS):
            slot = slot % SLOTS + 1
            if random.random() < p:
                found.append((slot, round_))
                break
    slots, numbers = np.array(found).T
    return slots, numbers


def test_the_slots_are_not_tested_where_the_order_of_inserts_ties_them() -> None:
    slot, number = in_sequence(0.6, 200, 1)
    _, p_value = slots_test(slot, np.zeros_like(slot), np.diff(number) == 1)
    assert p_value == 0.001, "so an innocent toy would be accused"
    for order, name in (("sequential", "sequential"), (None, "unknown")):
        found = judged(of_brain("constant", 500, 1), order)
        assert (found.trigger_slots.pairs, found.trigger_slots.p_value, found.tests) == (0, None, 3)
        reason = f"order {name}: the order of inserts itself ties the slots of adjacent rounds"
        assert found.trigger_slots.reason == found.reason == reason and found.winner == "undecided"


def test_of_runs_in_several_orders_those_that_allow_it_are_tested() -> None:
    tied, free = cycle(200, 1), of_brain("hidden_slot", 200, 2)
    both = {name: np.concatenate([getattr(tied, name), getattr(free, name)]) for name in Inserts.__dataclass_fields__}
    both["run"] = np.repeat([0, 1], [tied.run.size, free.run.size])
    both["round"] = np.concatenate([tied.round, free.round + 200])
    found = fit_dependence(Inserts(**both), SLOTS, ["sequential", "random"])
    alone = judged(free)
    assert found.trigger_slots == alone.trigger_slots and found.rounds == 400
    assert fit_dependence(Inserts(**both), SLOTS, ["fixed", "random"]).winner == "dependent"


# ---------------------------------------------------------------- verdict


def test_a_few_rounds_can_be_dependent_but_not_independent() -> None:
    few, enough = judged(of_brain("hidden_slot", LEAST_ROUNDS - 1, 1)), judged(of_brain("hidden_slot", LEAST_ROUNDS, 1))
    assert (few.winner, few.reason) == ("undecided", "too few rounds: 49 of the 50 needed")
    assert (enough.winner, enough.reason) == ("independent", "")
    found = judged(cycle(LEAST_ROUNDS - 1, 1))
    assert (found.winner, found.reason) == ("dependent", "")


def test_the_p_value_is_the_smallest_times_the_number_of_tests() -> None:
    found = judged(of_brain("constant", 300, 7))
    smallest = min(*by_residuals(found).values(), found.trigger_slots.p_value or 0)
    assert (found.tests, found.p_value) == (4, pytest.approx(min(1, 4 * smallest)))


def test_a_toy_that_always_releases_at_once_leaves_nothing_to_ask_of_residuals() -> None:
    found = judged(table_of(np.ones((200, SLOTS)), 1))
    assert found.residuals.lag1 is found.residuals.runs_test is found.residuals.drift is None
    assert (found.winner, found.tests) == ("undecided", 1) and found.reason.startswith("within each run all residuals")


def data_of(make: Callable[[int, int], Inserts]) -> RunData:
    """The same rounds as a stored run."""
    inserts = make(200, 1)
    rows = zip(inserts.round.tolist(), inserts.k.tolist(), inserts.slot.tolist(), inserts.fired.tolist(), strict=True)
    trials = [
        insert(i, round_ + 1, k, slot=slot, verdict="blast" if fired else "held")
        for i, (round_, k, slot, fired) in enumerate(rows, start=1)
    ]
    return run_of_inserts(trials)


def test_a_run_from_the_store_is_judged_as_its_table_is() -> None:
    data, inserts = data_of(cycle), cycle(200, 1)
    assert judged(tabulate([data])) == judged(inserts)
    twice = tabulate([data, replace(data, run=replace(data.run, id=2))])
    found = fit_dependence(twice, SLOTS, ["random", "random"])
    assert found.trigger_slots.pairs == 2 * judged(inserts).trigger_slots.pairs
