# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs that look like real ones: edges, bins and ledger agree with every verdict, from a seed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from controller.calibrate.fit import calibrate
from controller.odds.build import build_odds
from controller.store.records import Event, Fill, Run, RunData, Trial, place_trial, raw_sha256
from rig.trial import TrialRecord
from rig.wire import messages as wire

MS = wire.TICK_HZ // 1000
STARTED = datetime(2025, 3, 4, 9, 30, tzinfo=UTC)
HAZARD = (0.21, 0.11, 0.54, 1.0)


def make_bin(current_A: float, pack_V: float, *, beam_a: bool = False, roller: bool = False) -> int:
    """Pack a sample bin as on the wire."""
    current_sum = min(round(current_A * 1e6 / wire.CURRENT_UA_PER_COUNT * 4), 0xFFF)
    volts = round(pack_V * 1e6 / wire.VOLTAGE_UV_PER_COUNT)
    flags = (wire.BinFlag.beam_a if beam_a else 0) | (wire.BinFlag.roller if roller else 0)
    return current_sum | volts << 12 | int(flags) << 22


def make_trial(
    number: int = 1,
    verdict: str = "ok",
    *,
    cards: int = 3,
    sticking: int = 0,
    t_s: float = 2.0,
    hopper: int = 80,
    fill: int = 1,
    since_fire: int | None = None,
    drive: str = "button",
    spoiled: str = "",
    dwell_ms: float = 70.0,
) -> Trial:
    """One trial whose edges and bins tell the same story as its verdict."""
    tick = None if verdict == "rejected" else int(t_s * wire.TICK_HZ)
    start = tick or 0
    runs = verdict in ("ok", "slip", "jam", "empty")
    cards = cards if verdict == "ok" else int(verdict == "jam")
    edges: list[tuple[int, str, int]] = []
    if tick is not None and drive == "button":
        edges += [(start + 48 * MS, "sound", 1), (start + 350 * MS, "sound", 0)]
    at_ms, roller_on_ms = 260.0, 170.0
    for card in range(cards):
        last = card == cards - 1
        stays = last and (bool(sticking) or verdict == "jam")
        for channel, offset_ms in (("beam_a", 0.0), ("beam_b", 24.0)):
            edges.append((start + int((at_ms + offset_ms) * MS), channel, 1))
            if not stays:
                edges.append((start + int((at_ms + offset_ms + dwell_ms) * MS), channel, 0))
        at_ms += dwell_ms + 15
    roller_off_ms = at_ms + 400 if verdict == "jam" else max(at_ms - 20, 600.0 if runs else 0.0)
    edges.sort()
    bins = []
    if tick is not None:
        for index in range(int(max(roller_off_ms, 420) / 10) + 20):
            middle_ms = index * 10 + 5
            driven = runs and roller_on_ms <= middle_ms < roller_off_ms
            current_A = 0.015
            if driven:
                since_ms = middle_ms - roller_on_ms
                stalled = verdict == "jam" and middle_ms > 300
                current_A = 1.05 if stalled else 0.34 + 0.75 * float(np.exp(-since_ms / 25))
            level = [lvl for at, name, lvl in edges if name == "beam_a" and at <= start + middle_ms * MS]
            bins.append(make_bin(current_A, 4.65 - 0.5 * current_A, beam_a=bool(level and level[-1]), roller=driven))
    record = TrialRecord(
        number=number,
        kind="press",
        drive=drive,
        burst=number,
        burst_index=0,
        tick=tick,
        verdict=verdict,
        reason="no_sound" if verdict == "rejected" else "stall" if verdict == "jam" else "none",
        mcu_verdict=verdict,
        accepted=verdict != "rejected",
        cleared=cards - int(bool(sticking)) - int(verdict == "jam"),
        sticking=sticking,
        roller_ms=int(roller_off_ms - roller_on_ms) if runs else 0,
        hopper=hopper,
        run_ms=600 if drive == "direct" else 0,
        duty=255 if drive == "direct" else 0,
        pack_V=4.2 if runs else None,
        pack_open_V=4.65 if tick is not None else None,
        peak_A=1.05 if runs else None,
        edges=tuple(edges),
        bins=tuple(bins),
        spoiled=spoiled,
    )
    return place_trial(record, fill=fill, since_power_on=number, since_lid_close=number, since_fire=since_fire, gap_s=3.0)


