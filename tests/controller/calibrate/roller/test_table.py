# SPDX-License-Identifier: Apache-2.0
"""Every press lands in the statistics or under one named rule."""

from __future__ import annotations

from typing import Any

import pytest

from controller.calibrate.roller.fire import presses_since
from controller.calibrate.roller.presses import RULES
from controller.calibrate.roller.table import tabulate
from controller.store.records import Fill
from tests.controller.conftest import RunMaker, TrialMaker


def a_fill(number: int, *, remaining: int | None, difference: int | None) -> Fill:
    """A fill of 83 cards as far as the rules look at it."""
    return Fill(number, 83, remaining, None, None, 0, 0, 0, difference)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, ""),
        ({"verdict": "no_run"}, ""),
        ({"verdict": "ok", "spoiled": "link"}, "spoiled"),
        ({"verdict": "fault", "spoiled": "ring_full"}, "spoiled"),
        ({"verdict": "rejected"}, "rejected"),
        ({"verdict": "aborted"}, "aborted"),
        ({"verdict": "fault"}, "fault"),
        ({"verdict": "jam", "accepted": False}, "fault"),
        ({"verdict": "slip"}, "slip"),
        ({"verdict": "jam"}, "jam"),
        ({"verdict": "empty", "hopper": 0}, "empty"),
    ],
)
def test_a_press_is_listed_under_the_rule_that_applies(
    trial: TrialMaker, run_of: RunMaker, changes: dict[str, Any], rule: str
) -> None:
    presses = tabulate([run_of([trial(**changes)])])
    assert presses.rule.tolist() == [rule]
    assert presses.excluded() == {name: int(name == rule) for name in RULES}


def test_nothing_is_tabulated_of_no_press(run_of: RunMaker) -> None:
    presses = tabulate([run_of([])])
    assert presses.rule.shape == presses.fired.shape == presses.since_unsure.shape == (0,)
    assert presses.largest == 0


def test_a_hopper_lower_than_the_largest_count_keeps_a_press_out_whatever_it_dealt(trial: TrialMaker, run_of: RunMaker) -> None:
    trials = [
        trial(number=1, cleared=5, hopper=83),
        trial(number=2, cleared=1, hopper=5),
        trial(number=3, cleared=4, hopper=4),
        trial(number=4, cleared=1, hopper=4),
        trial(number=5, verdict="no_run", hopper=3),
    ]
    presses = tabulate([run_of(trials)])
    assert presses.rule.tolist() == ["", "", "low_hopper", "low_hopper", ""]
    assert presses.usable.all()
    assert presses.dealt[presses.counted].tolist() == [5, 1]


def test_a_fill_found_empty_against_the_ledger_loses_its_last_cards_and_what_follows(trial: TrialMaker, run_of: RunMaker) -> None:
    trials = [
        trial(number=1, fill=1),
        trial(number=2, fill=1),
        trial(number=3, fill=1, verdict="no_run"),
        trial(number=4, fill=1, verdict="slip"),
        trial(number=5, fill=2),
    ]
    fills = [a_fill(1, remaining=0, difference=2), a_fill(2, remaining=0, difference=0)]
    presses = tabulate([run_of(trials, fills)])
    assert presses.rule.tolist() == ["", "hopper_found_empty", "", "hopper_found_empty", ""]
    assert presses.usable.all() and presses.fired.tolist() == [True, True, False, True, True]


@pytest.mark.parametrize(("remaining", "difference"), [(0, 0), (0, -1), (3, 2), (None, None)])
def test_a_fill_with_nothing_missing_or_something_left_stays(
    trial: TrialMaker, run_of: RunMaker, remaining: int | None, difference: int | None
) -> None:
    presses = tabulate([run_of([trial()], [a_fill(1, remaining=remaining, difference=difference)])])
    assert presses.rule.tolist() == [""]


def test_fills_of_different_runs_are_different_clusters(trial: TrialMaker, run_of: RunMaker) -> None:
    run = run_of([trial(number=1, fill=1), trial(number=2, fill=2)])
    assert tabulate([run, run]).cluster.tolist() == [0, 1, 2, 3]


def test_a_press_that_nobody_saw_hides_how_long_ago_the_fire_was(trial: TrialMaker, run_of: RunMaker) -> None:
    def press(number: int, since_fire: int | None, **changes: Any) -> Any:
        return trial(number=number, since_fire=since_fire, since_power_on=number, since_lid_close=number, **changes)

    trials = [
        press(1, None),
        press(2, 1, verdict="no_run"),
        press(3, 2, verdict="rejected"),
        press(4, 2, verdict="fault"),
        press(5, 3, verdict="no_run"),
        press(6, 4),
        press(7, 1),
    ]
    presses = tabulate([run_of(trials)])
    assert presses_since(presses, "never").tolist() == [0, 1, 2, 2, 0, 0, 1]


def test_a_fault_before_actuation_hides_nothing(trial: TrialMaker, run_of: RunMaker) -> None:
    trials = [trial(number=1), trial(number=2, verdict="fault", tick=None, since_fire=1), trial(number=3, since_fire=1)]
    assert presses_since(tabulate([run_of(trials)]), "never").tolist() == [0, 1, 1]


@pytest.mark.parametrize(("restart", "expected"), [("never", [0, 5, 5]), ("power_on", [7, 5, 3]), ("lid_close", [2, 2, 1])])
def test_the_restart_rule_says_what_else_the_count_begins_at(
    trial: TrialMaker, run_of: RunMaker, restart: str, expected: list[int]
) -> None:
    trials = [
        trial(number=1, since_fire=None, since_power_on=7, since_lid_close=2),
        trial(number=2, since_fire=5, since_power_on=9, since_lid_close=2),
        trial(number=3, since_fire=5, since_power_on=3, since_lid_close=1),
    ]
    assert presses_since(tabulate([run_of(trials)]), restart).tolist() == expected
