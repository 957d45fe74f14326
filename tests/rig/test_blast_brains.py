# SPDX-License-Identifier: Apache-2.0
"""The blaster's rules: hazards exactly as they are said to be."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rig.blast_brains import CREEPING, NAMES, P_BLAST, Round, Rule, begin, constant, creeping, hidden_slot

GRID = (np.arange(1000) + 0.5) / 1000
"""Uniforms that stand for all."""


def play(rule: Rule, known: Round, slots: list[int], u_fire: float) -> list[tuple[float, bool]]:
    """What each of `slots` leads to, until one triggers."""
    found = []
    for slot in slots:
        draw = rule(known, slot, u_fire)
        found.append((draw.p_fire, draw.fired))
        if draw.fired:
            break
        known = known.after(slot)
    return found


@pytest.mark.parametrize("slots", [1, 2, 4, 6])
def test_a_hidden_slot_is_each_with_the_same_probability(slots: int) -> None:
    drawn = [begin(slots, float(u)).trigger for u in (np.arange(60 * slots) + 0.5) / (60 * slots)]
    assert sorted(drawn) == sorted(list(range(1, slots + 1)) * 60)
    assert (begin(slots, 0.0).trigger, begin(slots, 1 - 2**-53).trigger) == (1, slots)


@pytest.mark.parametrize("slots", [1, 2, 3, 4])
def test_the_hazard_of_a_hidden_slot_is_one_over_those_not_tried(slots: int) -> None:
    rule = hidden_slot(slots)
    for order in permutations(range(1, slots + 1)):
        lengths = []
        for trigger in range(1, slots + 1):
            found = play(rule, Round(trigger=trigger), list(order), 0.5)
            assert [p for p, _ in found] == pytest.approx([1 / (slots - k) for k in range(len(found))])
            assert [fired for _, fired in found] == [slot == trigger for slot in order[: len(found)]]
            lengths.append(len(found))
        assert sorted(lengths) == list(range(1, slots + 1)), "a blast at each insertion with the same probability"


def test_a_slot_that_was_tried_does_not_trigger() -> None:
    assert hidden_slot(4)(Round(trigger=2).after(1), 1, 0.0) == (0.0, False)


def test_constant_never_changes_and_is_not_forced_by_the_last_slot() -> None:
    known = Round()
    for slot in range(1, 7):
        draws = [constant(0.3)(known, slot, float(u)) for u in GRID]
        assert {draw.p_fire for draw in draws} == {0.3}
        assert sum(draw.fired for draw in draws) == 300
        known = known.after(slot)
    assert constant()(Round(), 1, 0.5).p_fire == P_BLAST


def test_creeping_rises_by_insertion_and_its_last_figure_repeats() -> None:
    known = Round()
    for k in range(6):
        draws = [creeping()(known, 3, float(u)) for u in GRID]
        hazard = CREEPING[min(k, 3)]
        assert {draw.p_fire for draw in draws} == {hazard}
        assert sum(draw.fired for draw in draws) == round(1000 * hazard)
        known = known.after(k + 1)
    assert list(CREEPING) == sorted(CREEPING)


def test_the_defaults_of_the_three_are_far_apart() -> None:
    assert len(NAMES) == 3
    hidden = [1 / (4 - k) for k in range(4)]
    assert max(abs(a - b) for a, b in zip(CREEPING, hidden, strict=True)) > 0.15
    assert max(abs(a - P_BLAST) for a in CREEPING) > 0.3
    assert max(abs(a - P_BLAST) for a in hidden) > 0.5
