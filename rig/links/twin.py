# SPDX-License-Identifier: Apache-2.0
"""The link to the twin: the same bytes as over a port, in virtual time."""

from __future__ import annotations

import math

from rig.clock import Clock
from rig.errors import LinkLostError, TwinUnavailableError
from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.bench import TwinBench


class TwinLink:
    """A link whose far side is the firmware in the AVR simulator; time passes only while it is read."""

    path = ""

    def __init__(self, bench: TwinBench) -> None:
        self.bench = bench
        self.clock: Clock = bench.clock

    def write(self, data: bytes) -> None:
        """Put `data` on the AVR's receive line, from now on, at wire rate."""
        self.bench.write(data)

    def read(self, deadline: float) -> bytes:
        """Run the AVR until it has transmitted or `deadline` (virtual seconds) is reached.

        Raises `LinkLostError` when the AVR has crashed.
        """
        if self.bench.crashed:
            raise LinkLostError("the simulated AVR has crashed: the firmware ran into nothing")
        return self.bench.read(_cycle_at(deadline))

    def reopen(self) -> None:
        """Reset the AVR, as opening its port does; what it had sent before is gone.

        Raises `TwinUnavailableError` when its process has died, which nothing brings back.
        """
        if not self.bench.avr.alive:
            raise TwinUnavailableError("the simulated AVR has died: its process avrtwin ended by itself")
        self.bench.reset()

    def set_baud(self, baud: int) -> None:
        """Nothing to set: bytes come and go at the rate that the AVR has chosen."""

    def held_for(self, what: str) -> None:
        """Nothing to tell: nobody else can reach this AVR."""

    def close(self) -> None:
        """End the simulator."""
        self.bench.close()


def _cycle_at(deadline: float) -> int:
    """The first cycle at which the clock shows `deadline` or later, so that a deadline once waited for is over."""
    if math.isinf(deadline):
        return FOREVER
    cycle = math.ceil(deadline * CYCLE_HZ)
    return cycle if cycle / CYCLE_HZ >= deadline else cycle + 1
