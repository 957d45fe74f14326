# SPDX-License-Identifier: Apache-2.0
"""Runs that start just before the clock's wraps measure what others measure: `tick0=` sets the firmware's 48-bit ticks."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from benches.campaigns import measured_and_true
from controller.store.records import RunData
from tests.system.conftest import Demo

TWIN = "twin:roller?seed=7&p_fire=0.5&brain=iid"
PRESSES = 40
HZ = 16_000_000
US = 16
JITTER = HZ // 4000
"""Of a press behind its moment: 250 us, as `tests/firmware/test_clock.py` has it."""

WRAPS = {"2^16": 1 << 16, "2^31": 1 << 31, "2^32": 1 << 32, "2^47": 1 << 47, "2^48": 1 << 48}


@cache
def campaign(tick0: int | None) -> tuple[RunData, dict[str, Any]]:
    """The same presses from another tick on, and what really happened."""
    return measured_and_true(TWIN if tick0 is None else f"{TWIN}&tick0={tick0}", PRESSES, pace_s=3.0)


def intervals(data: RunData) -> list[list[tuple[int, str, int]]]:
    """Of every trial, its edges counted from its actuation."""
    return [[(tick - trial.tick, channel, level) for tick, channel, level in trial.edges] for trial in data.trials]


def assert_alike(data: RunData, other: RunData) -> None:
    """Verdicts and counts are equal; intervals are, as far as interrupts and the jitter of a press allow; ticks never run back."""
    assert len(data.trials) == PRESSES
    ticks = [trial.tick for trial in data.trials]
    assert ticks == sorted(ticks)
    for mine, its in zip(data.trials, other.trials, strict=True):
        assert (mine.verdict, mine.reason, mine.mcu_verdict) == (its.verdict, its.reason, its.mcu_verdict)
        assert (mine.cleared, mine.sticking, mine.roller_ms, mine.accepted) == (
            its.cleared,
            its.sticking,
            its.roller_ms,
            its.accepted,
        )
        if its.gap_s is not None:
            assert mine.gap_s == pytest.approx(its.gap_s, abs=2 * JITTER / HZ)
    for here, there in zip(intervals(data), intervals(other), strict=True):
        assert [edge[1:] for edge in here] == [edge[1:] for edge in there]
        for (tick, channel, _), (its_tick, _, _) in zip(here, there, strict=True):
            exact = channel == "beam_a" and tick >= 0  # captured by the hardware, and caused by the press
            assert abs(tick - its_tick) <= (2 if exact else 20 * US if tick >= 0 else JITTER), channel


def assert_true(truth: dict[str, Any], other: dict[str, Any]) -> None:
    """The same activations joined the same trials."""
    assert len(truth["trials"]) == PRESSES
    moving = {"cycle"}
    for mine, its in zip(truth["trials"], other["trials"], strict=True):
        assert {k: v for k, v in mine.items() if k not in moving} == {k: v for k, v in its.items() if k not in moving}
        assert abs(mine["cycle"] - its["cycle"]) <= 2 * JITTER


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_run_that_starts_just_before_a_wrap_gives_the_same_intervals(wrap: str) -> None:
    plain, plain_truth = campaign(None)
    data, truth = campaign(WRAPS[wrap] - 1)
    assert_alike(data, plain)
    assert_true(truth, plain_truth)


@pytest.mark.parametrize("wrap", [name for name in WRAPS if name != "2^16"])
def test_a_wrap_in_the_middle_of_a_trial_that_fired_leaves_its_intervals_alone(wrap: str) -> None:
    plain, plain_truth = campaign(None)
    fired = next(trial for trial in plain.trials[5:] if trial.cleared > 1)
    middle = fired.edges[len(fired.edges) // 2][0]
    data, truth = campaign(WRAPS[wrap] - middle)
    assert_alike(data, plain)
    assert_true(truth, plain_truth)
    mine = data.trials[fired.number - 1]
    assert mine.edges[0][0] < WRAPS[wrap] <= mine.edges[-1][0]


def test_the_command_takes_a_clock_that_is_about_to_wrap(demo: Any) -> None:
    plain: Demo = demo("--trials", "40", "--rig", TWIN)
    late: Demo = demo("--trials", "40", "--rig", f"{TWIN}&tick0={(1 << 48) - 60 * HZ}")
    assert len(late.pairs()) == PRESSES
    for mine, its in zip(late.trials, plain.trials, strict=True):
        for name in ("verdict", "cleared", "sticking", "roller_ms", "accepted", "mcu_verdict"):
            assert mine[name] == its[name], name
    times = [float(trial["t_s"]) for trial in late.trials]
    assert times == sorted(times)
