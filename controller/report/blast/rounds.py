# SPDX-License-Identifier: Apache-2.0
"""The rounds of a blaster's run: from empty slots to a release, or to whatever ended them before one came."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from controller.store.records import RunData, Trial

RELEASED = "release"
"""How a round ends that is not censored."""

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Round:
    """number: as stored. inserts: that the toy took. ending: `RELEASED`, or what censored it, as the campaign named it.
    last: its last trial."""

    number: int
    inserts: int
    ending: str
    last: Trial


def rounds(data: RunData) -> list[Round]:
    """Every round of a run with an insert in it, in order; resets of empty slots make none.

    What ended a round stands in its event; a run that crashed may lack the last one. Fired is never said of a reset.
    """
    told = {event.data["round"]: str(event.data["ended"]) for event in data.events if event.kind == "round"}
    own = [trial for trial in data.trials if trial.round is not None]
    found = []
    for number, group in groupby(own, key=lambda trial: trial.round):
        trials = list(group)
        if not any(trial.kind == "insert" for trial in trials):
            continue
        ending = RELEASED if any(trial.fired for trial in trials) else told.get(number, NOT_RECORDED)
        found.append(Round(number or 0, max(trial.insert or 0 for trial in trials), ending, trials[-1]))
    return found
