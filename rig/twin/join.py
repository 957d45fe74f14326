# SPDX-License-Identifier: Apache-2.0
"""Joins what the rig measured with what the plant did, on the moment of actuation and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.twin.parameters import RollerParameters
from rig.twin.truth import Activation


_CANDIDATES = 8
"""Trials and activations from the beginning whose differences are tried; many more than can be unmatched there."""

_TOLERANCE = 1_600
"""Cycles (0.1 ms): the moment of actuation is read from the timer a few instructions after the pin moved."""


def join(trials: Sequence[tuple[int, int]], activations: Sequence[Activation]) -> dict[int, Activation]:
    """Activations by trial number, from `(trial, actuation tick)` and activations by cycle.

    The MCU's tick is the AVR's cycle less a constant: the difference that explains the most trials. A trial whose
    actuation never reached the toy has no activation.
    """
    if not trials or not activations:
        return {}
    ticks = np.array([tick for _, tick in trials], dtype=np.int64)
    cycles = np.array([activation.cycle for activation in activations], dtype=np.int64)

    def nearest(offset: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        at = np.searchsorted(cycles, ticks + offset - _TOLERANCE)
        inside = np.minimum(at, len(cycles) - 1)
        return inside, (at < len(cycles)) & (np.abs(cycles[inside] - ticks - offset) <= _TOLERANCE)

    offsets = (int(cycle - tick) for tick in ticks[:_CANDIDATES] for cycle in cycles[:_CANDIDATES])
    places, matched = max((nearest(offset) for offset in offsets), key=lambda found: int(found[1].sum()))
    return {trials[index][0]: activations[int(places[index])] for index in np.flatnonzero(matched)}


def truth_of(parameters: RollerParameters, joined: Mapping[int, Activation]) -> dict[str, Any]:
    """The content of `truth.json`: the plant's parameters, and for each trial what really happened in it."""
    trials = [{"trial": number} | activation.to_dict() for number, activation in sorted(joined.items())]
    return {"plant": parameters.to_dict(), "trials": trials}
