# SPDX-License-Identifier: Apache-2.0
"""The verdict on a trial, recomputed from edges and samples.

The firmware decides with the same rules (`src/core/verdict.cpp`) while it watches; here they are one pure function of
what was reported. A difference between the two makes the trial a fault. `docs/trials.md` tells the rules in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rig.wire.messages import (
    BIN_MS,
    CURRENT_SAMPLES_PER_BIN,
    CURRENT_UA_PER_COUNT,
    TICK_HZ,
    VOLTAGE_UV_PER_COUNT,
    BinFlag,
    Reason,
    Verdict,
    Wiring,
)

Edge = tuple[int, str, int]

TICKS_PER_MS = TICK_HZ // 1000

# What the MCU alone can know ends a trial with this verdict; everything else is recomputed.
ENDED_FROM_OUTSIDE: Mapping[Reason, Verdict] = {
    Reason.beam_blocked: Verdict.rejected,
    Reason.wrong_wiring: Verdict.rejected,
    Reason.lid: Verdict.rejected,
    Reason.power_off: Verdict.rejected,
    Reason.fault_latched: Verdict.rejected,
    Reason.stop: Verdict.aborted,
    Reason.abort: Verdict.aborted,
    Reason.lease: Verdict.aborted,
    Reason.ring_full: Verdict.fault,
    Reason.guard: Verdict.fault,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with the figures that it rests on."""

    verdict: Verdict
    accepted: bool
    cleared: int
    sticking: int
    roller_ms: int


def current_uA(sample: int) -> int:
    """Mean current of a sample bin, in microampere."""
    return (sample & 0xFFF) * CURRENT_UA_PER_COUNT // CURRENT_SAMPLES_PER_BIN


def pack_uV(sample: int) -> int:
    """Pack voltage in a sample bin, in microvolt."""
    return (sample >> 12 & 0x3FF) * VOLTAGE_UV_PER_COUNT


def flags(sample: int) -> BinFlag:
    """Flags of a sample bin, set when it closed."""
    return BinFlag(sample >> 22 & 3)


ON_MA: Mapping[str, str] = {"press": "roller_on_mA", "insert": "release_mA", "reset": "release_mA"}
"""By kind of trial, the setting that says from which current on the toy drives its roller, or its latch."""


