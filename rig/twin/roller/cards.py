# SPDX-License-Identifier: Apache-2.0
"""Cards, each with the fate that was drawn for it when it was loaded."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from rig.twin.roller.parameters import RollerParameters

_DRAWS = 8


class Card(NamedTuple):
    """A card and its fate, drawn when it was loaded. `offset_mm` is that of the next card when this one drags it along."""

    gap_mm: float
    u_slip: float
    slip_mm: float
    drags: bool
    offset_mm: float
    sticks: bool
    jams: bool
    wedge_mm: float


def draw_cards(parameters: RollerParameters, generator: np.random.Generator, cards: int) -> list[Card]:
    """Draw what will happen to each of `cards` cards."""
    p = parameters
    wedge_mm = p.beam_a_mm + 2.0  # well into beam A, and before the roller lets go
    return [
        Card(
            gap_mm=p.gap_min_mm + (p.gap_max_mm - p.gap_min_mm) * u[0],
            u_slip=u[1],
            slip_mm=-p.slip_mm * log(1.0 - u[2]),
            drags=u[3] < p.double_feed,
            offset_mm=0.0 if u[4] < p.overlap else p.shingle_mm * (u[4] - p.overlap) / (1.0 - p.overlap),
            sticks=u[5] < p.stick,
            jams=u[6] < p.jam,
            wedge_mm=wedge_mm + (p.grip_mm - 1.0 - wedge_mm) * u[7],
        )
        for u in generator.random((cards, _DRAWS)).tolist()
    ]
