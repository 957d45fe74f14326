# SPDX-License-Identifier: Apache-2.0
"""Clocks. Everything that waits takes one, so that the same code runs in wall time and in the twin's virtual time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in seconds."""

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...


class WallClock:
    """The machine's monotonic clock, for real hardware."""

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        time.sleep(seconds)
