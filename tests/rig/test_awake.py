# SPDX-License-Identifier: Apache-2.0
"""Whether the toy is awake, by the time before a trial and by what the trial showed."""

from __future__ import annotations

import pytest

from rig.awake import SURELY_ASLEEP_S, ToyState, expected, shown


@pytest.mark.parametrize(
    ("idle_s", "state"),
    [
        (0.0, "awake"),
        (176.3, "awake"),
        (176.5, "unknown"),
        (179.9, "unknown"),
        (180.1, "unknown"),
        (183.5, "unknown"),
        (183.7, "asleep"),
        (86400.0, "asleep"),
        (None, "unknown"),
    ],
)
def test_time_alone_tells_except_near_three_minutes(idle_s: float | None, state: ToyState) -> None:
    assert expected(idle_s) == state


def test_after_the_time_that_is_sure_nothing_is_unknown() -> None:
    assert expected(SURELY_ASLEEP_S) == "asleep"


@pytest.mark.parametrize(
    ("kind", "accepted", "released", "before", "state"),
    [
        ("insert", True, False, "unknown", "awake"),
        ("insert", True, True, "asleep", "awake"),
        ("insert", False, False, "asleep", "asleep"),
        ("insert", False, False, "unknown", "unknown"),
        ("insert", False, False, "awake", "unknown"),
        ("reset", True, True, "unknown", "awake"),
        ("reset", True, False, "unknown", "asleep"),
        ("reset", True, False, "awake", "asleep"),
        ("reset", False, False, "asleep", "asleep"),
        ("reset", False, True, "asleep", "awake"),
    ],
)
def test_what_a_trial_showed_outweighs_the_clock(
    kind: str, accepted: bool, released: bool, before: ToyState, state: ToyState
) -> None:
    assert shown(kind, accepted=accepted, released=released, whole=True, before=before) == state


@pytest.mark.parametrize(("before", "state"), [("awake", "unknown"), ("unknown", "unknown"), ("asleep", "asleep")])
def test_a_reset_that_was_cut_short_does_not_show_that_nothing_came(before: ToyState, state: ToyState) -> None:
    assert shown("reset", accepted=True, released=False, whole=False, before=before) == state
