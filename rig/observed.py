# SPDX-License-Identifier: Apache-2.0
"""From what a board told of one trial to its record: judged again, compared with the board's own word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rig.awake import ToyState
from rig.requests import Request
from rig.slots import EMPTY, Slots
from rig.trial import TrialRecord
from rig.verdict import ENDED_FROM_OUTSIDE, ON_MA, Edge, current_uA, driven, judge, pack_uV
from rig.wire.messages import Reason, TrialEnd, Verdict, Wiring


class Watch:
    """Collects what the board reports of one trial."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.actuated: int | None = None
        self.edges: list[Edge] = []
        self.bins: list[int] = []
        self.end: TrialEnd | None = None
        self.gap = False


def record_of(
    request: Request,
    watch: Watch,
    drive: Wiring,
    settings: Mapping[str, int],
    lost: str = "",
    *,
    books: Slots = EMPTY,
    before: ToyState = "unknown",
) -> TrialRecord:
    """The trial as observed and judged; `settings` are the board's, `lost` names what cut the observation short.

    For the blaster, `books` are those before the trial and `before` is the state in which the toy was expected to be.
    """
    edges, bins, end = tuple(sorted(watch.edges)), tuple(watch.bins), watch.end
    reason = Reason(end.reason) if end else Reason.none
    actuated = request.booked(books) if watch.actuated is not None else books
    judged = judge(
        drive=drive,
        actuated_tick=watch.actuated,
        edges=edges,
        bins=bins,
        hopper=request.hopper,
        settings=settings,
        reason=reason,
        kind=request.kind,
        loaded=actuated.cards,
    )
    # A trial that was cut short may end before the board has looked at its last sound.
    accepted = end.accepted if end and reason in ENDED_FROM_OUTSIDE else judged.accepted
    agree = end and (end.verdict, end.accepted, end.cleared, end.sticking, end.roller_ms) == (
        judged.verdict,
        accepted,
        judged.cleared,
        judged.sticking,
        judged.roller_ms,
    )
    spoiled = lost or ("samples_missing" if watch.gap else "" if agree else "verdicts_differ")
    if spoiled:
        judged = replace(judged, verdict=Verdict.fault)
    marks = driven(bins, drive, settings[ON_MA[request.kind]])
    loaded = [pack_uV(sample) for sample, mark in zip(bins, marks, strict=True) if mark]
    # In the bin after a driven one the voltage may have been sampled before the drive went off.
    unloaded = [pack_uV(each) for each, *near in zip(bins, marks, (False, *marks), strict=False) if not any(near)]
    return TrialRecord(
        number=request.number,
        kind=request.kind,
        drive=drive.name,
        burst=request.burst,
        burst_index=request.index,
        tick=watch.actuated,
        verdict=judged.verdict.name,
        reason=spoiled or reason.name,
        mcu_verdict=Verdict(end.verdict).name if end else "",
        accepted=bool(accepted),
        cleared=judged.cleared,
        sticking=0 if lost else judged.sticking,
        roller_ms=judged.roller_ms,
        hopper=request.hopper,
        pack_V=min(loaded) / 1e6 if loaded else None,
        pack_open_V=unloaded[0] / 1e6 if unloaded else None,
        peak_A=max(map(current_uA, bins)) / 1e6 if bins else None,
        edges=edges,
        bins=bins,
        spoiled=spoiled,
        **request.own(drive, judged, actuated, before),
    )
