# SPDX-License-Identifier: Apache-2.0
"""Every insert lands in the statistics or under one named rule, and a round counts as far as its history is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.calibrate.blast.inserts import RULES
from controller.calibrate.blast.table import tabulate
from controller.store.records import Trial
from tests.controller.calibrate.blast.simulate import campaign, insert, reset, run_of_inserts

HELD, BLAST = {"verdict": "held"}, {"verdict": "blast"}
ASLEEP = {"verdict": "rejected", "reason": "no_sound"}


def rules(*trials: Trial) -> list[str]:
    return [str(rule) for rule in tabulate([run_of_inserts(list(trials))]).rule]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (HELD, ""),
        (BLAST, ""),
        ({"verdict": "partial", "cleared": 0}, ""),
        ({"verdict": "latch_fault"}, ""),
        ({"verdict": "jam"}, ""),
        ({"verdict": "jam", "fired": False}, ""),
        ({"verdict": "jam", "accepted": False}, "fault"),
        ({"verdict": "held", "spoiled": "link"}, "spoiled"),
        ({"verdict": "fault", "spoiled": "ring_full"}, "spoiled"),
        (ASLEEP, "rejected"),
        ({"verdict": "aborted"}, "aborted"),
        ({"verdict": "fault", "reason": "more_than_loaded"}, "fault"),
    ],
)
def test_an_insert_is_listed_under_the_rule_that_applies(changes: dict[str, Any], rule: str) -> None:
    inserts = tabulate([run_of_inserts([insert(1, 1, 1, **changes)])])
    assert inserts.rule.tolist() == [rule]
    assert inserts.excluded() == {name: int(name == rule) for name in RULES}
    assert inserts.at_risk.tolist() == [not rule]


def test_resets_and_what_they_eject_are_no_rows() -> None:
    inserts = tabulate([run_of_inserts([insert(1, 1, 1), insert(2, 1, 2), reset(3, 1, 2), insert(4, 2, 1, **BLAST)])])
    assert inserts.number.tolist() == [1, 2, 4]
    assert inserts.round.tolist() == [0, 0, 1]
    assert (inserts.k.tolist(), inserts.fired.tolist()) == ([1, 2, 1], [False, False, True])
    assert inserts.cleared.sum() == 1


@pytest.mark.parametrize(
    "unsure",
    [
        insert(2, 1, 2, verdict="fault", fired=False),
        insert(2, 1, 2, verdict="aborted", fired=False),
        insert(2, 1, 2, verdict="held", spoiled="link"),
        insert(2, 1, 2, verdict="fault", spoiled="reset", tick=None),
        reset(2, 1, 1),
        reset(2, 1, 1, verdict="latch_fault", cleared=0),
        reset(2, 1, 1, verdict="fault"),
        reset(2, 1, 1, verdict="held", spoiled="link"),
    ],
)
def test_after_something_that_may_have_been_a_release_the_rest_of_the_round_is_left_out(unsure: Trial) -> None:
    after = [insert(3, 1, 2), insert(4, 1, 3, **BLAST), insert(5, 2, 1)]
    assert rules(insert(1, 1, 1), unsure, *after)[-3:] == ["after_unsure", "after_unsure", ""]


@pytest.mark.parametrize(
    "harmless",
    [
        insert(2, 1, 0, verdict="rejected", reason="slot_occupied", tick=None, slot=2),
        insert(2, 1, 0, verdict="aborted", tick=None, accepted=False, slot=2),
        reset(2, 1, 1, verdict="held", cleared=0),
        reset(2, 1, 1, verdict="rejected", cleared=0),
        reset(2, 1, 1, verdict="aborted", cleared=0, tick=None),
    ],
)
def test_what_moved_nothing_leaves_the_round_as_it_was(harmless: Trial) -> None:
    assert rules(insert(1, 1, 1), harmless, insert(3, 1, 2), insert(4, 1, 3, **BLAST))[-2:] == ["", ""]


def test_a_card_that_the_toy_did_not_notice_keeps_the_rest_of_the_round_out_of_the_hazard() -> None:
    trials = [
        insert(1, 1, 1),
        insert(2, 1, 0, slot=2, loaded=2, **ASLEEP),
        insert(3, 1, 2, slot=3, loaded=3),
        insert(4, 1, 3, slot=4, loaded=4, verdict="blast", cleared=4),
        insert(5, 2, 1),
    ]
    inserts = tabulate([run_of_inserts(trials)])
    assert inserts.rule.tolist() == ["", "rejected", "unseen_card", "unseen_card", ""]
    assert inserts.known.tolist() == [True, False, True, True, True]  # what flew of how many is known all the same


def test_a_load_that_disagrees_with_the_place_in_the_round_is_an_unseen_card() -> None:
    assert rules(insert(1, 1, 1, loaded=2), insert(2, 1, 2, loaded=2)) == ["unseen_card", ""]


def test_a_round_whose_beginning_is_missing_is_left_out() -> None:
    assert rules(insert(1, 1, 2), insert(2, 1, 3, **BLAST), insert(3, 2, 1)) == ["after_unsure", "after_unsure", ""]


@pytest.mark.parametrize("verdict", ["blast", "partial", "latch_fault", "jam"])
def test_a_release_ends_its_round_whatever_flew(verdict: str) -> None:
    trials = [insert(1, 1, 1), insert(2, 1, 2, verdict=verdict), insert(3, 1, 3), insert(4, 2, 1)]
    assert rules(*trials) == ["", "", "after_unsure", ""]


def test_a_jam_without_a_release_was_at_risk_and_censors_its_round() -> None:
    inserts = tabulate([run_of_inserts([insert(1, 1, 1, verdict="jam", fired=False), insert(2, 1, 2)])])
    assert inserts.rule.tolist() == ["", "after_unsure"]
    assert not inserts.fired.any()


def test_rounds_of_two_runs_are_different_rounds() -> None:
    run = run_of_inserts([insert(1, 1, 1), insert(2, 2, 1)])
    assert tabulate([run, run]).round.tolist() == [0, 1, 2, 3]


def test_no_run_and_no_insert_are_empty_arrays() -> None:
    for runs in ([], [run_of_inserts([])]):
        inserts = tabulate(runs)
        assert inserts.rule.shape == inserts.k.shape == (0,)
        assert not any(inserts.excluded().values())


def test_a_clean_campaign_loses_nothing() -> None:
    inserts = tabulate([campaign("constant", 1, inserts=300, give_up=0.2, partial=0.2, latch_fault=0.1).data])
    assert inserts.at_risk.all() and inserts.at_risk.size == 300


ANY = st.tuples(
    st.sampled_from(["held", "blast", "partial", "latch_fault", "jam", "rejected", "aborted", "fault"]),
    st.booleans(),
    st.sampled_from(["", "link"]),
    st.integers(1, 3),
    st.integers(1, 4),
)


@given(st.lists(ANY, max_size=30))
def test_in_any_record_every_insert_has_one_rule_and_no_round_two_releases(made: list[tuple[str, bool, str, int, int]]) -> None:
    trials = [
        insert(i, round_, k, verdict=verdict, tick=1 if seen else None, spoiled=spoiled)
        for i, (verdict, seen, spoiled, round_, k) in enumerate(sorted(made, key=lambda one: one[3]), start=1)
    ]
    inserts = tabulate([run_of_inserts(trials)])
    assert sum(inserts.excluded().values()) + inserts.at_risk.sum() == len(made)
    for one in set(inserts.round.tolist()):
        here = inserts.at_risk & (inserts.round == one)
        assert inserts.k[here].tolist() == list(range(1, int(here.sum()) + 1))
        assert inserts.fired[here].sum() <= 1 and not inserts.fired[here][:-1].any()
