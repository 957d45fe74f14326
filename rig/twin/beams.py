# SPDX-License-Identifier: Apache-2.0
"""The two break beams: from a card's edge at the beam to a level at the controller's pin."""

from __future__ import annotations

from collections.abc import Iterable

from rig.twin.avr import CYCLE_HZ
from rig.twin.feed import A, B, Crossing
from rig.twin.parameters import RollerParameters

PINS = {A: 8, B: 2}
CLEAR, BLOCKED = 1, 0  # open collector and pull-up: the receiver pulls the pin low while a card is in its beam

Edge = tuple[int, int, int]
"""(cycle, pin, level)"""


class Beams:
    """Both receivers. Either edge comes late by the same constant; a blind receiver never reports a card."""

    def __init__(self, parameters: RollerParameters) -> None:
        self.delay = round(parameters.beam_us * 1e-6 * CYCLE_HZ)
        self._sees = parameters.beam != "blind"

    def edges(self, crossings: Iterable[Crossing]) -> list[Edge]:
        """The edges at the pins that `crossings` make, not sorted."""
        if not self._sees:
            return []
        delay = self.delay
        return [(cycle + delay, PINS[beam], BLOCKED if blocked else CLEAR) for _, cycle, beam, blocked in crossings]
