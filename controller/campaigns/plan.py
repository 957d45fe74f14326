# SPDX-License-Identifier: Apache-2.0
"""From what was asked for to a campaign, once the board has said which machine is on the bench: one table by launcher.

What does not fit that machine is refused before anything moves.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.campaigns import blast, roller
from controller.campaigns.blast import BlastCampaign
from controller.campaigns.by_hand import HandCampaign
from controller.campaigns.orders import order_of, parse_order
from controller.campaigns.roller import RollerCampaign
from controller.campaigns.shared import Campaign
from controller.errors import RefusedError
from rig.launcher import ARTICLE
from rig.rig import Rig
from rig.slots import check_wired
from rig.wire.messages import Launcher, Wiring

SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for; None is whatever is usual for the machine.

    command: `demo`, `press`, `insert` or `reset`. pace_s: seconds. fill: cards. slots: how many the bench is said to have.
    into: slots of the inserts that are asked for one by one; `until_blast` ends them with the toy's release.
    """

    command: str
    trials: int
    pace_s: float
    drive: str = "button"
    fill: int | None = None
    bursts: tuple[int, ...] | None = None
    brain: str | None = None
    order: str | None = None
    slots: int | None = None
    into: tuple[int, ...] = ()
    until_blast: bool = False


Settings = Mapping[str, int]
Plan = Callable[[Wanted, Settings, Rig], Campaign]


def _seed(rig: Rig) -> int:
    return secrets.randbits(SEED_BITS) if rig.seed is None else rig.seed


def _roller(wanted: Wanted, settings: Settings, rig: Rig) -> Campaign:
    """In `direct` drive the rig's seed is the decision source's too."""
    direct = wanted.drive == "direct"
    return RollerCampaign(
        trials=wanted.trials,
        pace_s=wanted.pace_s,
        fill=wanted.fill or roller.FILL,
        drive=Wiring[wanted.drive],
        bursts=wanted.bursts or (roller.BURSTS if wanted.command == "demo" else (1,)),
        decision=(wanted.brain or rig.brain) if direct else None,
        decision_seed=_seed(rig) if direct else None,
    )


def _loaded(wanted: Wanted, settings: Settings) -> int:
    """Cards in the loader. Raises `RefusedError` for what the bench has no slots for."""
    slots = settings["slots"]
    if wanted.slots is not None and wanted.slots != slots:
        raise RefusedError(f"--slots {wanted.slots}: the bench has {slots} slots wired, not {wanted.slots}")
    if wanted.fill is not None and wanted.fill > slots:
        raise RefusedError(f"--fill {wanted.fill}: a loader holds one card a slot, {slots} here")
    return wanted.fill or slots


def _blast(wanted: Wanted, settings: Settings, rig: Rig) -> Campaign:
    fill, order, seed = _loaded(wanted, settings), wanted.order or blast.ORDER, _seed(rig)
    order_of(order, settings["slots"], seed)
    bare = [slot for slot in parse_order(order)[1] if slot > fill]
    if bare:
        raise RefusedError(f"--order {order}: with --fill {fill} no card waits before slot {bare[0]}; leave one of them away")
    return BlastCampaign(
        trials=wanted.trials,
        pace_s=wanted.pace_s,
        fill=fill,
        bursts=wanted.bursts or blast.BURSTS,
        slots=settings["slots"],
        order=order,
        order_seed=seed,
    )


def _inserts(wanted: Wanted, settings: Settings, rig: Rig) -> Campaign:
    """As many inserts as slots were named; with `until_blast` and none named as many as the loader has cards."""
    fill, slots = _loaded(wanted, settings), settings["slots"]
    for slot in wanted.into:
        check_wired(slot, slots)
    trials = len(wanted.into) or (fill if wanted.until_blast else 1)
    return HandCampaign(min(trials, slots) if wanted.until_blast else trials, wanted.pace_s, fill, wanted.into, wanted.until_blast)


def _resets(wanted: Wanted, settings: Settings, rig: Rig) -> Campaign:
    return HandCampaign(wanted.trials, wanted.pace_s, 0)


@dataclass(frozen=True, slots=True)
class Machine:
    """plans: by command. not_fitting: by an option's field, what is said of it when it is not as it is by default."""

    plans: Mapping[str, Plan]
    not_fitting: Mapping[str, str]


MACHINES: Mapping[Launcher, Machine] = {
    Launcher.roller: Machine(
        {"demo": _roller, "press": _roller},
        {
            "order": "--order: a roller launcher has no slots; leave it away",
            "slots": "--slots: a roller launcher has no slots; leave it away",
        },
    ),
    Launcher.blast: Machine(
        {"demo": _blast, "insert": _inserts, "reset": _resets},
        {
            "drive": "--drive direct: a blaster has no roller that the rig could run; leave it away",
            "brain": "--brain: it is the blaster's toy that decides; leave it away",
        },
    ),
}

_NEUTRAL = Wanted("", 0, 0.0)


def planned(wanted: Wanted, launcher: Launcher, settings: Settings, rig: Rig) -> Campaign:
    """The campaign on a board that is set up for `launcher` with these settings.

    Raises `RefusedError`, or `RefusedRequestError` for a slot that is not wired, for what does not fit.
    """
    machine = MACHINES[launcher]
    if wanted.command not in machine.plans:
        fitting = " or ".join(f"launchrig {command}" for command in machine.plans if command != "demo")
        raise RefusedError(f"{wanted.command}: the board is set up for {ARTICLE[launcher]}; try that by hand with {fitting}")
    for field, says in machine.not_fitting.items():
        if getattr(wanted, field) != getattr(_NEUTRAL, field):
            raise RefusedError(says)
    return machine.plans[wanted.command](wanted, settings, rig)
