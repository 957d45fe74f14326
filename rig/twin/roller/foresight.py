# SPDX-License-Identifier: Apache-2.0
"""What a run of the toy's roller will lead to, for every run time that could still be drawn.

One pass under the longest run serves them all: any shorter run is a prefix of it, followed by coasting. So the plant
knows the exact distribution of its own outcome before it draws, and coverage can be judged against that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from rig.brains import Runs
from rig.twin.avr import FOREVER
from rig.twin.plan import cycles
from rig.twin.roller.cards import Card
from rig.twin.roller.feed import WEDGE, Feed, State, Trace, cut, in_mouth
from rig.twin.roller.motor import Drive


class Run(NamedTuple):
    """A run of the roller as it will be: its future, the cycle at which the drive goes off, and the odds before the draw."""

    trace: Trace
    off: int
    p_count: list[float]
    p_jam: float


def halt(feed: Feed, cards: Sequence[Card], trace: Trace, coast: Drive, cycle: int) -> Trace:
    """The future when the drive of `trace` goes off at `cycle`."""
    i = bisect_left(trace.segments, cycle, key=lambda segment: segment.end)
    last = trace.segments[i]
    tail = feed.run(cut(last, cycle), cards, coast, FOREVER)
    return Trace(
        [*trace.segments[:i], last._replace(end=cycle), *tail.segments],
        [crossing for crossing in trace.crossings if crossing.sure < cycle] + tail.crossings,
        tail.end,
    )


def plan_run(
    feed: Feed, cards: Sequence[Card], start: State, drive: Drive, coast: Drive, runs: Runs, run_ms: int, hold_ms: float
) -> Run:
    """Plan a run of `run_ms` from `start`, and find what each of `runs` would have led to.

    When a card wedges while the roller is driven, the toy keeps the motor on for at least `hold_ms` more.
    """
    begin = start.cycle
    trace = feed.run(start, cards, drive, begin + cycles(max(ms for ms, _ in runs)))
    wedged = next((segment.state.cycle for segment in trace.segments if segment.state.phase == WEDGE), FOREVER)
    ends = [segment.end for segment in trace.segments]
    weights: dict[int, float] = {}
    jam = 0.0
    for ms, weight in runs:
        off = begin + cycles(ms)
        if wedged < off:
            jam += weight
            continue
        rest = feed.run(cut(trace.segments[bisect_left(ends, off)], off), cards, coast, FOREVER).end
        dealt = rest.cleared + in_mouth(rest) - start.cleared
        weights[dealt] = weights.get(dealt, 0.0) + weight
    total = jam + sum(weights.values())
    off = begin + cycles(run_ms)
    if wedged < off:
        off = max(off, wedged + cycles(hold_ms))
        if trace.end.cycle < off:
            more = feed.run(trace.end, cards, drive, off)
            trace = Trace(trace.segments + more.segments, trace.crossings + more.crossings, more.end)
    p_count = [weights.get(dealt, 0.0) / total for dealt in range(max(weights, default=0) + 1)]
    return Run(halt(feed, cards, trace, coast, off), off, p_count, jam / total)
