# SPDX-License-Identifier: Apache-2.0
"""Measured trials meet the plant's record on the moment of actuation."""

from __future__ import annotations

import random

import pytest

from rig.board import Stretch
from rig.twin.join import join, truth_of
from rig.twin.parameters import RollerParameters
from rig.twin.truth import Activation

OFFSET = 123_456_789
EPOCH_S = OFFSET / 16e6 + 0.003  # as the host sees it: a frame too late
PACE = 48_000_000


def activations(*cycles: int) -> list[Activation]:
    return [Activation(cycle=cycle, drive="button", hopper=83) for cycle in cycles]


def test_every_trial_finds_its_activation_whatever_the_offset_of_the_clocks() -> None:
    ticks = [PACE * n + random.Random(n).randrange(40) for n in range(1, 500)]
    found = join(list(enumerate(ticks, 1)), activations(*(tick + OFFSET for tick in ticks)), EPOCH_S)
    assert {number: each.cycle - OFFSET for number, each in found.items()} == dict(enumerate(ticks, 1))


@pytest.mark.parametrize("gone", [{7}, set(range(1, 90)), set(range(1, 100, 2))])
def test_trials_that_never_reached_the_launcher_have_none_and_shift_nobody(gone: set[int]) -> None:
    ticks = [PACE * n for n in range(1, 100)]
    there = activations(*(tick + OFFSET for n, tick in enumerate(ticks, 1) if n not in gone))
    found = join(list(enumerate(ticks, 1)), there, EPOCH_S)
    assert set(found) == set(range(1, 100)) - gone
    assert all(each.cycle == PACE * number + OFFSET for number, each in found.items())


def test_an_activation_that_no_trial_commanded_is_left_out() -> None:
    ticks = [PACE * n for n in range(1, 10)]
    extra = activations(*sorted([*(tick + OFFSET for tick in ticks), OFFSET + PACE * 3 + 1_000_000]))
    assert len(join(list(enumerate(ticks, 1)), extra, EPOCH_S)) == 9


def test_nothing_joins_with_nothing() -> None:
    assert join([], activations(5), 0.0) == {}
    assert join([(1, 5)], [], 0.0) == {}


def test_every_trial_has_a_row_and_a_trial_that_never_acted_says_so() -> None:
    truth = truth_of(RollerParameters(), [(1, PACE), (2, None)], activations(PACE + OFFSET), [Stretch(0, EPOCH_S)])
    assert [(row["trial"], row["cause"], row["cleared"]) for row in truth["trials"]] == [(1, "ignored", 0), (2, "not actuated", 0)]


def test_after_a_reset_ticks_lie_elsewhere_and_trials_join_all_the_same() -> None:
    moved = OFFSET - 30_000  # the line of ticks goes on where the host's clock stood, which is a frame's delay off
    cycles = [PACE + OFFSET, 2 * PACE + OFFSET, 3 * PACE + moved, 4 * PACE + moved]
    stretches = [Stretch(0, EPOCH_S), Stretch(2 * PACE + 1, EPOCH_S)]
    truth = truth_of(RollerParameters(), [(n, n * PACE) for n in range(1, 5)], activations(*cycles), stretches)
    assert [row["cycle"] for row in truth["trials"]] == cycles
