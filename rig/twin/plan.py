# SPDX-License-Identifier: Apache-2.0
"""What every plant and the bench have in common: a plan, the board's pins, times as cycles, the name of a board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rig.twin.avr import CYCLE_HZ

Edge = tuple[int, int, int]
"""(cycle, pin, level)"""

SOUND_PIN = 13
INTERLOCK_PIN, LID_PIN = 17, 18  # both low when closed

OUTPUTS: Mapping[int, str] = {
    3: "roller",
    4: "reverse",
    5: "slot1",
    6: "slot2",
    7: "slot3",
    9: "slot4",
    10: "slot5",
    11: "slot6",
    12: "reset",
    16: "launch",
    19: "power",
}
"""The board's outputs by AVR pin (A2 is 16, A5 is 19), by the names that the firmware has for them."""


@dataclass(slots=True)
class Plan:
    """What a plant will do from some cycle on, if nothing happens to it.

    edges: (cycle, pin, level), by cycle, electrical levels. analog: ADC channel to (cycle, volts at the pin), by cycle, straight
    lines between, the last value for ever; the first point is at the plan's start.
    """

    edges: list[Edge]
    analog: dict[int, list[tuple[int, float]]]


def cycles(ms: float) -> int:
    """A time in ms as AVR cycles."""
    return round(ms * CYCLE_HZ / 1000)


def new_uuid(generator: np.random.Generator) -> bytes:
    """The UUID of a simulated board: RFC 9562, version 8, which no board of silicon has."""
    uuid = bytearray(generator.bytes(16))
    uuid[6] = uuid[6] & 0x0F | 0x80
    uuid[8] = uuid[8] & 0x3F | 0x80
    return bytes(uuid)
