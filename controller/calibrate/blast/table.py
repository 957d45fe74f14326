# SPDX-License-Identifier: Apache-2.0
"""From stored runs to the table of inserts: which count for what, every exclusion by a named rule.

A rule looks at what happened, never at whether a number pleases; how many it excluded always stands next to n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from controller.calibrate.blast.inserts import Inserts
from controller.store.records import RunData, Trial


def tabulate(runs: Sequence[RunData]) -> Inserts:
    """Turn runs into arrays and apply every rule. Resets are no rows; what they eject enters nothing."""
    trials = [trial for run in runs for trial in run.trials if trial.kind == "insert"]
    rules = [rule for run in runs for rule in _rules(run)]
    rounds: dict[tuple[int, int | None], int] = {}
    places = [(i, trial.round) for i, run in enumerate(runs) for trial in run.trials if trial.kind == "insert"]
    return Inserts(
        rule=np.array(rules, dtype="<U20"),
        verdict=np.array([trial.verdict for trial in trials], dtype="<U20"),
        number=np.array([trial.number for trial in trials], dtype=np.int64),
        run=np.array([run for run, _ in places], dtype=np.int64),
        round=np.array([rounds.setdefault(place, len(rounds)) for place in places], dtype=np.int64),
        k=np.array([trial.insert or 0 for trial in trials], dtype=np.int64),
        slot=np.array([trial.slot or 0 for trial in trials], dtype=np.int64),
        loaded=np.array([trial.loaded or 0 for trial in trials], dtype=np.int64),
        cleared=np.array([trial.cleared for trial in trials], dtype=np.int64),
        fired=np.array([trial.fired for trial in trials], dtype=np.bool_),
    )


def _rules(run: RunData) -> Iterator[str]:
    """The rule of each insert, in order; empty where it counts.

    A round is known from its first insert on, as long as every one is accounted for: the next row must be the insert
    after the last. What breaks the chain (an insert that nobody judged, a reset, a part of the round that is not in the
    store) leaves the rest of the round out.
    """
    late = run.late
    in_round: int | None = None
    held: int | None = 0  # inserts taken and held so far in the round; None when that is not known or the round is over
    for trial in run.trials:
        if trial.round != in_round:
            in_round, held = trial.round, 0
        rule = _own_rule(trial) or ("late_card" if trial.number in late else "")
        untouched = trial.tick is None and rule != "spoiled"
        if trial.kind != "insert":
            if not untouched and (trial.spoiled or trial.verdict not in ("held", "rejected")):
                held = None
            continue
        if rule:
            # The toy did not take a rejected one. Its card may lie in its slot all the same: `loaded` of the next ones tells.
            held = held if untouched or rule == "rejected" else None
        elif held is None or trial.insert != held + 1:
            rule, held = "after_unsure", None
        else:
            held = None if trial.fired or trial.verdict == "jam" else held + 1
            if trial.loaded != trial.insert:
                rule = "unseen_card"
        yield rule


def _own_rule(trial: Trial) -> str:
    """What the trial by itself is excluded for."""
    if trial.spoiled:
        return "spoiled"
    if trial.verdict in ("rejected", "aborted", "fault"):
        return trial.verdict
    return "" if trial.accepted else "fault"  # a jam without a sound: nobody knows whether the toy took the card
