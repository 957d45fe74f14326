# SPDX-License-Identifier: Apache-2.0
"""A run in which nothing counted, or too much told nothing, never passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.store.records import Event
from controller.verdict import Exit, exit_of, told_nothing
from tests.controller.conftest import make_run, make_trial


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ("ok", Exit.passed),
        ("no_run", Exit.passed),
        ("jam", Exit.passed),
        ("held blast held partial ok latch_fault ok", Exit.passed),
        ("rejected fault aborted slip", Exit.inconclusive),
        ("ok " * 19 + "fault", Exit.passed),
        ("ok " * 18 + "fault", Exit.inconclusive),
        ("rejected", Exit.inconclusive),
        ("rejected rejected", Exit.inconclusive),
        ("rejected fault", Exit.inconclusive),
        ("aborted", Exit.inconclusive),
        ("fault", Exit.rig_fault),
        ("fault fault fault", Exit.rig_fault),
        ("", Exit.inconclusive),
    ],
)
def test_the_exit_code_goes_with_what_counted(verdicts: str, code: Exit) -> None:
    assert exit_of(make_run([make_trial(number=n, verdict=verdict) for n, verdict in enumerate(verdicts.split(), start=1)])) is code


@pytest.mark.parametrize(("late", "code"), [(1, Exit.passed), (2, Exit.inconclusive)])
def test_a_trial_after_which_a_card_flew_told_nothing(late: int, code: Exit) -> None:
    data = make_run([make_trial(number=n, verdict="held") for n in range(1, 21)])
    events = [Event(n, n, "late_card", {}, data.run.started_at) for n in range(1, late + 1)]
    data = replace(data, events=(*events, *events))
    assert exit_of(data) is code
    assert told_nothing(data).startswith(f"{late} of 20")
