# SPDX-License-Identifier: Apache-2.0
"""A launcher of known probabilities, in numpy alone: what intervals are judged against.

It stands for toy, rig and campaign at once: it fires, deals, runs empty and is reloaded, and it logs each probability
before the draw. Nothing of it is shared with the code under test but the record it fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from controller.store.records import RunData, Trial
from tests.controller.conftest import make_run, make_trial

FIRING_PRESSES = frozenset(
    {2, 6, 9, 13, 17, 21, 24, 26, 27, 29, 32, 36, 37, 41, 44, 47, 48, 51}
    | {54, 57, 58, 62, 66, 69, 72, 73, 77, 81, 84, 85, 88, 92, 93, 96}
)
"""The published list of 34 in 96 (docs/facts.md#published-claims; whether it is true is unverified)."""

HAZARD = (0.21, 0.11, 0.54, 1.0)
DEALT = (0.06, 0.14, 0.22, 0.2, 0.14, 0.1, 0.06, 0.04, 0.03, 0.01)
"""P(k cards | fire) for k = 1 to 10; invented."""

Brain = Callable[[int, int], float]
"""P(fire) from presses since the last fire or restart and presses since the restart, both from 1."""

BRAINS: dict[str, Brain] = {
    "iid": lambda since_fire, since_restart: 0.354,
    "hazard": lambda since_fire, since_restart: HAZARD[min(since_fire, len(HAZARD)) - 1],
    "sequence": lambda since_fire, since_restart: float((since_restart - 1) % 96 + 1 in FIRING_PRESSES),
}


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was recorded of a simulated campaign, and the mean of the fire probabilities behind it."""

    data: RunData
    mean_p: float


_OK = make_trial()
_NO_RUN = make_trial(verdict="no_run")


def campaign(
    brain: str,
    seed: int,
    *,
    presses: int = 500,
    fill: int = 83,
    dealt: tuple[float, ...] = DEALT,
    restarts_at_lid: bool = True,
    reload_every: int | None = None,
) -> Campaign:
    """Press a launcher, reloading it when it is empty and, if so told, whenever a fill has had so many presses.

    An empty hopper follows a fire, so reloads at empty alone cannot tell whether closing the lid restarts the memory.
    """
    random = np.random.default_rng(seed)
    uniform = random.random(presses)
    cards = random.choice(np.arange(1, len(dealt) + 1), size=presses, p=dealt)
    hopper, fills, since_lid, restarted = fill, 1, 0, 0
    since_fire: int | None = None
    memory = 0
    logged: list[float] = []
    trials: list[Trial] = []
    for number in range(1, presses + 1):
        if hopper == 0 or since_lid == reload_every:
            hopper, fills, since_lid = fill, fills + 1, 0
            if restarts_at_lid:
                restarted, memory = 0, 0
        since_lid, restarted, memory = since_lid + 1, restarted + 1, memory + 1
        if since_fire is not None:
            since_fire += 1
        p = BRAINS[brain](memory, restarted)
        logged.append(p)
        fired = bool(uniform[number - 1] < p)
        count = min(int(cards[number - 1]), hopper) if fired else 0
        trials.append(
            replace(
                _OK if fired else _NO_RUN,
                number=number,
                tick=number * 48_000_000,
                t_s=3.0 * number,
                gap_s=3.0 if number > 1 else None,
                hopper=hopper,
                cleared=count,
                dealt=count,
                fill=fills,
                since_power_on=number,
                since_lid_close=since_lid,
                since_fire=since_fire,
            )
        )
        hopper -= count
        if fired:
            since_fire, memory = 0, 0
    return Campaign(make_run(trials), float(np.mean(logged)))