def driven(bins: Sequence[int], drive: Wiring, on_mA: int) -> list[bool]:
    """For each bin, whether roller or latch was driven: by its current (`button`), by the rig's output (`direct`)."""
    if drive is Wiring.direct:
        return [bool(sample >> 22 & BinFlag.roller) for sample in bins]
    threshold = -(-on_mA * 1000 * CURRENT_SAMPLES_PER_BIN // CURRENT_UA_PER_COUNT)  # ceil, as sum of counts
    return [(sample & 0xFFF) >= threshold for sample in bins]


def heard(edges: Sequence[Edge], actuated_tick: int, within: int) -> bool:
    """Whether a sound began no later than `within` ticks after actuation."""
    return any(channel == "sound" and level and 0 <= tick - actuated_tick <= within for tick, channel, level in edges)


def longest_run_ms(marks: Iterable[bool]) -> int:
    """Length of the longest unbroken run of marked bins, in milliseconds."""
    return BIN_MS * max((sum(1 for _ in group) for mark, group in groupby(marks) if mark), default=0)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What edges and samples show, before anything is made of it. `moved`: something was in beam A since actuation."""

    accepted: bool
    moved: bool
    cleared: int
    driven_ms: int
    jammed: bool
    hopper: int
    loaded: int


_Rule = tuple[Callable[[_Seen], bool], Verdict]

_PRESS: tuple[_Rule, ...] = (
    (lambda seen: not seen.accepted and not seen.driven_ms and not seen.moved, Verdict.rejected),
    (lambda seen: not seen.accepted, Verdict.fault),
    (lambda seen: seen.driven_ms > 0 and seen.moved, Verdict.ok),
    (lambda seen: seen.driven_ms > 0 and seen.hopper == 0, Verdict.empty),
    (lambda seen: seen.driven_ms > 0, Verdict.slip),
    (lambda seen: seen.moved, Verdict.fault),
    (lambda seen: True, Verdict.no_run),
)


def _ejection(whole: Verdict, *, surplus: bool) -> tuple[_Rule, ...]:
    """The rules for a trial of the blaster, in which `whole` is the name of everything loaded having flown; with `surplus` of
    more than that, too: a reset ejects whatever is there, and the books need not know of it."""
    return (
        (lambda seen: not seen.accepted and not seen.driven_ms and not seen.moved, Verdict.rejected),
        (lambda seen: not seen.accepted, Verdict.fault),
        (lambda seen: seen.cleared > seen.loaded and not surplus, Verdict.fault),
        (lambda seen: seen.driven_ms > 0 and seen.cleared >= seen.loaded, whole),
        (lambda seen: seen.driven_ms > 0 and seen.cleared > 0, Verdict.partial),
        (lambda seen: seen.driven_ms > 0, Verdict.latch_fault),
        (lambda seen: seen.moved, Verdict.fault),
        (lambda seen: True, Verdict.held),
    )


_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "press": _PRESS,
    "insert": _ejection(Verdict.blast, surplus=False),
    "reset": _ejection(Verdict.ok, surplus=True),
}
"""By kind of trial, what is made of one that nothing cut short; the first rule that holds decides."""

_JAMS_UNDRIVEN = frozenset({"insert", "reset"})
"""A spring throws the blaster's cards, so a card may stand in the beam with nothing driven; such a trial goes on until
the beam is clear or the card is a jam. A roller's card in the mouth is a jam only while it is pushed."""


def judge(
    *,
    drive: Wiring,
    actuated_tick: int | None,
    edges: Sequence[Edge],
    bins: Sequence[int],
    hopper: int,
    settings: Mapping[str, int],
    reason: Reason,
    kind: str = "press",
    loaded: int = 0,
) -> Judged:
    """Judge one trial.

    `edges` are `(tick, channel, level)` of the trial by tick; `bins` its sample bins as on the wire; `hopper` the cards
    believed to be inside before it; `settings` the board's, by name; `reason` what the MCU gave, used only for what no
    edge and no sample can show. `kind` is `press`, `insert` or `reset`; `loaded`, for the latter two, the cards
    that are in the slots by the bookkeeping, the inserted one included.
    """
    beam = [level for tick, channel, level in edges if channel == "beam_a" and actuated_tick is not None and tick >= actuated_tick]
    blocked_at_end = bool(beam) and beam[-1] == 1
    marks = driven(bins, drive, settings[ON_MA[kind]])
    pushed = [True] * len(bins) if kind in _JAMS_UNDRIVEN else marks
    stall = -(-settings["stall_mA"] * 1000 * CURRENT_SAMPLES_PER_BIN // CURRENT_UA_PER_COUNT)
    stalled = longest_run_ms((sample & 0xFFF) >= stall for sample in bins) > settings["stall_ms"]
    blocked = (push and bool(sample >> 22 & BinFlag.beam_a) for push, sample in zip(pushed, bins, strict=True))
    seen = _Seen(
        accepted=actuated_tick is not None
        and (drive is Wiring.direct or heard(edges, actuated_tick, settings["accept_ms"] * TICKS_PER_MS)),
        moved=bool(beam),
        cleared=sum(before and not after for before, after in pairwise([0, *beam])),  # after a loss two edges may be alike
        driven_ms=BIN_MS * sum(marks),
        jammed=stalled or longest_run_ms(blocked) >= settings["jam_ms"],
        hopper=hopper,
        loaded=loaded,
    )
    # What was cut short was never quiet: whether the card in the beam stays there is not known.
    quiet = reason not in ENDED_FROM_OUTSIDE and reason not in (Reason.interlock, Reason.timeout)
    sticking = int(blocked_at_end and quiet and not seen.jammed)
    return Judged(_verdict(kind, seen, reason, actuated_tick is not None), seen.accepted, seen.cleared, sticking, seen.driven_ms)


def _verdict(kind: str, seen: _Seen, reason: Reason, actuated: bool) -> Verdict:
    if reason in ENDED_FROM_OUTSIDE:
        return ENDED_FROM_OUTSIDE[reason]
    if reason is Reason.interlock:
        return Verdict.aborted if actuated else Verdict.rejected
    if seen.jammed:
        return Verdict.jam
    if reason is Reason.timeout:
        return Verdict.fault
    return next(verdict for holds, verdict in _RULES[kind] if holds(seen))