def make_run(trials: tuple[Trial, ...] = (), **changes: Any) -> Run:
    """A run's head, complete and plausible."""
    fields: dict[str, Any] = {
        "id": 7,
        "kind": "demo",
        "dut": "unit-0042",
        "rig_url": "twin:roller?seed=3",
        "launcher": "roller",
        "drive": "button",
        "seed": 3,
        "status": "complete",
        "started_at": STARTED,
        "ended_at": STARTED + timedelta(seconds=41),
        "firmware": {
            "version": "0.1.0",
            "build_id": "5D1F00AA",
            "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "protocol_hash": "959BBB31",
            "board_uuid": "6f1c2f7e-6a55-4d5c-9f3c-2f1f5e0c9d11",
            "boot_count": 12,
        },
        "versions": {"launchrig": "0.1.0", "python": "3.11.2", "numpy": "2.4.6"},
        "settings": {
            "campaign": {"trials": 500, "pace_s": 3.0, "fill": 83},
            "firmware": {"jam_ms": 300, "stall_mA": 850},
        },
        "counters": {
            "crc": 0,
            "resync": 0,
            "overrun": 0,
            "framing": 0,
            "resent": 2,
            "stale": 0,
            "duplicate": 0,
            "gap": 0,
            "ring_full": 0,
        },
        "raw_sha256": raw_sha256(trials),
        "note": "",
        "safe_state": "confirmed",
    }
    return Run(**{**fields, **changes})


def data_of(*trials: Trial, **run_changes: Any) -> RunData:
    """A run of these trials, without fills and events."""
    return RunData(make_run(trials, **run_changes), (), trials, ())


def make_data(presses: int = 500, seed: int = 3, *, only: str | None = None, **run_changes: Any) -> RunData:
    """A whole run: hazard brain, fills of 83, some slips, jams, rejected and spoiled; `only` forces one verdict."""
    random = np.random.default_rng(seed)
    trials: list[Trial] = []
    fills: list[Fill] = []
    events: list[Event] = []
    loaded, hopper, fill, t_s, since = 83, 83, 1, 2.0, None
    dealt = mouth = 0
    for number in range(1, presses + 1):
        if hopper < 12:
            lost = int(random.random() < 0.15)
            fills.append(Fill(fill, loaded, hopper - lost, None, None, mouth, mouth, dealt, lost))
            for level, offset_s in ((0, 1.0), (1, 20.0)):
                events.append(Event(int((t_s + offset_s) * wire.TICK_HZ), None, "lid", {"level": level}, STARTED))
            hopper, fill, t_s, dealt, mouth = 83, fill + 1, t_s + 23, 0, 0
        chance = HAZARD[min((since or 1), 4) - 1]
        draw = random.random()
        verdict = "no_run"
        if random.random() < 0.01:
            verdict = "rejected"
        elif draw < chance:
            verdict = str(random.choice(["ok", "jam", "slip"], p=[0.95, 0.02, 0.03]))
        if random.random() < 0.004:
            verdict = "fault"
        verdict = only or verdict
        cards = int(min(1 + random.poisson(2.8), hopper))
        trial = make_trial(
            number, verdict, cards=cards, sticking=int(random.random() < 0.04 and verdict == "ok"), t_s=t_s,
            hopper=hopper, fill=fill, since_fire=since, dwell_ms=float(random.normal(72, 5)),
            spoiled="link" if verdict == "fault" else "",
        )  # fmt: skip
        trials.append(trial)
        hopper -= trial.dealt + int(verdict == "jam")
        dealt += trial.dealt
        mouth += int(verdict == "jam")
        since = 1 if trial.fired else None if since is None else since + 1
        t_s += 3.0
    fills.append(Fill(fill, loaded, hopper, None, None, mouth, mouth, dealt, 0))
    events.append(Event(int(0.4 * wire.TICK_HZ), None, "power", {"on": 1, "cause": "command"}, STARTED))
    everything = tuple(trials)
    return RunData(make_run(everything, **run_changes), tuple(fills), everything, tuple(events))


def make_odds(data: RunData) -> dict[str, Any]:
    """The real odds of a run, at a fixed moment."""
    return build_odds(calibrate([data]), [data], created_at=STARTED, versions={"launchrig": "0.1.0"})
