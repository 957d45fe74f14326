# SPDX-License-Identifier: Apache-2.0
"""What was energised, counted from the pins."""

from __future__ import annotations

import random

from rig.twin.coils import Coils


def test_spans_are_counted_and_a_change_of_duty_is_no_end() -> None:
    coils = Coils()
    for cycle, value in ((10, 1.0), (30, 0.0), (50, 0.2), (60, 0.9), (95, 0.0), (95, 0.0)):
        coils.output(cycle, "roller", value)
    assert coils.spans == {"roller": [(10, 30), (50, 95)]}
    assert (coils.total("roller"), coils.longest("roller")) == (65, 45)
    assert (coils.total("slot1"), coils.longest("slot1"), coils.most_within("slot1", 9)) == (0, 0, 0)


def test_two_coils_of_the_group_at_once_are_an_overlap_and_nothing_else_is() -> None:
    coils = Coils()
    coils.output(0, "power", 1)
    coils.output(1, "roller", 1)
    coils.output(2, "slot1", 1)
    assert (coils.overlaps, coils.on) == (0, {"roller", "slot1"})
    coils.output(3, "reset", 1)
    assert coils.overlaps == 1
    coils.output(4, "slot1", 0)
    coils.output(5, "launch", 1)
    assert coils.overlaps == 2
    coils.output(6, "reset", 0)
    coils.output(6, "launch", 0)
    coils.output(6, "slot6", 1)
    assert coils.overlaps == 2, "one that goes on as another goes off overlaps nothing"


def test_the_most_within_any_window_is_what_counting_cycle_by_cycle_finds() -> None:
    draw = random.Random(7)
    for _ in range(50):
        coils, at, level = Coils(), 0, [0] * 400
        while at < 330:
            on = at + draw.randrange(1, 30)
            at = on + draw.randrange(1, 30)
            coils.output(on, "slot2", 1)
            coils.output(at, "slot2", 0)
            level[on:at] = [1] * (at - on)
        window = draw.randrange(1, 120)
        assert coils.most_within("slot2", window) == max(sum(level[i : i + window]) for i in range(400))
