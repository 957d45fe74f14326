# SPDX-License-Identifier: Apache-2.0
"""How the console calls the trials of each launcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.store.records import Trial
from rig.wire.messages import Launcher


@dataclass(frozen=True, slots=True)
class Words:
    """trials: many of them. troubles: verdicts that progress names. facts: of one trial, for a line of its own."""

    trials: str
    troubles: tuple[str, ...]
    facts: Callable[[Trial], list[str]]


def _press(trial: Trial) -> list[str]:
    return [f"{trial.cleared} cleared", f"{trial.sticking} sticking", f"roller {trial.roller_ms} ms"]


def _of_blaster(trial: Trial) -> list[str]:
    where = "reset" if trial.slot is None else f"slot {trial.slot}"
    return [where, f"{trial.cleared} of {trial.loaded} cleared", f"latch {trial.roller_ms} ms", f"toy {trial.toy}"]


WORDS: Mapping[Launcher, Words] = {
    Launcher.roller: Words("presses", ("jam", "slip", "empty", "rejected", "fault"), _press),
    Launcher.blast: Words("inserts and resets", ("partial", "latch_fault", "jam", "rejected", "fault"), _of_blaster),
}


def line_of(trial: Trial, words: Words) -> str:
    """One trial as a line."""
    peak = "not actuated" if trial.peak_A is None else f"peak {trial.peak_A:.2f} A"
    reason = [trial.reason] if trial.reason != "none" else []
    return ", ".join([f"{trial.number}: {trial.verdict}", *words.facts(trial), peak, *reason])
