# SPDX-License-Identifier: Apache-2.0
"""Measured trials meet the plant's record on the moment of actuation."""

from __future__ import annotations

import random

import pytest

from rig.board import Stretch
from rig.twin.blast import truth as blast
from rig.twin.blast.parameters import BlastParameters
from rig.twin.join import join, truth_of
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.truth import NOTHING, Activation
from rig.twin.twins import TWINS

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
    truth = truth_of(RollerParameters(), NOTHING, [(1, PACE), (2, None)], activations(PACE + OFFSET), [Stretch(0, EPOCH_S)])
    assert [(row["trial"], row["cause"], row["cleared"]) for row in truth["trials"]] == [(1, "ignored", 0), (2, "not actuated", 0)]


def test_after_a_reset_ticks_lie_elsewhere_and_trials_join_all_the_same() -> None:
    moved = OFFSET - 30_000  # the line of ticks goes on where the host's clock stood, which is a frame's delay off
    cycles = [PACE + OFFSET, 2 * PACE + OFFSET, 3 * PACE + moved, 4 * PACE + moved]
    stretches = [Stretch(0, EPOCH_S), Stretch(2 * PACE + 1, EPOCH_S)]
    truth = truth_of(RollerParameters(), NOTHING, [(n, n * PACE) for n in range(1, 5)], activations(*cycles), stretches)
    assert [row["cycle"] for row in truth["trials"]] == cycles


@pytest.mark.parametrize("name", TWINS)
def test_a_trial_that_never_acted_has_the_columns_of_all_others(name: str) -> None:
    twin = TWINS[name]
    plant = twin.plant(twin.parameters(), 1)
    plant.start(0)
    plant.load(0, 1)
    plant.output(16_000, "power", 1.0)
    plant.output(16_000_000, "launch", 1.0)
    plant.output(16_000_000, "slot1", 1.0)
    (record,) = plant.truth()
    assert set(twin.nothing) <= set(record.to_dict())
    truth = truth_of(twin.parameters(), twin.nothing, [(1, None)], [record], [Stretch(0, EPOCH_S)])
    assert truth["trials"] == [{"trial": 1, **twin.nothing}]


def test_every_column_of_the_blaster_is_there_whatever_became_of_a_trial() -> None:
    activation = blast.Activation(cycle=PACE + OFFSET, kind="insert", slot=2, loaded=1)
    truth = truth_of(BlastParameters(), blast.NOTHING, [(1, PACE), (2, None)], [activation], [Stretch(0, EPOCH_S)])
    there, nothing = truth["trials"]
    assert set(there) == set(nothing)
    assert (there["slot"], nothing["slot"], nothing["cause"]) == (2, None, "not actuated")
