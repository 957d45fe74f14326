# SPDX-License-Identifier: Apache-2.0
"""The two break beams: from a card's edge at the beam to a level at the controller's pin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from rig.twin.avr import CYCLE_HZ
from rig.twin.plan import Edge

A, B = 0, 1
"""Beams: at the mouth, and downstream."""

PINS = {A: 8, B: 2}
CLEAR, BLOCKED = 1, 0  # open collector and pull-up: the receiver pulls the pin low while a card is in its beam


class Crossing(NamedTuple):
    """A beam blocked or cleared at `cycle`. From `sure` on nothing that happens to the launcher can change it."""

    sure: int
    cycle: int
    beam: int
    blocked: bool


class BeamParameters(Protocol):
    """What the receivers are set to."""

    @property
    def beam_us(self) -> float:
        """Delay of either edge."""
        ...

    @property
    def beam(self) -> str:
        """`ok` or `blind`."""
        ...


class Beams:
    """Both receivers. Either edge comes late by the same constant; a blind receiver never reports a card."""

    def __init__(self, parameters: BeamParameters) -> None:
        self.delay = round(parameters.beam_us * 1e-6 * CYCLE_HZ)
        self._sees = parameters.beam != "blind"

    def edges(self, crossings: Iterable[Crossing]) -> list[Edge]:
        """The edges at the pins that `crossings` make, not sorted."""
        if not self._sees:
            return []
        delay = self.delay
        return [(cycle + delay, PINS[beam], BLOCKED if blocked else CLEAR) for _, cycle, beam, blocked in crossings]
