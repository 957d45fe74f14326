# SPDX-License-Identifier: Apache-2.0
"""The battery pack: three alkaline C cells, as an open-circuit voltage behind a resistance.

Both depend on the charge drawn so far. Recovery at rest, temperature and spread between cells are not modelled.
"""

from __future__ import annotations

from bisect import bisect_right

from rig.twin.parameters import RollerParameters

CELLS = 3  # docs/facts.md#the-launcher, L7 [PUB]

# Open-circuit voltage of a cell as a fraction of the fresh one's, by the share of its charge that is drawn. The end points
# are the published 1.58 V and 0.9 V, which is within the published working range (docs/facts.md#battery); that the pack is
# empty there, and the shape between, is a guess [UNV].
_USED = (0.0, 0.1, 0.3, 0.6, 0.85, 1.0)
_LEVEL = (1.0, 0.95, 0.886, 0.81, 0.728, 0.57)


def open_V(parameters: RollerParameters, used_mAh: float) -> float:
    """Voltage of the unloaded pack after `used_mAh` were drawn from it. An empty pack stays at its last value."""
    share = min(max(used_mAh / parameters.pack_mAh, 0.0), 1.0)
    i = min(bisect_right(_USED, share), len(_USED) - 1)
    slope = (_LEVEL[i] - _LEVEL[i - 1]) / (_USED[i] - _USED[i - 1])
    return CELLS * parameters.cell_V * (_LEVEL[i - 1] + slope * (share - _USED[i - 1]))


def resistance_ohm(parameters: RollerParameters, used_mAh: float) -> float:
    """Resistance of the pack after `used_mAh` were drawn from it; rises linearly until it is empty."""
    share = min(max(used_mAh / parameters.pack_mAh, 0.0), 1.0)
    return parameters.pack_ohm * (1.0 + parameters.pack_aging * share)
