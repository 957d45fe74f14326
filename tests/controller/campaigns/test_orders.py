# SPDX-License-Identifier: Apache-2.0
"""The slots come in the order that was asked for, among those that are ready."""

from __future__ import annotations

from collections import Counter

import pytest

from controller.campaigns.orders import Order, order_of, parse_order
from controller.errors import RefusedError


def rounds(order: Order, slots: int, lengths: list[int]) -> list[list[int]]:
    """The slots of rounds that end after so many inserts."""
    found = []
    for length in lengths:
        ready = list(range(1, slots + 1))
        picked = []
        for _ in range(length):
            slot = order.pick(ready)
            picked.append(slot)
            if slot:
                ready.remove(slot)
        found.append(picked)
    return found


def test_in_turn_goes_on_where_the_round_before_ended() -> None:
    assert rounds(order_of("sequential", 4, 0), 4, [2, 3, 4]) == [[1, 2], [3, 4, 1], [2, 3, 4, 1]]


def test_in_turn_takes_the_next_one_that_is_ready() -> None:
    order = order_of("sequential", 6, 0)
    assert [order.pick(ready) for ready in ([2, 5], [1, 5, 6], [1, 2], [])] == [2, 5, 1, 0]


def test_a_fixed_order_is_the_same_in_every_round() -> None:
    assert rounds(order_of("fixed", 3, 0), 3, [2, 3, 1]) == [[1, 2], [1, 2, 3], [1]]
    assert rounds(order_of("fixed:3,1,2", 4, 0), 4, [3, 2]) == [[3, 1, 2], [3, 1]]


def test_a_list_that_is_through_has_no_slot_more() -> None:
    assert rounds(order_of("fixed:4,2", 4, 0), 4, [4]) == [[4, 2, 0, 0]]


def test_the_same_seed_draws_the_same_slots_and_another_one_others() -> None:
    drawn = [rounds(order_of("random", 4, seed), 4, [4] * 20) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_at_random_each_slot_that_is_ready_has_the_same_chance() -> None:
    order = order_of("random", 6, 5)
    counts = Counter(order.pick([2, 3, 6]) for _ in range(6000))
    assert set(counts) == {2, 3, 6}
    assert all(abs(count - 2000) < 4 * (6000 * 2 / 9) ** 0.5 for count in counts.values())
    assert all(sorted(each) == [1, 2, 3, 4, 5, 6] for each in rounds(order, 6, [6] * 50))
    assert order.pick([]) == 0


def test_what_an_order_is_called() -> None:
    assert [parse_order(text) for text in ("random", "sequential", "fixed", "fixed:3,1,2")] == [
        ("random", ()),
        ("sequential", ()),
        ("fixed", ()),
        ("fixed", (3, 1, 2)),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "Random", "random:1", "fixed:", "fixed:1,,2", "fixed:a", "fixed:-1", "fixed:100", "sequential:", "3,1"],
)
def test_what_is_no_order_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fixed:3,1,2"):
        parse_order(text)


@pytest.mark.parametrize(("text", "slot"), [("fixed:1,1", 1), ("fixed:1,3,2,03", 3)])
def test_a_slot_that_is_named_twice_is_named_in_the_refusal(text: str, slot: int) -> None:
    with pytest.raises(ValueError, match=f"'{text}' names slot {slot} more than once"):
        parse_order(text)


@pytest.mark.parametrize(("text", "slot"), [("fixed:3,5,1", 5), ("fixed:0,1", 0)])
def test_a_slot_that_the_bench_has_not_is_named(text: str, slot: int) -> None:
    with pytest.raises(RefusedError, match=f"--order {text}: there is no slot {slot}; this bench has slots 1 to 4"):
        order_of(text, 4, 0)
