# SPDX-License-Identifier: Apache-2.0
"""Tables say what the store holds."""

from __future__ import annotations

import dataclasses

import pytest

from controller.report import tables, words
from controller.report.roller import tables as roller
from controller.store.records import Fill, RunData
from rig.wire import messages as wire
from tests.controller.report.factory import make_data, make_odds, make_run, make_trial


def column(table: tables.Table | None, number: int) -> list[str]:
    assert table is not None
    return [row[number].text for row in table.rows]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.3541, "35.4 %"),
        (0.0712, "7.12 %"),
        (0.00071, "0.071 %"),
        (2e-7, "< 0.001 %"),
        (0.99999, "> 99.9 %"),
        (None, "–"),
    ],
)
def test_only_a_sure_thing_is_called_0_or_100_percent(value: float | None, text: str) -> None:
    assert words.percent(value) == text


def test_every_verdict_of_the_wire_has_its_place_in_the_order() -> None:
    assert sorted(words.VERDICTS) == sorted(verdict.name for verdict in wire.Verdict)


def test_verdicts_add_up_to_all_presses() -> None:
    data = make_data(150)
    presses = [int(text) for text in column(roller.verdicts(data, None), 1)]
    assert sum(presses[:-1]) == presses[-1] == 150


def test_excluded_stands_next_to_what_was_used() -> None:
    data = make_data(150)
    odds = make_odds(data)
    table = roller.excluded(data, odds)
    assert table is not None and column(table, 0) == list(odds["excluded"])
    assert f"fire n = {odds['fire']['n']}" in table.note and f"count n = {odds['count']['n']}" in table.note


@pytest.mark.parametrize(
    ("difference", "text", "tone"), [(3, "+3", "bad"), (-1, "-1", "bad"), (0, "0", ""), (None, "not counted", "")]
)
def test_the_ledger_marks_a_fill_that_does_not_balance(difference: int | None, text: str, tone: str) -> None:
    remaining = None if difference is None else 10
    fill = Fill(1, 83, remaining, None, None, 2, 1, 70, difference)
    table = roller.ledger(RunData(make_run(), (fill,), (), ()), None)
    assert table is not None
    assert [part.text for part in table.rows[0][:-1]] == ["1", "83", "70", "2", "1", "–" if remaining is None else "10"]
    assert (table.rows[0][-1].text, table.rows[0][-1].tone) == (text, tone)


def test_a_lost_record_is_bad_and_a_resend_only_a_warning() -> None:
    table = tables.link(RunData(make_run(counters={"ring_full": 1, "resent": 4, "crc": 0}), (), (), ()), None)
    assert table is not None
    assert {row[0].text: row[1].tone for row in table.rows} == {"crc": "dim", "resent": "warn", "ring full": "bad"}


def test_presses_to_look_at_are_those_that_something_is_wrong_with() -> None:
    differing = dataclasses.replace(make_trial(3), verdict="fault", spoiled="verdicts_differ")
    trials = (make_trial(1), make_trial(2, "jam"), differing, make_trial(4, "no_run"))
    assert column(roller.exceptions(RunData(make_run(), (), trials, ()), None), 0) == ["2", "3"]


def test_a_long_list_of_exceptions_says_how_many_are_not_shown() -> None:
    trials = tuple(make_trial(n, "jam") for n in range(1, tables.EXCEPTIONS_SHOWN + 8))
    table = roller.exceptions(RunData(make_run(), (), trials, ()), None)
    assert table is not None and len(table.rows) == tables.EXCEPTIONS_SHOWN and "7 more" in table.note


def test_provenance_warns_when_the_odds_are_of_another_run() -> None:
    data, other = make_data(20, seed=1), make_data(20, seed=2)
    own = dict(
        zip(column(tables.provenance(data, make_odds(data)), 0), column(tables.provenance(data, make_odds(data)), 1), strict=True)
    )
    assert own["odds fitted from"] == "this run" and own["raw data SHA-256"] == data.run.raw_sha256
    rows = tables.provenance(data, make_odds(other)).rows
    assert "not from this run" in rows[-1][1].text and rows[-1][1].tone == "warn"


def test_nested_settings_are_listed_by_dotted_name() -> None:
    table = tables.settings(make_data(1), None)
    assert "firmware.jam_ms" in column(table, 0)


def test_what_the_odds_leave_null_is_a_dash_and_no_traceback() -> None:
    data = make_data(2)
    odds = {
        "fire": {"value": None, "reason": "no accepted press"},
        "count": {"value": None, "reason": "no press fired"},
        "faults": {"jam": {"per_press": {"n": 0, "events": 0, "p": None, "ci_low": 0.0, "ci_high": 1.0}, "per_card": None}},
        "excluded": {},
        "n_trials": 2,
        "provenance": {},
    }
    assert roller.fire(data, odds) is None and roller.hazard(data, odds) is None
    assert column(roller.faults(data, odds), 3) == ["–"] and column(roller.faults(data, odds), 5) == ["–"]
    assert roller.conditions(data, odds) is None
