# SPDX-License-Identifier: Apache-2.0
"""Measured trials meet the plant's record on the moment of actuation."""

from __future__ import annotations

import random

from rig.twin.join import join
from rig.twin.truth import Activation

OFFSET = 123_456_789
PACE = 48_000_000


def activations(*cycles: int) -> list[Activation]:
    return [Activation(cycle=cycle, drive="button", hopper=83) for cycle in cycles]


def test_every_trial_finds_its_activation_whatever_the_offset_of_the_clocks() -> None:
    ticks = [PACE * n + random.Random(n).randrange(40) for n in range(1, 500)]
    found = join(list(enumerate(ticks, 1)), activations(*(tick + OFFSET for tick in ticks)))
    assert {number: each.cycle - OFFSET for number, each in found.items()} == dict(enumerate(ticks, 1))


def test_a_trial_that_never_reached_the_toy_has_none_and_shifts_nobody() -> None:
    ticks = [PACE * n for n in range(1, 100)]
    found = join(list(enumerate(ticks, 1)), activations(*(tick + OFFSET for tick in ticks if tick != 7 * PACE)))
    assert 7 not in found
    assert found[8].cycle == 8 * PACE + OFFSET
    assert len(found) == 98


def test_an_activation_that_no_trial_commanded_is_left_out() -> None:
    ticks = [PACE * n for n in range(1, 10)]
    extra = activations(*sorted([*(tick + OFFSET for tick in ticks), OFFSET + PACE * 3 + 1_000_000]))
    assert len(join(list(enumerate(ticks, 1)), extra)) == 9


def test_nothing_joins_with_nothing() -> None:
    assert join([], activations(5)) == {}
    assert join([(1, 5)], []) == {}
