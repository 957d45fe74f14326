# SPDX-License-Identifier: Apache-2.0
"""Whatever fails, at whatever moment of a trial: every output is off in time. `benches/bench_safety.py` asks it 10,000 times.

Cycles of the simulated AVR, counted from the event at its pin: 16,000 are 1 ms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from tests.firmware.board import MS, US
from tests.firmware.points import (
    INTERRUPTS,
    LOOP,
    STATES,
    Point,
    hang,
    interlock,
    pulses,
    silence,
    stops,
)
from tests.firmware.safety import PHASES

DRIVES = pytest.mark.parametrize("direct", [False, True], ids=["button", "direct"])


def assert_all_within(points: Iterable[Point], limit: int, kinds: Iterable[str], least: int = 1) -> None:
    """Every point in time, and of every kind at least so many, some of which found something switched on."""
    found = list(points)
    assert max(point.cycles for point in found) <= limit
    for kind in kinds:
        assert sum(point.phase == kind for point in found) >= least, kind
    assert sum(point.cycles > 0 for point in found) >= len(found) // 3


@DRIVES
def test_a_host_that_falls_silent_in_a_trial_leaves_nothing_on_after_250_ms(direct: bool) -> None:
    assert_all_within(silence(random.Random(1), 200, direct=direct), 250 * MS, PHASES, 5)


def test_a_silent_host_does_not_prolong_a_pulse_of_any_output() -> None:
    assert_all_within(pulses(random.Random(2), 220), 250 * MS, ("on", "off"))


@DRIVES
def test_a_loop_that_hangs_leaves_nothing_on_after_250_ms_and_is_told_after_the_reset(direct: bool) -> None:
    assert_all_within(hang(random.Random(3), 60, LOOP, direct=direct), 250 * MS, PHASES)


@DRIVES
def test_a_hang_inside_an_interrupt_ends_in_a_reset_within_150_ms_and_is_told(direct: bool) -> None:
    assert_all_within(hang(random.Random(4), 60, INTERRUPTS, direct=direct), 150 * MS, PHASES)


@DRIVES
def test_an_open_interlock_leaves_nothing_on_after_100_us_while_everything_else_is_going_on(direct: bool) -> None:
    assert_all_within(interlock(random.Random(5), 200, direct=direct), 100 * US, PHASES)


@DRIVES
def test_stop_leaves_nothing_on_100_us_after_its_eighth_zero_byte_whatever_the_state_of_the_link(direct: bool) -> None:
    assert_all_within(stops(random.Random(6), 150, direct=direct), 100 * US, STATES)
