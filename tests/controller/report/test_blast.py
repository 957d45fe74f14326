# SPDX-License-Identifier: Apache-2.0
"""The blaster's page: hazards, rivals, rounds, what flew, and that a reset is nowhere taken for a blast."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import Any

import pytest

from controller.report import signals
from controller.report.blast import figures, tables
from controller.report.blast.rounds import NOT_RECORDED, RELEASED, rounds
from controller.report.blast.words import CENSORED, INSERTED, WAS_RESET
from controller.report.figures import FigureFunction
from controller.report.html import render
from controller.store.records import Event, Fill, RunData
from rig.wire.messages import TICK_HZ, Verdict
from tests.controller.report.blaster import blast_data_of, blast_run, make_blast_data, make_insert, make_reset
from tests.controller.report.factory import STARTED, make_odds
from tests.controller.report.page import Page, assert_stands_alone
from tests.controller.report.test_figures import texts
from tests.controller.report.test_html import NASTY
from tests.controller.report.test_tables import column

pytestmark = pytest.mark.xdist_group("blast pages")

FIGURES = ("hazard", "slots", "survival", "ejected", "timeline", "blocked", "waveform")
DRAW = (figures.hazard, figures.slots, figures.survival, figures.ejected, figures.timeline, figures.blocked, figures.waveform)


@pytest.fixture(scope="module")
def run() -> tuple[RunData, dict[str, Any]]:
    data = make_blast_data(600)
    return data, make_odds(data)


@pytest.fixture(scope="module")
def full(run: tuple[RunData, dict[str, Any]]) -> str:
    return render(*run)


def svgs(text: str) -> int:
    return Page(text).names().count("svg")


def flat(text: str) -> str:
    return text.replace("\n", "")


# ---------------------------------------------------------------- the page


def test_every_section_is_there(full: str) -> None:
    page = Page(full)
    wanted = (
        "hazard rule rivals dependence slots survival endings ejected conditions verdicts excluded resets states faults exceptions"
    )
    names = [*wanted.split(), "ledger", "link", "provenance", "settings"]
    assert [name for name in names if name not in page.by_id] == []
    assert [name for name in FIGURES if f"figure-{name}" not in page.by_id] == []
    assert svgs(full) == 2 * len(FIGURES), "each drawn wide and narrow"


def test_the_page_stands_alone(full: str) -> None:
    assert_stands_alone(full)


def test_what_is_not_verified_is_called_so(full: str) -> None:
    page = Page(full)
    for words in ("Not verified of this toy: how many slots", "bookkeeping: no sensor looks", "by a current that is not verified"):
        assert words in page.text
    assert "slots, as set; not verified4" in flat(page.by_id["conditions"])
    assert "Simulated launcher (twin)" in page.text


def test_the_same_run_gives_the_same_page_to_the_byte() -> None:
    first, second = make_blast_data(40, seed=11), make_blast_data(40, seed=11)
    assert render(first, make_odds(first)) == render(second, make_odds(second))


@pytest.mark.parametrize("field", ["dut", "note", "rig_url", "status"])
def test_odd_characters_stay_text(field: str) -> None:
    page = Page(render(blast_data_of(**{field: NASTY}), None))
    assert "script" not in page.names()
    assert '<script>alert(1)</script> & "quotes"' in page.text and "\\u202egnp.exe" in page.text


def test_a_name_from_the_store_stays_text_in_the_timeline_and_the_rounds() -> None:
    trial = make_insert(1)
    told = Event(TICK_HZ, None, "round", {"round": 1, "ended": "<b>&odd"}, STARTED)
    odd = Event(TICK_HZ, None, "<i>thing", {}, STARTED)
    text = render(RunData(blast_run((trial,)), (), (trial,), (told, odd)), None)
    assert "<b>&odd" not in text and "<i>thing" not in text
    assert "<b>&odd" in Page(text).by_id["endings"] and "<i>thing" in Page(text).by_id["figure-timeline"]


def test_an_empty_run_says_why_there_is_nothing_to_see() -> None:
    page = Page(render(blast_data_of(raw_sha256=None, ended_at=None), None))
    assert page.names().count("svg") == 0
    assert "No trial was made." in page.by_id["figure-timeline"] and "Not calibrated" in page.by_id["figure-hazard"]


@pytest.mark.parametrize("verdict", ["blast", "held", "rejected", "jam", "fault"])
def test_a_run_of_one_insert_makes_a_page(verdict: str) -> None:
    data = blast_data_of(make_insert(1, verdict))
    text = render(data, make_odds(data))
    assert_stands_alone(text)
    assert f"{verdict}1100 %" in flat(Page(text).by_id["verdicts"])


def test_without_odds_no_chance_is_claimed() -> None:
    page = Page(render(make_blast_data(60), None))
    assert "not calibrated" in page.text
    assert {"hazard", "rule", "rivals", "dependence", "slots", "survival", "ejected", "faults", "excluded"} & set(
        page.by_id
    ) == set()
    assert "endings" in page.by_id and "<svg" not in page.by_id["figure-hazard"]


# ---------------------------------------------------------------- resets are no blasts


def test_a_run_of_resets_alone_has_no_blast_no_round_and_no_hazard() -> None:
    data = blast_data_of(*(make_reset(n, "ok" if n % 2 else "held", loaded=2, t_s=3.0 * n, round=n) for n in range(1, 8)))
    text = render(data, make_odds(data))
    page = Page(text)
    assert "all inserts0" in flat(page.by_id["verdicts"]) and "blast" not in page.by_id["verdicts"]
    assert "They ejected 8 cards of 8 loaded" in page.by_id["resets"] and "all resets7" in flat(page.by_id["resets"])
    assert "endings" not in page.by_id and "no usable insert" in page.by_id["figure-hazard"]
    assert "nothing was ejected but by resets" in page.by_id["figure-ejected"]
    assert "No insert ended in a blast" in page.by_id["figure-waveform"] and "reset 1" in page.by_id["figure-waveform"]
    assert "reset ok  4" in page.by_id["figure-timeline"]


def test_cards_of_resets_enter_neither_the_blasts_nor_the_cards_that_flew() -> None:
    blast, ejected = make_insert(1, "blast", k=2), make_reset(2, loaded=3, t_s=5.0)
    data = blast_data_of(blast, ejected)
    assert column(tables.verdicts(data, None), 1) == ["1", "1"]
    said = texts(figures.ejected(data, None, "e", 520.0))
    assert [text for text in said if text.startswith("1")][:1] and not any("3" in text for text in said)
    table = tables.resets(data, None)
    assert table is not None and "3 cards of 3 loaded" in table.note


def test_a_partial_reset_is_a_reset_and_worth_a_look() -> None:
    data = blast_data_of(make_insert(1), make_reset(2, "partial", loaded=3, t_s=5.0))
    assert column(tables.resets(data, None), 0) == ["partial", "all resets"]
    assert column(tables.verdicts(data, None), 0) == ["held", "all inserts"]
    assert column(tables.exceptions(data, None), 1) == ["reset"]
    assert rounds(data)[0].ending != RELEASED


# ---------------------------------------------------------------- which rule


def test_the_winner_stands_with_its_evidence(run: tuple[RunData, dict[str, Any]], full: str) -> None:
    odds = run[1]
    assert odds["rivals"]["winner"] == "hidden_slot"
    page = Page(full)
    assert "hidden slot: one of the slots sets it off" in page.by_id["rule"]
    assert odds["rivals"]["evidence"] in page.by_id["rule"]
    assert "hidden slot (won)" in page.by_id["figure-hazard"] and "Hidden slot won" in page.by_id["figure-hazard"]


def test_few_inserts_leave_the_rule_open_and_say_why() -> None:
    data = make_blast_data(40)
    odds = make_odds(data)
    assert odds["rivals"]["winner"] is None
    page = Page(render(data, odds))
    assert "Ruleopenthe data cannot tell" in flat(page.text)
    assert "the data cannot tell" in page.by_id["rule"] and "(won)" not in page.by_id["figure-hazard"]


def test_a_rule_that_forbids_what_was_seen_is_called_impossible() -> None:
    data = make_blast_data(600, brain="constant")
    odds = make_odds(data)
    table = tables.rivals(data, odds)
    assert table is not None
    by_name = {row[0].text: [part.text for part in row[1:]] for row in table.rows}
    assert by_name["hidden slot (0)"] == ["impossible"] * 4 and "impossible" not in by_name["constant (1)"]
    assert "constant (won)" in texts(figures.hazard(data, odds, "h", 520.0))


def doubted(odds: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**odds, "dependence": {**odds["dependence"], **changes}}


def test_rounds_that_depend_on_each_other_are_warned_of_beside_the_rule(run: tuple[RunData, dict[str, Any]]) -> None:
    data, odds = run
    assert odds["dependence"]["winner"] == "independent"
    for verdict, says, tone in (
        ("independent", "none found: each round is played anew", ""),
        ("dependent", "yes: a round depends on those before it, which no rule here knows of", "warn"),
    ):
        told = tables.rule(data, doubted(odds, winner=verdict))
        assert told is not None and told.rows[-1][0].text == "dependence between rounds"
        assert (told.rows[-1][1].text, told.rows[-1][1].tone) == (says, tone)
    innocent, guilty = (flat(Page(render(data, doubted(odds, winner=verdict))).text) for verdict in ("independent", "dependent"))
    head = "Rulehidden slotrounds depend on each other; evidence:"
    assert head in guilty and head not in innocent


def test_the_tests_of_dependence_are_those_of_the_odds(run: tuple[RunData, dict[str, Any]]) -> None:
    data, odds = run
    found, table = odds["dependence"], tables.dependence(data, odds)
    asked = (*(found["residuals"][name] for name in ("lag1", "runs_test", "drift")), found["trigger_slots"], found)
    assert column(table, 3) == [f"{test['p_value']:.3g}" for test in asked]
    assert table is not None and table.rows[3][1].text == f"chi-square of {found['trigger_slots']['pairs']} pairs"
    assert "not tested" not in table.note


def test_what_was_not_tested_has_a_dash_and_its_reason() -> None:
    data = make_blast_data(20)
    table = tables.dependence(data, make_odds(data))
    assert table is not None and column(table, 3)[3] == "–" and "Trigger slots not tested: " in table.note
    told = tables.rule(data, make_odds(data))
    assert told is not None and re.fullmatch(r"undecided: too few rounds: \d+ of the 50 needed", told.rows[-1][1].text)


def test_hazards_are_those_of_the_odds_with_the_number_of_inserts_below(run: tuple[RunData, dict[str, Any]]) -> None:
    data, odds = run
    found = odds["hazard"]
    assert column(tables.hazard(data, odds), 1) == [str(row["at_risk"]) for row in found["by_insert"]]
    assert column(tables.slots(data, odds), 2) == [str(row["released"]) for row in found["by_slot"]]
    for draw, rows in ((figures.hazard, found["by_insert"]), (figures.slots, found["by_slot"])):
        said = " ".join(texts(draw(data, odds, "h", 520.0)))
        assert all(str(row["at_risk"]) in said for row in rows)


def test_the_test_of_the_slots_is_told_in_words(run: tuple[RunData, dict[str, Any]]) -> None:
    data, odds = run
    alike = tables.slots(data, odds)
    assert alike is not None and "Cochran-Mantel-Haenszel" in alike.note and "No difference between slots is shown." in alike.note
    test = {**odds["hazard"]["slot_test"], "p_value": 0.001}
    differ = tables.slots(data, {**odds, "hazard": {**odds["hazard"], "slot_test": test}})
    assert differ is not None and differ.note.endswith("p = 0.001. Slots differ.")
    one = blast_data_of(make_insert(1, "blast"))
    lone = tables.slots(one, make_odds(one))
    assert lone is not None and "No two slots can be compared" in lone.note


# ---------------------------------------------------------------- rounds


def test_rounds_end_as_their_event_says_unless_something_was_released() -> None:
    trials = (
        make_insert(1, "held", k=1, round=1),
        make_insert(2, "blast", k=2, round=1, t_s=5),
        make_insert(3, "held", k=1, round=2, t_s=8),
        make_reset(4, loaded=1, round=2, t_s=11),
        make_reset(5, loaded=0, round=3, t_s=14),
        make_insert(6, "held", k=1, round=4, t_s=17),
        make_insert(7, "jam", k=2, round=4, t_s=20, fired=False),
        make_insert(8, "held", k=1, round=5, t_s=23),
    )
    told = {1: "blast", 2: "reset", 4: "jam"}
    events = tuple(Event(int(24 * TICK_HZ), None, "round", {"round": n, "ended": why}, STARTED) for n, why in told.items())
    data = RunData(blast_run(trials), (), trials, events)
    found = rounds(data)
    assert [(each.number, each.inserts, each.ending) for each in found] == [
        (1, 2, RELEASED),
        (2, 1, "reset"),
        (4, 2, "jam"),
        (5, 1, NOT_RECORDED),
    ]
    table = tables.endings(data, None)
    assert column(table, 0) == ["release", "censored: jam", "censored: not recorded", "censored: reset", "all rounds"]
    assert column(table, 1) == ["1", "1", "1", "1", "4"]


def test_a_made_up_run_and_its_rounds_agree(run: tuple[RunData, dict[str, Any]]) -> None:
    data, odds = run
    found = Counter(each.ending for each in rounds(data))
    assert found[RELEASED] == odds["hazard"]["released"] and sum(found.values()) == odds["hazard"]["rounds"]
    assert set(found) - {RELEASED} <= set(CENSORED)


# ---------------------------------------------------------------- states, cards, books


def test_states_are_told_by_kind_and_outcome() -> None:
    trials = (
        make_insert(1, "held"),
        make_insert(2, "rejected", t_s=200, accepted=False),
        make_reset(3, "held", t_s=203),
        make_insert(4, "fault", t_s=206, toy="unknown"),
        make_reset(5, "ok", t_s=209),
    )
    table = tables.states(blast_data_of(*trials), None)
    assert table is not None and "Inferred" in table.note
    assert [[part.text for part in row] for row in table.rows] == [
        ["awake", "1", "0", "1", "0"],
        ["asleep", "1", "1", "1", "1"],
        ["unknown", "1", "0", "0", "0"],
    ]


def test_cards_given_loaded_are_those_of_the_odds_and_a_dash_where_none_flew() -> None:
    data = blast_data_of(make_insert(1, "blast", k=2), make_insert(2, "held", k=1, t_s=5, round=2))
    table = tables.ejected(data, make_odds(data))
    assert column(table, 1)[0] == "0" and column(table, 2)[0] == "–"


def test_of_many_fills_those_that_balance_are_summed_up() -> None:
    even = [Fill(n, 4, 1, None, None, 0, 0, 3, 0) for n in range(1, 31)]
    odd, still_open = Fill(31, 4, 1, None, None, 0, 0, 2, 1), Fill(32, 4, None, None, None, 0, 0, 1, None)
    table = tables.ledger(RunData(blast_run(), (*even, odd, still_open), (), ()), None)
    assert table is not None
    assert [[part.text for part in row] for row in table.rows] == [
        ["30 that balance", "120", "90", "0", "0", "30", "0"],
        ["31", "4", "2", "0", "0", "1", "+1"],
        ["32", "4", "1", "0", "0", "–", "not counted"],
    ]
    few = tables.ledger(RunData(blast_run(), tuple(even[:5]), (), ()), None)
    assert column(few, 0) == ["1", "2", "3", "4", "5"]


def test_every_verdict_that_a_trial_of_the_blaster_can_have_is_explained() -> None:
    rollers = {"no_run", "slip", "empty"}
    assert set(INSERTED) == {verdict.name for verdict in Verdict} - rollers - {"ok"}
    assert set(WAS_RESET) == {verdict.name for verdict in Verdict} - rollers - {"blast"}


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize("draw", DRAW)
def test_an_empty_run_has_no_figures(draw: FigureFunction) -> None:
    assert draw(blast_data_of(), None, "here", 520.0) is None


def test_the_waveform_shows_the_latch_pulse_and_both_beams() -> None:
    data = blast_data_of(make_insert(1, "held"), make_insert(2, "blast", k=2, t_s=5))
    said = texts(figures.waveform(data, None, "w", 520.0))
    assert {"latch", "sound", "beam A", "beam B", "latch driven 250 mA", "stall 850 mA"} <= set(said)
    shown = signals.typical(data.trials, figures.TYPICAL)
    assert shown is not None and shown.number == 2


def test_a_long_run_has_blocks_of_rounds_and_a_bounded_timeline() -> None:
    short, long_ = make_blast_data(60), make_blast_data(3000)
    assert figures.block_size(len(rounds(short))) == 1
    size = figures.block_size(len(rounds(long_)))
    assert size > 10 and len(rounds(long_)) / size <= figures.BLOCKS
    svg = figures.timeline(long_, None, "t", 1080.0)
    assert svg is not None and len(svg) < 300_000
    assert f"every second block of {size} rounds" in Page(render(long_, None)).by_id["figure-timeline"]


def test_the_timeline_tells_inserts_from_resets() -> None:
    trials = (make_insert(1, "blast"), make_insert(2, "held", round=2, t_s=5), make_reset(3, "held", t_s=200, round=2))
    slept = dataclasses.replace(trials[2], number=4, tick=int(203 * TICK_HZ), t_s=203.0)
    said = " ".join(texts(figures.timeline(blast_data_of(*trials, slept), None, "t", 1080.0)))
    for lane in ("blast  1", "held  1", "reset held  2"):
        assert re.search(re.escape(lane).replace(r"\ \ ", r"\s+"), said), (lane, said)
