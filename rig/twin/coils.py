# SPDX-License-Identifier: Apache-2.0
"""Counts what the board energised, and for how long, from its pins alone: what the firmware's guard is judged against."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

GROUP = frozenset({"slot1", "slot2", "slot3", "slot4", "slot5", "slot6", "launch", "reset"})
"""Coils of which at most one may be on (`src/core/guard.cpp`)."""


@dataclass(slots=True)
class Coils:
    """Every time that an output was on, but for the toy's supply, which may be on for ever.

    spans: by output, (on, off) in cycles, by cycle; a span that has not ended is not there. overlaps: how often a coil of `GROUP`
    went on while another one was.
    """

    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    overlaps: int = 0
    _since: dict[str, int] = field(default_factory=dict)

    def output(self, cycle: int, signal: str, value: float) -> None:
        """`signal` changed to `value` at `cycle`; a change of duty is no end."""
        if signal == "power":
            return
        if not value:
            if signal in self._since:
                self.spans.setdefault(signal, []).append((self._since.pop(signal), cycle))
        elif signal not in self._since:
            self.overlaps += signal in GROUP and not GROUP.isdisjoint(self._since)
            self._since[signal] = cycle

    @property
    def on(self) -> frozenset[str]:
        """What is on now."""
        return frozenset(self._since)

    def total(self, signal: str) -> int:
        """Cycles that `signal` was on, all told."""
        return sum(off - on for on, off in self.spans.get(signal, ()))

    def longest(self, signal: str) -> int:
        """The most cycles that `signal` was on without a break."""
        return max((off - on for on, off in self.spans.get(signal, ())), default=0)

    def most_within(self, signal: str, window: int) -> int:
        """The most cycles that `signal` was on within any `window` cycles.

        The most is found in a window that begins with a span or ends with one.
        """
        spans = self.spans.get(signal, [])
        starts = [on for on, _ in spans]
        total = [0]
        for on, off in spans:
            total.append(total[-1] + off - on)

        def until(cycle: int) -> int:
            index = bisect_right(starts, cycle)
            return total[index] - (max(0, spans[index - 1][1] - cycle) if index else 0)

        begins = [moment for on, off in spans for moment in (on, off - window)]
        return max((until(begin + window) - until(begin) for begin in begins), default=0)
