# SPDX-License-Identifier: Apache-2.0
"""The odds of a blaster keep the schema's own branch and hold what was fitted."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.calibrate.blast.fit import BlastFit
from controller.calibrate.fit import calibrate
from controller.odds.build import OddsError, build_odds
from controller.odds.write import check_odds, odds_text, write_odds
from controller.store.records import Fill, RunData
from tests.controller.calibrate.blast.simulate import campaign, insert, reset, run_of_inserts

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def odds_of(*runs: RunData) -> dict[str, Any]:
    odds = build_odds(calibrate(runs), runs, created_at=NOW, versions={})
    check_odds(odds)
    return odds


@pytest.fixture
def data() -> RunData:
    return campaign("hidden_slot", 1, give_up=0.05, partial=0.03, latch_fault=0.02).data


def test_the_odds_hold_what_was_fitted(data: RunData) -> None:
    odds, fit = odds_of(data), calibrate([data])
    assert isinstance(fit, BlastFit) and fit.hazard is not None and fit.rivals is not None and fit.model is not None
    assert (odds["launcher"], odds["slots"], odds["n_trials"]) == ("blast", 4, 1000)
    assert odds["rivals"]["winner"] == odds["model"]["rival"] == "hidden_slot"
    assert [row["p"] for row in odds["model"]["hazard"]] == [1 / 4, 1 / 3, 1 / 2, 1]
    for name, rows in (("insert", fit.hazard.by_insert), ("slot", fit.hazard.by_slot)):
        assert [(row[name], row["at_risk"], row["released"], row["p"]) for row in odds["hazard"][f"by_{name}"]] == [
            (i, row.n, row.events, row.p) for i, row in enumerate(rows, start=1)
        ]
    assert odds["hazard"]["n"] + sum(odds["excluded"].values()) == odds["n_trials"]
    assert [each["loaded"] for each in odds["ejected"]] == [1, 2, 3, 4]
    assert sum(each["count"]["n"] for each in odds["ejected"]) == odds["hazard"]["released"]
    assert all(sum(each["count"]["weights"]) == 2**32 for each in odds["ejected"])
    assert json.loads(odds_text(odds)) == odds


def test_when_the_data_cannot_tell_the_model_is_the_free_hazard() -> None:
    odds = odds_of(campaign("hidden_slot", 1, inserts=50).data)
    assert odds["rivals"]["winner"] is None
    assert odds["rivals"]["reason"].startswith("the data cannot tell")
    assert odds["model"]["rival"] == "free"


def in_cycle(data: RunData) -> RunData:
    """The same rounds, but the slot that releases is the next one in every round. The others keep clear of it."""
    turn = {number: i % 4 + 1 for i, number in enumerate(sorted({trial.round or 0 for trial in data.trials}))}
    moved = [
        replace(trial, slot=turn[trial.round or 0] if trial.fired else turn[trial.round or 0] % 4 + 1) if trial.slot else trial
        for trial in data.trials
    ]
    return replace(data, trials=tuple(moved))


def test_rounds_that_depend_on_each_other_are_told_beside_a_winner(data: RunData) -> None:
    plain, odds = odds_of(data)["dependence"], odds_of(in_cycle(data))
    assert plain["winner"] == "independent"
    assert odds["rivals"]["winner"] == "hidden_slot" and odds["dependence"]["winner"] == "dependent"
    assert odds["dependence"]["trigger_slots"]["p_value"] == 0.001 and odds["dependence"]["p_value"] == 0.004
    assert odds["dependence"]["residuals"] == plain["residuals"], "the number of inserts is what it was"
    assert plain["rounds"] == odds_of(data)["hazard"]["rounds"]


def test_an_order_that_ties_slots_is_told_with_the_reason(data: RunData) -> None:
    tied = replace(data, run=replace(data.run, settings={**data.run.settings, "order": "sequential"}))
    found = odds_of(tied)["dependence"]
    assert found["trigger_slots"]["p_value"] is found["trigger_slots"]["statistic"] is None
    assert found["winner"] == "undecided" and found["reason"].startswith("order sequential: the order of inserts itself ties")
    fixed = replace(data, run=replace(data.run, settings={**data.run.settings, "order": "fixed:2,1,4,3"}))
    assert odds_of(fixed)["dependence"] == odds_of(data)["dependence"]


def test_what_an_impossible_rival_would_score_is_null() -> None:
    odds = odds_of(campaign("constant", 1).data)
    (hidden,) = (one for one in odds["rivals"]["rivals"] if one["name"] == "hidden_slot")
    assert hidden["log_marginal"] is hidden["aic"] is None
    assert odds["rivals"]["winner"] == "constant"
    assert len({row["p"] for row in odds["model"]["hazard"]}) == 1


def test_the_conditions_tell_resets_order_and_what_the_ledger_missed(data: RunData) -> None:
    fills = [Fill(i, 4, 0, None, None, 0, 0, 4 - off if off else 4, off) for i, off in enumerate([0, 2, -1, None], start=1)]
    conditions = odds_of(replace(data, fills=tuple(fills)))["conditions"]
    assert conditions["order"] == "random"
    assert conditions["resets"] == sum(trial.kind == "reset" for trial in data.trials) > 0
    assert conditions["ledger"] == {"fills": 3, "balanced": 1, "uncounted": 2, "surplus": 1}


def test_without_inserts_there_are_reasons_instead_of_values() -> None:
    odds = odds_of(run_of_inserts([reset(1, 1, 0)], slots=2))
    assert odds["hazard"] == odds["dependence"] == odds["rivals"] == odds["model"] == {"value": None, "reason": "no usable insert"}
    assert odds["ejected"][1]["count"] == {"value": None, "reason": "no release with 2 cards loaded"}
    assert odds["n_trials"] == 0


@pytest.mark.parametrize("name", ["hazard", "dependence", "slots", "ejected", "model", "excluded"])
def test_a_part_of_the_blaster_that_is_missing_is_named(data: RunData, name: str) -> None:
    odds = odds_of(data)
    del odds[name]
    with pytest.raises(OddsError, match=name):
        check_odds(odds)


@pytest.mark.parametrize("name", ["fire", "count"])
def test_a_part_of_the_roller_does_not_belong_in(data: RunData, name: str) -> None:
    with pytest.raises(OddsError, match=name):
        check_odds(odds_of(data) | {name: {"value": None, "reason": "none"}})


def test_weights_of_ejected_cards_that_do_not_sum_are_refused_with_their_place(data: RunData) -> None:
    odds = odds_of(data)
    odds["ejected"][2]["count"]["weights"][0] += 1
    with pytest.raises(OddsError, match=r"odds\.ejected\[2\]\.count\.weights: the sum is 4294967297"):
        check_odds(odds)


def test_the_page_about_odds_plays_a_round_as_the_model_says(
    data: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odds = odds_of(data)
    write_odds(tmp_path / "odds.json", odds)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "odds.md").read_text(encoding="utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def insert" in block)
    found: dict[str, Any] = {}
    exec(code, found)
    random = Random(3)
    rounds, first, flown = 20_000, Counter[int](), Counter[int]()
    for _ in range(rounds):
        for loaded in range(1, 5):
            cards = found["insert"](loaded, random.random, lambda: random.getrandbits(32))
            if cards is not None:
                first[loaded] += 1
                flown[cards] += loaded == 3
                break
    for row in odds["model"]["until_release"]:
        assert first[row["insert"]] / rounds == pytest.approx(row["p"], abs=0.015)
    of_three = odds["ejected"][2]["count"]
    for cards, p in zip(of_three["support"], of_three["p"], strict=True):
        assert flown[cards] / flown.total() == pytest.approx(p, abs=0.015)


@given(
    st.lists(st.tuples(st.sampled_from(["held", "blast", "partial", "jam", "rejected", "fault"]), st.booleans()), max_size=12),
    st.integers(1, 6),
)
def test_the_fewest_inserts_give_odds_or_reasons(made: list[tuple[str, bool]], slots: int) -> None:
    trials, round_, k = [], 1, 0
    for number, (verdict, new) in enumerate(made, start=1):
        if new or k == slots:
            round_, k = round_ + 1, 0
        k += 1
        trials.append(insert(number, round_, k, verdict=verdict))
    odds_of(run_of_inserts(trials, slots=slots))
