# SPDX-License-Identifier: Apache-2.0
"""10,000 random moments for each thing that can fail: how soon every output is off, in cycles of the simulated AVR.

Takes about half an hour. `tests/firmware/test_safety.py` does the same with fewer, `tests/firmware/points.py` says what is
counted from when; what the docs promise stands in `docs/faults.md`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from statistics import median

import pytest

from rig.twin.avr import CYCLE_HZ
from tests.firmware.board import MS, US
from tests.firmware.points import INTERRUPTS, LOOP, Point, hang, interlock, pulses, silence, stops

POINTS = 10_000
SEED = 20_000

Draw = random.Random
KINDS: dict[str, tuple[int, list[Callable[[Draw, int], Iterator[Point]]]]] = {
    "the host falls silent in a trial": (
        250 * MS,
        [lambda draw, n: silence(draw, n, direct=False), lambda draw, n: silence(draw, n, direct=True)],
    ),
    "the host falls silent after a pulse": (250 * MS, [pulses]),
    "the loop hangs": (
        250 * MS,
        [lambda draw, n: hang(draw, n, LOOP, direct=False), lambda draw, n: hang(draw, n, LOOP, direct=True)],
    ),
    "hung in an interrupt": (
        150 * MS,
        [lambda draw, n: hang(draw, n, INTERRUPTS, direct=False), lambda draw, n: hang(draw, n, INTERRUPTS, direct=True)],
    ),
    "the interlock opens": (
        100 * US,
        [lambda draw, n: interlock(draw, n, direct=False), lambda draw, n: interlock(draw, n, direct=True)],
    ),
    "STOP": (100 * US, [lambda draw, n: stops(draw, n, direct=False), lambda draw, n: stops(draw, n, direct=True)]),
}
"""What fails: the cycles after which all must be off, and the ways to draw a moment of it."""


@pytest.mark.nightly
@pytest.mark.parametrize("what", KINDS)
def test_everything_is_off_in_time_at_10_000_moments(what: str) -> None:
    limit, ways = KINDS[what]
    points = [point for n, way in enumerate(ways) for point in way(random.Random(SEED + n), POINTS // len(ways))]
    assert len(points) == POINTS
    on = [point.cycles for point in points if point.cycles]
    print(
        f"\n{what}: {POINTS} moments, at {len(on)} of them something was on, off after "
        f"{shown(median(on))} (median), {shown(max(on))} (worst), {shown(limit)} allowed"
    )
    for phase in sorted({point.phase for point in points}):
        mine = [point.cycles for point in points if point.phase == phase]
        print(f"  {phase:8} {len(mine):5} moments, worst {shown(max(mine))}")
    assert max(on) <= limit


def shown(cycles: float) -> str:
    """Cycles as a time."""
    return f"{cycles / CYCLE_HZ * 1e3:.3f} ms" if cycles >= MS else f"{cycles / CYCLE_HZ * 1e6:.1f} us"
