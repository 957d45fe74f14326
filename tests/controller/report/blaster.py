# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs of the blaster that look like real ones: edges, bins and ledger agree with every verdict, from a seed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from controller.store.records import Event, Fill, Run, RunData, Trial, raw_sha256
from rig.wire import messages as wire
from tests.controller.report.factory import MS, STARTED, make_bin, make_run, make_trial

SLOTS = 4
RELEASED = ("blast", "partial", "latch_fault", "jam")
LATCH_MS = (120.0, 180.0)
STAGGER_MS, DWELL_MS = 38.0, 26.0


def make_insert(
    number: int = 1,
    verdict: str = "held",
    *,
    k: int = 1,
    loaded: int | None = None,
    cleared: int | None = None,
    slot: int | None = None,
    t_s: float = 2.0,
    **changes: Any,
) -> Trial:
    """The k-th insert of a round; what flies goes with the verdict unless told. A rejected one met a sleeping toy."""
    loaded = k if loaded is None else loaded
    flown = {"blast": loaded, "partial": loaded - 1, "jam": loaded}.get(verdict, 0) if cleared is None else cleared
    trial = _trial("insert", number, verdict, flown, t_s, released=verdict in RELEASED)
    own: dict[str, Any] = {
        "slot": k if slot is None else slot,
        "loaded": loaded,
        "toy": "asleep" if verdict == "rejected" else "awake",
        "round": 1,
        "insert": None if verdict in ("rejected", "aborted", "fault") else k,
        "fired": verdict in RELEASED,
    }
    return replace(trial, **{**own, **changes})


def make_reset(number: int = 1, verdict: str = "ok", *, loaded: int = 2, t_s: float = 2.0, **changes: Any) -> Trial:
    """A reset that ejects what is loaded, or, held, only wakes the toy."""
    flown = {"ok": loaded, "partial": loaded - 1}.get(verdict, 0)
    trial = _trial("reset", number, verdict, flown, t_s, released=verdict in ("ok", "partial", "latch_fault", "jam"))
    own: dict[str, Any] = {
        "slot": None,
        "loaded": loaded,
        "toy": "asleep" if verdict == "held" else "awake",
        "round": 1,
        "insert": None,
        "fired": False,
    }
    return replace(trial, **{**own, **changes})


def _trial(kind: str, number: int, verdict: str, flown: int, t_s: float, *, released: bool) -> Trial:
    tick = int(t_s * wire.TICK_HZ)
    heard = verdict != "rejected"
    edges: list[tuple[int, str, int]] = [(tick + 40 * MS, "sound", 1), (tick + 260 * MS, "sound", 0)] if heard else []
    for card in range(flown):
        leaves = 150.0 + STAGGER_MS * card
        last = verdict == "jam" and card == flown - 1
        for channel, offset in (("beam_a", 0.0), ("beam_b", 9.0)):
            edges.append((tick + int((leaves + offset) * MS), channel, 1))
            if not last:
                edges.append((tick + int((leaves + offset + DWELL_MS + card) * MS), channel, 0))
    edges.sort()
    bins = []
    for index in range(70):
        middle = 10.0 * index + 5
        driven = released and LATCH_MS[0] <= middle < LATCH_MS[1]
        current_A = 0.62 if driven else 0.035 if heard and 40 <= middle < 260 else 0.012
        level = [lvl for at, name, lvl in edges if name == "beam_a" and at <= tick + middle * MS]
        bins.append(make_bin(current_A, 4.72 - 0.6 * current_A, beam_a=bool(level and level[-1])))
    base = make_trial(number, "no_run", t_s=t_s)
    return replace(
        base,
        kind=kind,
        verdict=verdict,
        mcu_verdict=verdict,
        reason="no_sound" if verdict == "rejected" else "beam_jam" if verdict == "jam" else "none",
        accepted=heard,
        cleared=flown - int(verdict == "jam"),
        dealt=flown - int(verdict == "jam"),
        roller_ms=60 if released else 0,
        pack_V=4.35 if released else None,
        pack_open_V=4.72,
        peak_A=0.62 if released else 0.035,
        hopper=SLOTS,
        edges=tuple(edges),
        bins=tuple(bins),
    )


