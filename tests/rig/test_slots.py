# SPDX-License-Identifier: Apache-2.0
"""The books of a blaster's slots: what may be inserted, and what is where after each kind of trial."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import RefusedRequestError
from rig.slots import MOST_SLOTS, Slots
from rig.trial import TrialRecord


def record(**given: Any) -> TrialRecord:
    nothing: dict[str, Any] = {field.name: 0 for field in fields(TrialRecord)}
    return TrialRecord(**(nothing | given))


def test_a_loader_is_filled_from_slot_1_on() -> None:
    assert Slots.filled(3).ready(4) == [1, 2, 3]
    assert Slots.filled(4).ready(4) == [1, 2, 3, 4]


def test_an_insertion_takes_the_waiting_card() -> None:
    books = Slots.filled(4).inserted(2)
    assert books == Slots(occupied=0b10, cards=1, waiting=0b1101)
    assert books.ready(4) == [1, 3, 4]


@pytest.mark.parametrize(
    ("slot", "words"),
    [(0, "slots 1 to 4"), (5, "slots 1 to 4"), (-1, "slots 1 to 4"), (2, "holds a card"), (4, "no card waits")],
)
def test_what_cannot_be_inserted_is_refused_in_one_line(slot: int, words: str) -> None:
    books = Slots.filled(3).inserted(2)
    with pytest.raises(RefusedRequestError, match=words) as refused:
        books.check(slot, 4)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


def test_a_blast_empties_the_slots_and_nothing_else() -> None:
    books = Slots.filled(4).inserted(1).inserted(3)
    assert books.after(record(verdict="blast", roller_ms=80, cleared=2)) == Slots(waiting=0b1010)
    assert books.after(record(verdict="ok", roller_ms=80, cleared=2)) == Slots(waiting=0b1010)


def test_after_a_partial_ejection_no_slot_is_taken_for_empty() -> None:
    books = Slots.filled(4).inserted(1).inserted(3).inserted(4)
    after = books.after(record(verdict="partial", roller_ms=80, cleared=2))
    assert (after.occupied, after.cards) == (0b1101, 1)
    assert after.after(record(verdict="ok", roller_ms=80, cleared=1)) == Slots(waiting=0b0010)


@pytest.mark.parametrize("verdict", ["held", "latch_fault", "rejected"])
def test_what_did_not_fly_stays(verdict: str) -> None:
    books = Slots.filled(2).inserted(1)
    assert books.after(record(verdict=verdict, cleared=0)) == books


def test_a_card_pulled_out_by_hand_is_in_no_slot() -> None:
    jammed = Slots.filled(4).inserted(1).inserted(2).after(record(verdict="jam", roller_ms=80, cleared=0))
    assert jammed.cards == 2
    assert jammed.cleared(1).cards == 1
    assert jammed.cleared(7).cards == 0


@given(
    st.lists(st.tuples(st.integers(1, MOST_SLOTS), st.sampled_from(["held", "blast", "partial", "latch_fault"]), st.integers(0, 8)))
)
def test_cards_never_go_below_none_nor_beyond_the_slots(steps: list[tuple[int, str, int]]) -> None:
    books = Slots.filled(MOST_SLOTS)
    for slot, verdict, cleared in steps:
        if slot not in books.ready(MOST_SLOTS):
            books = Slots.filled(MOST_SLOTS)
        books = books.inserted(slot).after(record(verdict=verdict, roller_ms=80 * (verdict != "held"), cleared=cleared))
        assert 0 <= books.cards <= bin(books.occupied).count("1") <= MOST_SLOTS
        assert not books.occupied & books.waiting
