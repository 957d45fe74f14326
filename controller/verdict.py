# SPDX-License-Identifier: Apache-2.0
"""What the shell sees. A verdict is never better than its worst part, and a run in which nothing counted never passes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from controller.store.records import Trial

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


def told_nothing(trials: Sequence[Trial]) -> str:
    """How many of the trials told nothing of the launcher, for whoever asks why a run is inconclusive."""
    nothing = sum(trial.verdict not in USABLE for trial in trials)
    return f"{nothing} of {len(trials)} trials told nothing, at most {MOST_WASTED:.0%} may"


def exit_of(trials: Sequence[Trial]) -> Exit:
    """The exit code of a run that was carried out to its end."""
    usable = sum(trial.verdict in USABLE for trial in trials)
    if trials and all(trial.verdict == "fault" for trial in trials):
        return Exit.rig_fault
    return Exit.passed if usable and usable >= (1 - MOST_WASTED) * len(trials) else Exit.inconclusive
