# SPDX-License-Identifier: Apache-2.0
"""Current and voltage of the pack, as piecewise-linear waveforms at the controller's analog pins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rig.twin.avr import CYCLE_HZ, FOREVER

CURRENT_CHANNEL, VOLTAGE_CHANNEL = 0, 1
AMPERE_PER_VOLT = 1.0  # A0: 5 V at the pin is 5 A
VOLT_PER_VOLT = 2.0  # A1: 5 V at the pin is 10 V

Points = list[tuple[int, float]]
"""(cycle, value), by cycle; straight lines between, the last value for ever."""


def add_steps(points: Points, steps: Sequence[tuple[int, float]]) -> Points:
    """Add a step function to a waveform.

    `steps` are (cycle, level from then on), by cycle; the first is where the sum begins. No `points` before that; before its
    first point the waveform is 0.
    """
    total: Points = []
    first = points[0][0] if points else 0
    i = 0
    for (begin, level), (finish, _) in pairwise([*steps, (FOREVER, 0.0)]):
        if finish <= begin:
            continue
        if i >= len(points) or points[i][0] > begin:
            total.append((begin, level + _value(points, i, begin)))
        while i < len(points) and points[i][0] < finish:
            cycle, value = points[i]
            if cycle == first > begin + 1:
                total.append((cycle - 1, level))
            total.append((cycle, value + level))
            i += 1
        if finish != FOREVER and total[-1][0] < finish - 1:
            total.append((finish - 1, level + _value(points, i, finish - 1)))
    return total


def _value(points: Points, i: int, cycle: int) -> float:
    """The waveform at `cycle`, which lies before point `i` and not before point `i - 1`."""
    if i == 0:
        return 0.0
    c0, v0 = points[i - 1]
    if i == len(points):
        return v0
    c1, v1 = points[i]
    return v0 + (v1 - v0) * (cycle - c0) / (c1 - c0)


def charge_mAh(points: Points, start: int, end: int) -> float:
    """Integral of a current waveform in ampere from cycle `start` to `end`, in mAh."""
    total = 0.0  # ampere cycles, twice
    for (c0, v0), (c1, v1) in pairwise([*points, (FOREVER, points[-1][1])]):
        if c1 <= start or c1 <= c0:
            continue
        if c0 >= end:
            break
        slope = (v1 - v0) / (c1 - c0)
        left, right = max(c0, start), min(c1, end)
        total += (right - left) * (2 * v0 + slope * (left - c0 + right - c0))
    return total / 2 / CYCLE_HZ / 3.6


def at_pins(current_A: Points, open_V: float, pack_ohm: float) -> dict[int, Points]:
    """Both analog channels, in volts at the pins."""
    return {
        CURRENT_CHANNEL: [(cycle, ampere / AMPERE_PER_VOLT) for cycle, ampere in current_A],
        VOLTAGE_CHANNEL: [(cycle, (open_V - pack_ohm * ampere) / VOLT_PER_VOLT) for cycle, ampere in current_A],
    }
