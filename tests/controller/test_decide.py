# SPDX-License-Identifier: Apache-2.0
"""The controller decides like the toy's models, reproducibly, and apart from a twin of the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from controller.decide import DecisionSource
from rig.brains import HAZARD, MODELS, P_FIRE, RUNS, SEQUENCE, SEQUENCE_LENGTH, Brain

TIMES = {run_ms for run_ms, _ in RUNS}


def times(source: DecisionSource, presses: int) -> list[int]:
    return [source.next_run_ms() for _ in range(presses)]


def gaps(found: list[int]) -> list[int]:
    """Presses from each fire to the next."""
    return list(np.diff([-1, *(n for n, run_ms in enumerate(found) if run_ms)]))


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_times(model: str) -> None:
    assert times(DecisionSource(model, 7), 200) == times(DecisionSource(model, 7), 200)


@pytest.mark.parametrize("model", MODELS)
def test_another_seed_gives_other_times(model: str) -> None:
    assert times(DecisionSource(model, 7), 200) != times(DecisionSource(model, 8), 200)


@pytest.mark.parametrize("model", MODELS)
def test_a_press_runs_for_a_known_time_or_not_at_all(model: str) -> None:
    assert set(times(DecisionSource(model, 1), 3000)) == TIMES | {0}


def test_iid_fires_with_its_one_probability() -> None:
    n = 20_000
    fires = sum(run_ms > 0 for run_ms in times(DecisionSource("iid", 1), n))
    assert abs(fires - n * P_FIRE) < 5 * (n * P_FIRE * (1 - P_FIRE)) ** 0.5


def test_hazard_fires_by_the_presses_since_the_last_fire() -> None:
    found = gaps(times(DecisionSource("hazard", 1), 20_000))
    assert max(found) == len(HAZARD), "the last probability is 1"
    for k, p in enumerate(HAZARD[:-1], start=1):
        at_risk = sum(gap >= k for gap in found)
        assert abs(found.count(k) - at_risk * p) < 5 * (at_risk * p * (1 - p)) ** 0.5


def test_sequence_fires_where_the_list_says_and_begins_again() -> None:
    found = times(DecisionSource("sequence", 1), 2 * SEQUENCE_LENGTH)
    fired = [n for n, run_ms in enumerate(found, start=1) if run_ms]
    assert fired == [*SEQUENCE, *(n + SEQUENCE_LENGTH for n in SEQUENCE)]


def test_a_restart_makes_the_sequence_begin_anew() -> None:
    source = DecisionSource("sequence", 1)
    times(source, 10)
    source.restart()
    assert [n for n, run_ms in enumerate(times(source, 20), start=1) if run_ms] == [n for n in SEQUENCE if n <= 20]


def test_a_restart_forgets_the_presses_since_the_last_fire() -> None:
    source = DecisionSource("hazard", 3)
    fires = 0
    for _ in range(2000):
        source.restart()
        fires += source.next_run_ms() > 0
    assert abs(fires - 2000 * HAZARD[0]) < 5 * (2000 * HAZARD[0] * (1 - HAZARD[0])) ** 0.5


def test_a_restart_does_not_repeat_the_draws() -> None:
    source = DecisionSource("iid", 5)
    first = times(source, 100)
    source.restart()
    assert times(source, 100) != first


def test_the_draws_are_not_those_of_a_twin_with_the_same_seed() -> None:
    random, toy = np.random.default_rng(7), Brain(MODELS["iid"]())
    of_a_twin = [toy.decide(*random.random(2).tolist()).run_ms for _ in range(100)]
    assert times(DecisionSource("iid", 7), 100) != of_a_twin


def test_a_model_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        DecisionSource("oracle", 1)
