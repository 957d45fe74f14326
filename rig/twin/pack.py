# SPDX-License-Identifier: Apache-2.0
"""The battery pack: three alkaline cells, as an open-circuit voltage behind a resistance.

Both depend on the charge drawn so far. Recovery at rest, temperature and spread between cells are not modelled.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from rig.twin.waveform import Points, charge_mAh

CELLS = 3  # docs/facts.md: L7 for the roller launcher, B3 for the blaster [PUB]

# Open-circuit voltage of a cell as a fraction of the fresh one's, by the share of its charge that is drawn. The end points
# are the published 1.58 V and 0.9 V, which is within the published working range (docs/facts.md#battery); that the pack is
# empty there, and the shape between, is a guess [UNV].
_USED = (0.0, 0.1, 0.3, 0.6, 0.85, 1.0)
_LEVEL = (1.0, 0.95, 0.886, 0.81, 0.728, 0.57)


class PackParameters(Protocol):
    """What a pack is set to."""

    @property
    def cell_V(self) -> float:
        """Open-circuit voltage of a fresh cell."""
        ...

    @property
    def pack_ohm(self) -> float:
        """Resistance of the fresh pack."""
        ...

    @property
    def pack_aging(self) -> float:
        """Rise of that resistance until empty, as a fraction of it."""
        ...

    @property
    def pack_mAh(self) -> float:
        """Charge of a fresh pack."""
        ...

    @property
    def used_mAh(self) -> float:
        """Charge already drawn at the start."""
        ...


def open_V(parameters: PackParameters, used_mAh: float) -> float:
    """Voltage of the unloaded pack after `used_mAh` were drawn from it. An empty pack stays at its last value."""
    share = min(max(used_mAh / parameters.pack_mAh, 0.0), 1.0)
    i = min(bisect_right(_USED, share), len(_USED) - 1)
    slope = (_LEVEL[i] - _LEVEL[i - 1]) / (_USED[i] - _USED[i - 1])
    return CELLS * parameters.cell_V * (_LEVEL[i - 1] + slope * (share - _USED[i - 1]))


def resistance_ohm(parameters: PackParameters, used_mAh: float) -> float:
    """Resistance of the pack after `used_mAh` were drawn from it; rises linearly until it is empty."""
    share = min(max(used_mAh / parameters.pack_mAh, 0.0), 1.0)
    return parameters.pack_ohm * (1.0 + parameters.pack_aging * share)


class Pack:
    """A pack in use: `open_V` and `ohm` as they are after the charge that is counted, which is up to cycle `counted`."""

    def __init__(self, parameters: PackParameters) -> None:
        self._p = parameters
        self.used_mAh = parameters.used_mAh
        self.counted = 0
        self.open_V = open_V(parameters, self.used_mAh)
        self.ohm = resistance_ohm(parameters, self.used_mAh)

    def count(self, current_A: Points, cycle: int) -> None:
        """Count what `current_A` has drawn by `cycle`."""
        self.used_mAh += charge_mAh(current_A, self.counted, cycle)
        self.counted = cycle
        self.open_V = open_V(self._p, self.used_mAh)
        self.ohm = resistance_ohm(self._p, self.used_mAh)