def blast_run(trials: tuple[Trial, ...] = (), **changes: Any) -> Run:
    """The head of a run of the blaster."""
    settings = {
        "slots": SLOTS,
        "order": "random",
        "pace_s": 3.0,
        "firmware": {"slots": SLOTS, "release_mA": 250, "jam_ms": 300, "stall_mA": 850},
    }
    fields: dict[str, Any] = {
        "launcher": "blast",
        "rig_url": "twin:blast?seed=3",
        "settings": settings,
        "raw_sha256": raw_sha256(trials),
    }
    return make_run(trials, **{**fields, **changes})


def blast_data_of(*trials: Trial, **changes: Any) -> RunData:
    """A run of these trials, without fills and events."""
    return RunData(blast_run(trials, **changes), (), trials, ())


def make_blast_data(inserts: int = 400, seed: int = 3, *, brain: str = "hidden_slot", **changes: Any) -> RunData:
    """A whole run: rounds in random order of slots, some given up by a reset, a sleep, partial ejections, latch faults, a jam."""
    random = np.random.default_rng(seed)
    trials: list[Trial] = []
    fills: list[Fill] = []
    events: list[Event] = [Event(int(0.4 * wire.TICK_HZ), None, "power", {"on": 1, "cause": "command"}, STARTED)]
    t_s, done, number = 2.0, 0, 0
    round_ = 0
    while done < inserts:
        round_ += 1
        order = (random.permutation(SLOTS) + 1).tolist()
        trigger = int(random.integers(SLOTS)) + 1
        place: dict[str, Any] = {"round": round_, "fill": round_}
        flown = jammed = 0
        ended = "end"
        for k, slot in enumerate(order, start=1):
            if k > 1 and random.random() < 0.03:
                number += 1
                trials.append(make_reset(number, loaded=k - 1, t_s=t_s, **place))
                flown += k - 1
                ended = "reset"
                break
            if random.random() < 0.01:
                number += 1
                t_s += 190
                trials.append(make_reset(number, "held", loaded=k - 1, t_s=t_s, **place))
                t_s += 3
            number, done = number + 1, done + 1
            released = slot == trigger if brain == "hidden_slot" else random.random() < 0.3
            verdict = "held"
            if released:
                verdict = str(random.choice(["blast", "partial", "latch_fault", "jam"], p=[0.95, 0.025, 0.015, 0.01]))
                verdict = "blast" if k == 1 and verdict == "partial" else verdict
            trial = make_insert(number, verdict, k=k, slot=slot, t_s=t_s, since_power_on=number, gap_s=3.0, **place)
            trials.append(trial)
            flown += trial.cleared
            jammed += int(verdict == "jam")
            t_s += 3
            if released or done == inserts:
                ended = verdict if released else "end"
                break
            if k == SLOTS:
                ended = "full"
                number += 1
                trials.append(make_reset(number, loaded=k, t_s=t_s, **place))
                flown += k
        lost = int(random.random() < 0.02 and flown + jammed < SLOTS)
        told = {"round": round_, "ended": ended, "inserts": k, "in_slots": 0}
        events.append(Event(int(t_s * wire.TICK_HZ), None, "round", told, STARTED))
        events.append(Event(int((t_s + 1) * wire.TICK_HZ), None, "reload", {"cards": SLOTS}, STARTED))
        fills.append(Fill(round_, SLOTS, SLOTS - flown - jammed - lost, None, None, jammed, jammed, flown, lost))
        t_s += 20
    everything = tuple(trials)
    ended_at = STARTED + timedelta(seconds=round(t_s))
    head: dict[str, Any] = {"ended_at": ended_at, **changes}
    return RunData(blast_run(everything, **head), tuple(fills), everything, tuple(events))
