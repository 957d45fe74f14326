# SPDX-License-Identifier: Apache-2.0
"""From the board's 48-bit ticks to a line that never runs back: over the counter's wrap, and over a reset of the board.

Within one life of the board the line is its counter to the tick. A reset puts the counter back to 0; the line goes on from
where the host's clock stands, which is true to within a frame's delay, so no interval may span it: the gap is marked.
"""

from __future__ import annotations

SPAN = 1 << 48


class TickLine:
    """The line of one run's ticks. Raw ticks come from messages, 0 to 2^48 - 1."""

    def __init__(self) -> None:
        self.last = 0
        """The latest tick of the line that was ever told."""
        self._offset = 0
        self._fresh = True

    def of(self, raw: int) -> int:
        """The line's tick for `raw`, which lies within half the counter's 203 days of the latest one."""
        if self._fresh:
            self._fresh = False
            tick = raw + self._offset
        else:
            apart = (raw + self._offset - self.last + SPAN // 2) % SPAN - SPAN // 2
            tick = self.last + apart
        self.last = max(self.last, tick)
        return tick

    def raw(self, tick: int) -> int:
        """What the board calls `tick` of the line. Never 0, which means "at once" on the wire."""
        return (tick - self._offset) % SPAN or 1

    def restart(self, raw: int, tick: int) -> None:
        """The board began anew: its counter shows `raw` where the line stands at about `tick`, or just behind the latest."""
        self._offset = max(tick, self.last + 1) - raw
        self._fresh = True
