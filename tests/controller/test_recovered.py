# SPDX-License-Identifier: Apache-2.0
"""Recovered beside true values: true probabilities are those before each draw, and no interval is called right for nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.console import Console

from controller.calibrate.fit import FITS, calibrate
from controller.odds.build import OWN, build_odds
from controller.recovered import ROWS, Row, recovered_table, rows
from tests.controller.calibrate.blast.simulate import insert, reset, run_of_inserts
from tests.controller.conftest import make_run, make_trial


def true(trial: int, **changes: Any) -> dict[str, Any]:
    nothing = {"p_fire": 0.5, "p_count": None, "cleared": 0, "sticking": 0, "jammed": 0, "double_feeds": 0}
    return {"trial": trial} | nothing | changes


ODDS: dict[str, Any] = {"fire": {"p": 0.5, "ci_low": 0.3, "ci_high": 0.7}, "count": {"value": None, "reason": "too few"}}
COUNT = {"support": [1, 2], "p": [0.6, 0.4], "ci_low": [0.5, 0.3], "ci_high": [0.7, 0.5], "n": 40}


def table(trials: list[Any], truth: list[dict[str, Any]], **odds: Any) -> dict[str, Row]:
    return {row.what: row for row in rows(make_run(trials), ODDS | odds, {"trials": truth})}


def test_the_true_probability_of_a_fire_is_the_mean_over_accepted_presses() -> None:
    trials = [make_trial(number=1), make_trial(number=2, verdict="no_run"), make_trial(number=3, verdict="rejected")]
    row = table(trials, [true(1, p_fire=0.2), true(2, p_fire=0.5), true(3, p_fire=1.0)])["P(fire)"]
    assert (row.recovered, row.true, row.inside) == ("0.5000 (0.3000 to 0.7000)", "0.3500", True)


def test_a_true_value_outside_of_the_interval_is_said_to_be_outside() -> None:
    assert table([make_trial()], [true(1, p_fire=0.9)])["P(fire)"].inside is False


def test_the_limits_belong_to_the_interval() -> None:
    assert table([make_trial()], [true(1, p_fire=0.3)])["P(fire)"].inside is True


def test_odds_without_a_value_have_no_line() -> None:
    unknown = {"value": None, "reason": "no accepted press"}
    found = table([make_trial()], [true(1, p_count=[0, 1])], fire=unknown)
    assert not {name for name in found if name.startswith("P(")}


def test_the_rig_that_decided_itself_has_no_true_probability_of_a_fire() -> None:
    assert "P(fire)" not in table([make_trial()], [true(1, p_fire=None)])


def test_the_true_count_is_conditional_on_at_least_one_card() -> None:
    trials = [make_trial(number=1), make_trial(number=2), make_trial(number=3, verdict="slip")]
    truth = [true(1, p_count=[0.5, 0.4, 0.1]), true(2, p_count=[0.2, 0.2, 0.6]), true(3, p_count=[1.0, 0.0, 0.0])]
    found = table(trials, truth, count=COUNT)
    assert found["P(1 dealt | fire)"].true == f"{(0.8 + 0.25) / 2:.4f}"
    assert found["P(2 dealt | fire)"].true == f"{(0.2 + 0.75) / 2:.4f}"
    assert found["P(1 dealt | fire)"].inside is True


def test_a_cell_that_too_few_presses_could_have_met_has_no_line() -> None:
    found = table([make_trial()], [true(1, p_count=[0.0, 0.95, 0.05])], count=COUNT)
    assert "P(1 dealt | fire)" in found
    assert "P(2 dealt | fire)" not in found  # 40 presses of 0.05 are 2


def test_a_count_longer_than_the_model_can_deal_is_no_true_cell() -> None:
    found = table([make_trial()], [true(1, p_count=[0.0, 1.0])], count=COUNT)
    assert found["P(1 dealt | fire)"].true == "1.0000"
    assert "P(2 dealt | fire)" not in found


def test_cards_jams_and_double_feeds_are_added_up() -> None:
    trials = [make_trial(number=1, cleared=3, sticking=1), make_trial(number=2, cleared=2), make_trial(number=3, verdict="jam")]
    truth = [true(1, cleared=3, sticking=1), true(2, cleared=3, double_feeds=1), true(3, jammed=1)]
    found = table(trials, truth)
    assert (found["cards cleared"].recovered, found["cards cleared"].true) == ("5", "6")
    assert (found["cards sticking"].recovered, found["cards sticking"].true) == ("1", "1")
    assert (found["jams"].recovered, found["jams"].true) == ("1", "1")
    assert found["double feeds (look like one card)"].true == "1"
    assert found["trials whose cards differ from the truth"].true == "1"


def test_a_trial_without_truth_is_compared_with_nothing() -> None:
    found = table([make_trial(number=1, cleared=3), make_trial(number=2, cleared=4)], [true(1, cleared=3)])
    assert (found["cards cleared"].recovered, found["cards cleared"].true) == ("3", "3")


def test_the_table_says_yes_and_no_and_leaves_counts_alone() -> None:
    out = StringIO()
    console = Console(file=out, width=120)
    console.print(recovered_table(make_run([make_trial()]), ODDS, {"trials": [true(1, p_fire=0.9)]}))
    lines = {line.split("  ")[0]: line.split() for line in out.getvalue().splitlines()}
    assert lines["P(fire)"][-2:] == ["0.9000", "no"]
    assert lines["jams"][-1] == "0"


def blaster(trials: list[Any], truth: list[dict[str, Any]]) -> dict[str, Row]:
    data = run_of_inserts(trials)
    odds = build_odds(calibrate([data]), [data], created_at=datetime(2026, 3, 4, tzinfo=UTC), versions={})
    return {row.what: row for row in rows(data, odds, {"trials": truth})}


def true_insert(trial: int, cause: str = "held", **changes: Any) -> dict[str, Any]:
    return {"trial": trial, "cause": cause, "p_fire": 0.5, "cleared": 0, "jammed": 0, "double_feeds": 0} | changes


def test_the_true_hazard_of_an_insert_is_the_mean_over_the_inserts_that_count() -> None:
    trials = [
        insert(1, 1, 1),
        insert(2, 1, 2, verdict="blast"),
        insert(3, 2, 1),
        insert(4, 2, 0, verdict="rejected", reason="no_sound", slot=2),
        insert(5, 2, 2, slot=3, loaded=3, verdict="blast", cleared=3),  # a card that the toy did not notice: not in the hazard
        reset(6, 3, 0, verdict="ok"),
    ]
    truth = [true_insert(i, p_fire=p) for i, p in enumerate([0.1, 0.4, 0.3, None, 0.9, None], start=1)]
    found = blaster(trials, truth)
    assert (found["P(release | insert 1)"].true, found["P(release | insert 1)"].inside) == ("0.2000", True)
    assert found["P(release | insert 1)"].recovered.startswith("0.0000 (0.0000 to ")
    assert (found["P(release | insert 2)"].true, found["P(release | insert 2)"].inside) == ("0.4000", True)
    assert "P(release | insert 3)" not in found


def test_verdicts_are_compared_with_what_honest_sensors_would_have_said() -> None:
    trials = [
        insert(1, 1, 1, verdict="partial", cleared=0),
        insert(2, 2, 1, verdict="latch_fault"),
        insert(3, 3, 1, verdict="blast"),
        insert(4, 4, 0, verdict="rejected", reason="interlock", tick=None),
        insert(5, 5, 1),
        reset(6, 5, 1, verdict="latch_fault", cleared=0),
    ]
    causes = ["latch_fault", "latch_fault", "blast", "not actuated", "blast", "ok"]
    found = blaster(trials, [true_insert(i, cause, cleared=int(cause == "blast")) for i, cause in enumerate(causes, start=1)])
    assert (found["partial releases"].recovered, found["partial releases"].true) == ("1", "0")
    assert (found["latch faults"].recovered, found["latch faults"].true) == ("1", "2")
    assert (found["cards cleared"].recovered, found["cards cleared"].true) == ("1", "2")
    assert found["inserts whose verdict differs from the truth"].true == "2"
    assert found["resets whose verdict differs from the truth"].true == "1"
    assert found["trials whose cards differ from the truth"].true == "1"


def test_a_blaster_without_a_hazard_has_no_line_for_it() -> None:
    found = blaster([insert(1, 1, 0, verdict="rejected")], [true_insert(1, "rejected", p_fire=None)])
    assert not {name for name in found if name.startswith("P(")}
    assert found["inserts whose verdict differs from the truth"].true == "0"


def test_every_launcher_that_can_be_fitted_can_be_compared_and_has_odds() -> None:
    assert set(FITS) == set(ROWS) == set(OWN)
