# SPDX-License-Identifier: Apache-2.0
"""What the shell sees. A verdict is never better than its worst part, and a run in which nothing counted never passes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from controller.store.records import Trial

USABLE = frozenset({"ok", "no_run", "slip", "jam", "empty"})
"""Verdicts of presses that tell something of the launcher."""


class Exit(IntEnum):
    """Exit codes of every command."""

    passed = 0
    failed = 1  # limits
    usage = 2
    inconclusive = 3
    aborted = 4
    rig_fault = 5


def exit_of(trials: Sequence[Trial]) -> Exit:
    """The exit code of a run that was carried out to its end."""
    if any(trial.verdict in USABLE for trial in trials):
        return Exit.passed
    return Exit.rig_fault if trials and all(trial.verdict == "fault" for trial in trials) else Exit.inconclusive
