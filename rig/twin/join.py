# SPDX-License-Identifier: Apache-2.0
"""Joins what the rig measured with what the plant did, on the moment of actuation and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from rig.board import Stretch
from rig.twin.avr import CYCLE_HZ
from rig.twin.parameters import Parameters

_LATEST_S = 0.25
"""A tick is told within this time of its moment: a frame behind others on a busy line."""

_TOLERANCE = 1_600
"""Cycles (0.1 ms): the moment of actuation is read from the timer a few instructions after the pin moved."""


class Record(Protocol):
    """What the plant says of one activation."""

    @property
    def cycle(self) -> int:
        """Of actuation."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        ...


R = TypeVar("R", bound=Record)


def join(trials: Sequence[tuple[int, int]], activations: Sequence[R], epoch_s: float) -> dict[int, R]:
    """Activations by trial number, from `(trial, actuation tick)` and activations by cycle.

    The MCU's tick is the AVR's cycle less a constant. `epoch_s` is that constant in seconds as the host saw it, a frame's delay
    too late at most; within that the constant is the difference that explains the most trials. A trial whose actuation
    never reached the launcher has no activation.
    """
    ticks = np.array([tick for _, tick in trials], dtype=np.int64)
    cycles = np.array([activation.cycle for activation in activations], dtype=np.int64)
    latest = round(epoch_s * CYCLE_HZ) + _TOLERANCE
    earliest = latest - round(_LATEST_S * CYCLE_HZ)
    first = np.searchsorted(cycles, ticks + earliest)
    near = [(index, int(cycles[at] - ticks[index])) for index, at in enumerate(first.tolist()) if at < len(cycles)]
    offsets = Counter(round(offset / _TOLERANCE) for _, offset in near if offset <= latest)
    if not offsets:
        return {}
    centre = offsets.most_common(1)[0][0] * _TOLERANCE
    return {trials[index][0]: activations[first[index]] for index, offset in near if abs(offset - centre) <= 2 * _TOLERANCE}


def truth_of(
    parameters: Parameters,
    nothing: Mapping[str, Any],
    trials: Sequence[tuple[int, int | None]],
    activations: Sequence[Record],
    stretches: Sequence[Stretch],
) -> dict[str, Any]:
    """The content of `truth.json`: the plant's parameters, and for each trial what really happened in it.

    Of a trial that never reached the launcher the truth is `nothing`: its cause is `not actuated`.
    """
    joined: dict[int, Record] = {}
    ends = [*(stretch.first_tick for stretch in stretches[1:]), float("inf")]
    for stretch, end in zip(stretches, ends, strict=True):  # a reset shifts ticks against cycles
        within = [(number, tick) for number, tick in trials if tick is not None and stretch.first_tick <= tick < end]
        joined |= join(within, activations, stretch.epoch_s)
    rows = []
    for number, _ in trials:
        activation = joined.get(number)
        rows.append({"trial": number} | (activation.to_dict() if activation else dict(nothing)))
    return {"plant": parameters.to_dict(), "trials": rows}
