# SPDX-License-Identifier: Apache-2.0
"""The motor's current, as a piecewise-linear waveform."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.roller.feed import Segment
from rig.twin.waveform import Points

# Where an exponential is cut into straight lines, in time constants: a large one such as the inrush, and a small one such as
# the step of load when a card is gripped. No line is off by more than 15 mA, three counts of the converter.
_CORNERS = (0.3, 0.7, 1.3, 2.2, 3.5)
_FEW_CORNERS = (0.6, 1.7)
_SMALL_A = 0.15
_FLAT_A = 0.015


def motor_A(segments: Sequence[Segment], start: int) -> Points:
    """The motor's share of the pack's current from `start` on."""
    points: Points = []
    for state, end, v_inf, tau_s, drive in segments:
        if end <= start or end <= state.cycle:
            continue
        if not drive.driven:
            points.append((max(state.cycle, start), 0.0))
            continue
        still_A, slope_A = drive.still_A, drive.slope_A
        end_A = still_A - slope_A * v_inf
        change_A = slope_A * (v_inf - state.v)  # the current is end_A + change_A * exp(-t / tau)
        first = max(state.cycle, start)
        points.append((first, end_A + change_A * exp((state.cycle - first) / (tau_s * CYCLE_HZ))))
        for corner in _FEW_CORNERS if -_SMALL_A < change_A < _SMALL_A else _CORNERS:
            fading_A = change_A * exp(-corner)
            cycle = state.cycle + int(corner * tau_s * CYCLE_HZ)
            if cycle >= end - 1 or -_FLAT_A < fading_A < _FLAT_A:
                break
            if cycle > first:
                points.append((cycle, end_A + fading_A))
        if end != FOREVER:
            if end - 1 > points[-1][0]:
                points.append((end - 1, end_A + change_A * exp((state.cycle - end) / (tau_s * CYCLE_HZ))))
        elif abs(change_A) >= _FLAT_A:
            points.append((max(points[-1][0], state.cycle + int(5 * tau_s * CYCLE_HZ)) + 1, end_A))
    if points and segments[-1].drive.driven and segments[-1].end != FOREVER:
        points.append((segments[-1].end, 0.0))  # a roller that never turned does not coast
    return points
