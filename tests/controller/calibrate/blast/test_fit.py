# SPDX-License-Identifier: Apache-2.0
"""The blaster's fit as a whole: what it refuses, what it cannot know, and that resets change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.calibrate.blast.fit import BlastFit
from controller.calibrate.fit import CalibrationError, calibrate
from controller.store.records import RunData
from tests.controller.calibrate.blast.simulate import campaign, insert, run_of_inserts


def fitted(*runs: RunData) -> BlastFit:
    found = calibrate(runs)
    assert isinstance(found, BlastFit)
    return found


def test_cards_ejected_by_a_reset_enter_nothing() -> None:
    data = campaign("constant", 3, inserts=400, give_up=0.2).data
    with_resets = fitted(data)
    without = fitted(replace(data, trials=tuple(trial for trial in data.trials if trial.kind == "insert")))
    assert len(data.trials) > 430
    assert with_resets == without


@pytest.mark.parametrize("verdict", ["fault", "aborted"])
def test_no_hazard_is_given_when_too_many_inserts_are_lost(verdict: str) -> None:
    kept = [insert(i, i, 1) for i in range(1, 20)]
    lost = insert(20, 20, 1, verdict=verdict, fired=False)
    assert fitted(run_of_inserts([*kept, lost])).hazard is not None
    found = fitted(run_of_inserts([*kept[1:], lost]))
    assert found.hazard is found.rivals is found.model is None
    assert found.hazard_reason.startswith("1 of 19 inserts were spoiled")


def test_without_an_insert_that_counts_there_is_a_reason() -> None:
    for trials in ([], [insert(1, 1, 0, verdict="rejected")]):
        found = fitted(run_of_inserts(trials))
        assert (found.hazard, found.hazard_reason) == (None, "no usable insert")


@pytest.mark.parametrize(
    ("settings", "message"),
    [([{"slots": 4}, {"slots": 3}], "differ in slots"), ([{"slots": 4}, {}], "differ in slots"), ([{}], "slots is missing")],
)
def test_the_number_of_slots_must_be_known_and_the_same(settings: list[dict[str, Any]], message: str) -> None:
    runs = [run_of_inserts([], id=i, settings=each) for i, each in enumerate(settings)]
    with pytest.raises(CalibrationError, match=message):
        calibrate(runs)


def test_two_runs_together_are_their_inserts_together() -> None:
    first, second = campaign("creeping", 1, inserts=200).data, campaign("creeping", 2, inserts=300).data
    second = replace(second, run=replace(second.run, id=2))
    both, one, two = fitted(first, second), fitted(first), fitted(second)
    assert both.n_trials == 500
    assert both.hazard is not None and one.hazard is not None and two.hazard is not None
    pairs = zip(both.hazard.by_insert, one.hazard.by_insert, two.hazard.by_insert, strict=True)
    assert all(all_.n == a.n + b.n and all_.events == a.events + b.events for all_, a, b in pairs)


VERDICTS = ["held", "blast", "partial", "latch_fault", "jam", "rejected", "aborted", "fault"]


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.integers(1, 4), st.integers(1, 4), st.booleans()), max_size=40))
def test_any_sequence_of_inserts_can_be_fitted(made: list[tuple[str, int, int, bool]]) -> None:
    trials, round_ = [], 0
    for number, (verdict, k, slot, new) in enumerate(made, start=1):
        round_ += new
        trials.append(insert(number, round_, k, verdict=verdict, slot=slot))
    found = fitted(run_of_inserts(trials))
    assert found.n_trials == len(made)
    assert found.hazard is None or found.hazard.n + sum(found.excluded.values()) == len(made)
