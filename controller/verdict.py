# SPDX-License-Identifier: Apache-2.0
"""What the shell sees. A verdict is never better than its worst part, and a run in which nothing counted never passes."""

from __future__ import annotations

from enum import IntEnum

from controller.store.records import RunData

USABLE = frozenset({"ok", "no_run", "slip", "jam", "empty", "blast", "held", "partial", "latch_fault"})
"""Verdicts of trials that tell something of the launcher."""


class Exit(IntEnum):
    """Exit codes of every command."""

    passed = 0
    failed = 1  # limits
    usage = 2
    inconclusive = 3
    aborted = 4
    rig_fault = 5


MOST_WASTED = 0.05
"""Share of trials that may tell nothing before a run is inconclusive: which of them fired is not known."""


def _usable(data: RunData) -> int:
    late = data.late
    return sum(trial.verdict in USABLE and trial.number not in late for trial in data.trials)


def told_nothing(data: RunData) -> str:
    """How many of the trials told nothing of the launcher, for whoever asks why a run is inconclusive."""
    return f"{len(data.trials) - _usable(data)} of {len(data.trials)} trials told nothing, at most {MOST_WASTED:.0%} may"


def exit_of(data: RunData) -> Exit:
    """The exit code of a run that was carried out to its end."""
    trials, usable = data.trials, _usable(data)
    if trials and all(trial.verdict == "fault" for trial in trials):
        return Exit.rig_fault
    return Exit.passed if usable and usable >= (1 - MOST_WASTED) * len(trials) else Exit.inconclusive
