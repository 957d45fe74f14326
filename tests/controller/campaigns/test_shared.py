# SPDX-License-Identifier: Apache-2.0
"""Places in bursts."""

from __future__ import annotations

from controller.campaigns.roller import MOST_IN_BURST
from controller.campaigns.shared import UNTIL_FIRE, Bursts


def places(sizes: tuple[int, ...], fires: str) -> list[tuple[int, int]]:
    """(burst, index) of each press of `fires`, in which F is a fire."""
    bursts, found = Bursts(sizes, MOST_IN_BURST), []
    for press in fires:
        found.append((bursts.number, bursts.index))
        bursts.step(press == "F")
    return found


def test_bursts_take_their_sizes_in_turn_whatever_fires() -> None:
    assert places((1, 2, 3), "F.F.F..F") == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 0), (5, 0)]


def test_a_burst_until_fire_ends_with_it() -> None:
    assert places((UNTIL_FIRE,), "F..FF") == [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0)]


def test_a_burst_until_fire_that_never_fires_ends_at_the_cap() -> None:
    indices = [index for _, index in places((UNTIL_FIRE,), "." * (MOST_IN_BURST + 1))]
    assert indices == [*range(MOST_IN_BURST), 0]


def test_bursts_until_fire_and_of_a_size_can_follow_each_other() -> None:
    assert places((UNTIL_FIRE, 2), ".FF.F") == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]
