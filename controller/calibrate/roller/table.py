# SPDX-License-Identifier: Apache-2.0
"""From stored runs to arrays: which presses count for what, every exclusion by a named rule.

A rule looks at what happened, never at whether a number pleases; how many it excluded always stands next to n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from controller.calibrate.roller.presses import UNKNOWN, Presses
from controller.store.records import Fill, RunData, Trial

_FAR = np.iinfo(np.int64).max
"""Presses since something that never happened."""


def tabulate(runs: Sequence[RunData]) -> Presses:
    """Turn runs into arrays and apply every rule.

    `hopper_found_empty`: the ledger believed in cards that were not there (a double feed counted as one), so the last
    press of that fill that dealt any may have been cut short, and later ones ran over an empty hopper.
    `low_hopper`: fewer cards in the hopper before the press than the largest count seen, so that the press could have
    been cut short. The rule looks only at the state before the press; excluding by outcome would favour small counts.
    """
    trials = [trial for run in runs for trial in _presses(run)]
    doubtful = [number for run in runs for number in _after_found_empty(run)]
    clusters: dict[tuple[int, int], int] = {}
    fills = [(i, trial.fill) for i, run in enumerate(runs) for trial in _presses(run)]
    cluster = [clusters.setdefault(fill, len(clusters)) for fill in fills]
    rule = np.array([_rule(*pair) for pair in zip(trials, doubtful, strict=True)], dtype="<U20")
    presses = Presses(
        rule=rule,
        verdict=np.array([trial.verdict for trial in trials], dtype="<U20"),
        cluster=np.array(cluster, dtype=np.int64),
        fired=np.array([trial.fired for trial in trials], dtype=np.bool_),
        sticking=np.array([trial.sticking > 0 for trial in trials], dtype=np.bool_),
        dealt=np.array([trial.dealt for trial in trials], dtype=np.int64),
        hopper=np.array([trial.hopper for trial in trials], dtype=np.int64),
        since_fire=np.array([trial.since_fire or UNKNOWN for trial in trials], dtype=np.int64),
        since_power_on=np.array([trial.since_power_on for trial in trials], dtype=np.int64),
        since_lid_close=np.array([trial.since_lid_close for trial in trials], dtype=np.int64),
        since_unsure=np.array([count for run in runs for count in _since_unsure(run)], dtype=np.int64),
    )
    rule[presses.counted & (presses.hopper < presses.largest)] = "low_hopper"
    return presses


def _presses(run: RunData) -> Iterable[Trial]:
    return (trial for trial in run.trials if trial.kind == "press")


def _rule(trial: Trial, is_doubtful: bool) -> str:
    if trial.spoiled:
        return "spoiled"
    if trial.verdict in ("rejected", "aborted", "fault"):
        return trial.verdict
    if not trial.accepted:
        return "fault"  # The roller ran although no sound was heard, as in the reason `ran_unheard`.
    if is_doubtful and trial.verdict in ("ok", "slip", "empty"):
        return "hopper_found_empty"
    return trial.verdict if trial.verdict in ("slip", "jam", "empty") else ""


def _after_found_empty(run: RunData) -> list[bool]:
    """Per press: is it the last with cards, or later, of a fill whose hopper was empty against the ledger?"""
    last_with_cards = {trial.fill: trial.number for trial in _presses(run) if trial.dealt}
    from_number = {fill.number: last_with_cards.get(fill.number, 0) for fill in run.fills if _found_empty(fill)}
    return [trial.number >= from_number.get(trial.fill, _FAR) for trial in _presses(run)]


def _found_empty(fill: Fill) -> bool:
    return fill.remaining == 0 and fill.difference is not None and fill.difference > 0


def _since_unsure(run: RunData) -> list[int]:
    counts = []
    count = _FAR
    for trial in _presses(run):
        counts.append(count)
        rule = _rule(trial, False)
        if rule in ("spoiled", "aborted", "fault") and trial.tick is not None:
            count = 1
        elif rule != "rejected" and count != _FAR:
            count += 1
    return counts
