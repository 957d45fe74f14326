# SPDX-License-Identifier: Apache-2.0
"""What the store holds, as plain frozen records.

Statistics, odds, reports and CSV work on these and never see a database, so records made by hand can test them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from rig.trial import TrialRecord
from rig.wire.messages import TICK_HZ

RunKind = Literal["demo", "press", "insert", "reset"]
RunStatus = Literal["running", "complete", "aborted by operator", "aborted by rule", "crashed"]
SafeState = Literal["confirmed", "not confirmed", ""]

FIRED_VERDICTS: Mapping[str, frozenset[str]] = {
    "press": frozenset({"ok", "slip", "jam", "empty"}),
    "insert": frozenset({"blast", "partial", "latch_fault", "jam"}),
    "reset": frozenset(),
}
"""By kind of trial, verdicts of those that made the roller run or the latch let go: a fire, whatever came of it. A reset that
ejects is none: the person at the button decided, not the launcher."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of one plan, or of ``demo``, against one device under test.

    dut: its name or serial number. rig_url: the rig as it was named, with the seed in force.
    started_at, ended_at: aware, UTC; ended_at is None while it runs and after a crash.
    firmware: version, build_id, sha256 (of the flash image), protocol_hash, board_uuid, boot_count.
    versions: of Python and of the packages that matter. settings: of the campaign and of the firmware.
    counters: losses on the link at the end, by name. raw_sha256: see `raw_sha256`; None until the run has ended.
    safe_state: whether the outputs were read back as off at the end; empty when not yet known.
    """

    id: int
    kind: RunKind
    dut: str
    rig_url: str
    launcher: str
    drive: str
    seed: int | None
    status: RunStatus
    started_at: datetime
    ended_at: datetime | None
    firmware: dict[str, Any]
    versions: dict[str, Any]
    settings: dict[str, Any]
    counters: dict[str, Any]
    raw_sha256: str | None
    note: str
    safe_state: SafeState


def is_simulated(run: Run) -> bool:
    """Whether the run was made on the twin: by its URL, or behind a port by its UUID, which is of version 8 in twins only."""
    board = str(run.firmware.get("board_uuid", ""))
    return run.rig_url.removeprefix("faulty+").startswith("twin:") or (len(board) == 32 and board[12] == "8")


@dataclass(frozen=True, slots=True)
class Fill:
    """One hopper load, from lid close to lid open. All counts are cards.

    loaded: put in. remaining: taken out by hand at the end; None while the fill is open.
    opened_tick, closed_tick: MCU time of lid close and of lid open, None when unknown.
    mouth: pulled out of the mouth by hand, all told. jammed: those of them that no trial counted as dealt.
    dealt: counted by the fill's trials. difference: loaded - remaining - dealt - jammed, None while the fill is open;
    above 0, cards went uncounted (a double feed looks like one card).
    """

    number: int
    loaded: int
    remaining: int | None
    opened_tick: int | None
    closed_tick: int | None
    mouth: int
    jammed: int
    dealt: int
    difference: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(TrialRecord):
    """An observed trial in its place in the run; see `rig.trial.TrialRecord` for the first fields.

    fill: number of the fill, from 1. t_s: MCU time of actuation, seconds. dealt: cleared + sticking, cards.
    since_power_on, since_lid_close, since_fire: presses, or inserts, since that event; 1 is the first one after it. One that
    the toy did not take (``rejected``) is not counted, nor is a reset: the next one has the same number. since_fire counts
    within the run, across power-on and lid close, and is None before the run's first fire and after a reset that may have
    ejected. To a blaster's loader being filled is what closing the lid is to a hopper.
    gap_s: time since the trial before, seconds; None for the first. fired: the launcher decided that cards fly, and its roller
    ran, or its latch was driven; of a reset always False.
    round, insert: of the blaster: number of the round, from 1, and which insert of it that the toy took this one is, from 1,
    None for a reset and for an insert that the toy did not take. Both None for a press.
    """

    fill: int
    t_s: float | None
    dealt: int
    since_power_on: int
    since_lid_close: int
    since_fire: int | None
    gap_s: float | None
    fired: bool
    round: int | None = None
    insert: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened beside or between trials: power cycle, lid, reload, mouth cleared, boot, fault.

    tick: MCU time, None when only the host saw it. trial: number of the trial it belongs to, None outside of trials.
    at: the host's wall clock, UTC; for people to read, never for results.
    """

    tick: int | None
    trial: int | None
    kind: str
    data: dict[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class RunData:
    """A run with everything that was stored of it: fills by number, trials by number, events in order of arrival."""

    run: Run
    fills: tuple[Fill, ...]
    trials: tuple[Trial, ...]
    events: tuple[Event, ...]

    @property
    def late(self) -> frozenset[int]:
        """Numbers of the trials after whose end a card flew with no hand in: when the toy let go is not known."""
        return frozenset(event.trial for event in self.events if event.kind == "late_card" and event.trial)


def place_trial(
    record: TrialRecord,
    *,
    fill: int,
    since_power_on: int,
    since_lid_close: int,
    since_fire: int | None,
    gap_s: float | None,
    round: int | None = None,
    insert: int | None = None,
) -> Trial:
    """Put an observed trial in its place in the run, working out t_s, dealt and fired."""
    observed = {field.name: getattr(record, field.name) for field in fields(TrialRecord)}
    return Trial(
        **observed,
        fill=fill,
        t_s=None if record.tick is None else record.tick / TICK_HZ,
        dealt=record.cleared + record.sticking,
        since_power_on=since_power_on,
        since_lid_close=since_lid_close,
        since_fire=since_fire,
        gap_s=gap_s,
        fired=record.verdict in FIRED_VERDICTS[record.kind] and record.roller_ms > 0,
        round=round,
        insert=insert,
    )


def settle_fill(opened: Mapping[str, Any], dealt: int) -> Fill:
    """Balance a fill's ledger.

    opened: every field of `Fill` but dealt and difference. dealt: cards counted by the fill's trials.
    """
    remaining = opened["remaining"]
    difference = None if remaining is None else opened["loaded"] - remaining - dealt - opened["jammed"]
    return Fill(**opened, dealt=dealt, difference=difference)


def unobserved(data: RunData) -> tuple[int, float]:
    """How often the board was lost in the run and taken again, and for how many seconds in all nobody watched."""
    gaps = [event.data["ms"] / 1000 for event in data.events if event.kind == "gap"]
    return len(gaps), sum(gaps)


_OF_BLASTER = ("slot", "loaded", "toy", "round", "insert")
_PLAIN = tuple(field.name for field in fields(Trial) if field.name not in _OF_BLASTER)

RAW_FIELDS: Mapping[str, tuple[str, ...]] = {"press": _PLAIN, "insert": _PLAIN + _OF_BLASTER, "reset": _PLAIN + _OF_BLASTER}
"""By kind of trial, the fields of its row in the text that `raw_sha256` is of; all kinds of one launcher have the same."""


def raw_sha256(trials: Iterable[Trial]) -> str:
    """SHA-256, hexadecimal, of a canonical text of trials with their edges and samples.

    The text is one JSON array per trial, ended by a line feed, in the order given (by number), under a first line that
    names the columns, which are those of the launcher. There is no wall time, run id or path in it, so equal measurements give
    equal hashes.
    """
    rows = list(trials)
    names = RAW_FIELDS[rows[0].kind if rows else "press"]
    digest = hashlib.sha256((json.dumps(names, separators=(",", ":")) + "\n").encode())
    for trial in rows:
        row = [getattr(trial, name) for name in names]
        digest.update((json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n").encode())
    return digest.hexdigest()
