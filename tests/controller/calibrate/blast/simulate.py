# SPDX-License-Identifier: Apache-2.0
"""A blaster of known probabilities, in numpy alone: what intervals and winners are judged against.

It stands for toy, rig and campaign at once: the slots are filled in a random order until the toy lets go, a full blaster that
held is reset, and a round may be given up before its end. Each probability is logged before the draw. Nothing of it is
shared with the code under test but the record it fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from controller.calibrate.blast.inserts import Inserts
from controller.store.records import RunData, Trial
from tests.controller.conftest import make_run, make_trial

Brain = Callable[[int, int], float]
"""P(release) from the place in the round, from 1, and the number of slots."""

CREEPING = (0.08, 0.2, 0.5, 0.9)

BRAINS: dict[str, Brain] = {
    "constant": lambda k, slots: 0.3,
    "hidden_slot": lambda k, slots: 1 / (slots - k + 1),
    "creeping": lambda k, slots: CREEPING[min(k, len(CREEPING)) - 1],
}
"""`hidden_slot` is not simulated from its hazard but from a trigger drawn per round; see `campaign`."""


def constant(p: float) -> Brain:
    """The same probability at every insert."""
    return lambda k, slots: p


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was recorded of a simulated campaign, and the logged probabilities by the number of the trial."""

    data: RunData
    p_fire: dict[int, float]


_INSERT = replace(make_trial(verdict="held"), kind="insert", accepted=True, toy="awake", cleared=0, dealt=0, fired=False)
_RESET = replace(make_trial(verdict="ok"), kind="reset", accepted=True, toy="awake", fired=False)


def insert(number: int, round_: int, k: int, **changes: Any) -> Trial:
    """The k-th insert of a round; held unless told. k 0: not taken. What flies goes with the verdict unless told."""
    verdict = changes.setdefault("verdict", "held")
    changes.setdefault("slot", max(k, 1))
    changes.setdefault("loaded", max(k, 1))
    changes.setdefault("fired", verdict in ("blast", "partial", "latch_fault", "jam"))
    changes.setdefault("accepted", verdict != "rejected")
    cleared = changes.setdefault("cleared", {"blast": k, "partial": k - 1}.get(verdict, 0))
    return replace(_INSERT, number=number, round=round_, insert=k or None, dealt=cleared, **changes)


def reset(number: int, round_: int, loaded: int, **changes: Any) -> Trial:
    """A reset of an awake toy: everything loaded is ejected."""
    changes.setdefault("cleared", loaded)
    return replace(_RESET, number=number, round=round_, insert=None, slot=None, loaded=loaded, **changes)


def run_of_inserts(trials: list[Trial], **changes: Any) -> RunData:
    """A run of the blaster; `slots` is 4 unless told."""
    settings = {"pace_s": 3.0, "slots": changes.pop("slots", 4), "order": "random"}
    return make_run(trials, **({"launcher": "blast", "rig_url": "twin:blast?seed=7", "settings": settings} | changes))


def campaign(
    brain: str | Brain,
    seed: int,
    *,
    inserts: int = 1000,
    slots: int = 4,
    give_up: float = 0.0,
    partial: float = 0.0,
    latch_fault: float = 0.0,
    fault: float = 0.0,
) -> Campaign:
    """Insert cards, round after round. give_up: chance, before each insert but a round's first, that the round is reset
    instead. partial: chance that a release leaves some of its cards (2 or more); latch_fault: that it ejects nothing.
    fault: chance that the rig fails in an insert, whatever the toy does; an operator then empties the slots.
    """
    random = np.random.default_rng(seed)
    hazard = BRAINS[brain] if isinstance(brain, str) else brain
    trials: list[Trial] = []
    p_fire: dict[int, float] = {}
    done = round_ = 0
    while done < inserts:
        round_ += 1
        order = random.permutation(slots) + 1
        trigger = random.integers(slots) + 1
        for k, slot in enumerate(order.tolist(), start=1):
            if done == inserts:
                break
            if k > 1 and random.random() < give_up:
                trials.append(reset(len(trials) + 1, round_, k - 1))
                break
            p = hazard(k, slots)
            fires = slot == trigger if brain == "hidden_slot" else bool(random.random() < p)
            verdict, cleared = ("held", 0) if not fires else _flight(random, k, partial, latch_fault)
            number = len(trials) + 1
            p_fire[number] = p
            trials.append(insert(number, round_, k, slot=slot, verdict=verdict, cleared=cleared))
            done += 1
            if random.random() < fault:
                trials[-1] = replace(trials[-1], verdict="fault", reason="ring_full", insert=None)
                break
            if fires:
                break
            if k == slots:
                trials.append(reset(len(trials) + 1, round_, k))
    return Campaign(run_of_inserts(trials, slots=slots), p_fire)


def _flight(random: np.random.Generator, loaded: int, partial: float, latch_fault: float) -> tuple[str, int]:
    u = random.random()
    if u < latch_fault:
        return "latch_fault", 0
    if u < latch_fault + partial and loaded > 1:
        return "partial", int(random.integers(1, loaded))
    return "blast", loaded


def table_of(
    hazard: npt.NDArray[np.float64], seed: int, *, trigger: npt.NDArray[np.int64] | None = None, give_up: float = 0.05
) -> Inserts:
    """Rounds straight as a table of one run, for tests that need thousands of campaigns; the order of slots is random.

    hazard: P(release) by round and place in it, shape (rounds, slots). trigger: slot that alone releases, by round, instead of the
    hazard. give_up: as of `campaign`.
    """
    random = np.random.default_rng(seed)
    rounds, slots = hazard.shape
    slot = random.permuted(np.tile(np.arange(1, slots + 1), (rounds, 1)), axis=1)
    releases = random.random(hazard.shape) < hazard if trigger is None else slot == trigger[:, np.newaxis]
    gives_up = random.random(hazard.shape) < give_up
    gives_up[:, 0] = False
    over = np.logical_or.accumulate(gives_up, axis=1)
    over[:, 1:] |= np.logical_or.accumulate(releases, axis=1)[:, :-1]
    round_, place = np.nonzero(~over)
    fired = releases[round_, place]
    n = round_.size
    return Inserts(
        rule=np.full(n, ""),
        verdict=np.where(fired, "blast", "held"),
        number=np.arange(1, n + 1),
        run=np.zeros(n, dtype=np.int64),
        round=round_,
        k=place + 1,
        slot=slot[round_, place],
        loaded=place + 1,
        cleared=np.where(fired, place + 1, 0),
        fired=fired,
    )
