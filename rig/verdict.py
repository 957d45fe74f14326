# SPDX-License-Identifier: Apache-2.0
"""The verdict on a press, recomputed from edges and samples.

The firmware decides with the same rules (`src/core/verdict.cpp`) while it watches; here they are one pure function of
what was reported. A difference between the two makes the trial a fault. `docs/trials.md` tells the rules in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def driven(bins: Sequence[int], drive: Wiring, roller_on_mA: int) -> list[bool]:
    """For each bin, whether the roller was driven: by its current (`button`), by the rig's output (`direct`)."""
    if drive is Wiring.direct:
        return [bool(sample >> 22 & BinFlag.roller) for sample in bins]
    threshold = -(-roller_on_mA * 1000 * CURRENT_SAMPLES_PER_BIN // CURRENT_UA_PER_COUNT)  # ceil, as sum of counts
    return [(sample & 0xFFF) >= threshold for sample in bins]


def heard(edges: Sequence[Edge], actuated_tick: int, within: int) -> bool:
    """Whether a sound began no later than `within` ticks after actuation."""
    return any(channel == "sound" and level and 0 <= tick - actuated_tick <= within for tick, channel, level in edges)


def longest_run_ms(marks: Iterable[bool]) -> int:
    """Length of the longest unbroken run of marked bins, in milliseconds."""
    return BIN_MS * max((sum(1 for _ in group) for mark, group in groupby(marks) if mark), default=0)


def judge(
    *,
    drive: Wiring,
    actuated_tick: int | None,
    edges: Sequence[Edge],
    bins: Sequence[int],
    hopper: int,
    settings: Mapping[str, int],
    reason: Reason,
) -> Judged:
    """Judge one press.

    `edges` are `(tick, channel, level)` of the trial by tick; `bins` its sample bins as on the wire; `hopper` the cards
    believed to be inside before it; `settings` the board's, by name; `reason` what the MCU gave, used only for what no
    edge and no sample can show.
    """
    beam = [level for tick, channel, level in edges if channel == "beam_a" and actuated_tick is not None and tick >= actuated_tick]
    cleared = sum(before and not after for before, after in pairwise([0, *beam]))  # after a loss two edges may be alike
    blocked_at_end = bool(beam) and beam[-1] == 1
    accepted = actuated_tick is not None and (
        drive is Wiring.direct or heard(edges, actuated_tick, settings["accept_ms"] * TICKS_PER_MS)
    )
    marks = driven(bins, drive, settings["roller_on_mA"])
    roller_ms = BIN_MS * sum(marks)
    stall = -(-settings["stall_mA"] * 1000 * CURRENT_SAMPLES_PER_BIN // CURRENT_UA_PER_COUNT)
    stalled = longest_run_ms((sample & 0xFFF) >= stall for sample in bins) > settings["stall_ms"]
    wedged = (
        longest_run_ms(mark and bool(sample >> 22 & BinFlag.beam_a) for mark, sample in zip(marks, bins, strict=True))
        >= settings["jam_ms"]
    )

    # What was cut short was never quiet: whether the card in the beam stays there is not known.
    quiet = reason not in ENDED_FROM_OUTSIDE and reason not in (Reason.interlock, Reason.timeout)

    rules = (
        (reason in ENDED_FROM_OUTSIDE, ENDED_FROM_OUTSIDE.get(reason, Verdict.fault)),
        (reason is Reason.interlock and actuated_tick is None, Verdict.rejected),
        (reason is Reason.interlock, Verdict.aborted),
        (stalled or wedged, Verdict.jam),
        (reason is Reason.timeout, Verdict.fault),
        (not accepted and not roller_ms and not beam, Verdict.rejected),
        (not accepted, Verdict.fault),
        (roller_ms > 0 and bool(beam), Verdict.ok),
        (roller_ms > 0 and hopper == 0, Verdict.empty),
        (roller_ms > 0, Verdict.slip),
        (bool(beam), Verdict.fault),
        (True, Verdict.no_run),
    )
    verdict = next(verdict for holds, verdict in rules if holds)
    return Judged(verdict, accepted, cleared, int(blocked_at_end and quiet and not (stalled or wedged)), roller_ms)
