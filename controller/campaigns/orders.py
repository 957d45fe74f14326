# SPDX-License-Identifier: Apache-2.0
"""Which slot comes next: at random, in turn, or in the same order every round; always among those that are ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from controller.errors import RefusedError

# Keeps the draws of slots apart from those of a twin with the same seed.
STREAM = 0x736C6F74

KINDS = ("random", "sequential", "fixed")


class Order(Protocol):
    """A choice of slots that goes on from round to round."""

    def pick(self, ready: Sequence[int]) -> int:
        """One of the slots that are `ready`, which are in ascending order; 0 for none of them."""
        ...


class RandomOrder:
    """Each slot that is ready with the same chance."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng((seed, STREAM))

    def pick(self, ready: Sequence[int]) -> int:
        """Draw one."""
        return ready[int(self._random.integers(len(ready)))] if ready else 0


class SequentialOrder:
    """The next one after the slot before, and after the last one the first; over the end of a round, too."""

    def __init__(self) -> None:
        self._last = 0

    def pick(self, ready: Sequence[int]) -> int:
        """The next one."""
        if not ready:
            return 0
        self._last = next((slot for slot in ready if slot > self._last), ready[0])
        return self._last


class FixedOrder:
    """In every round the same `slots` in the same order."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._slots = tuple(slots)

    def pick(self, ready: Sequence[int]) -> int:
        """The first of the list that is ready."""
        return next((slot for slot in self._slots if slot in ready), 0)


def parse_order(text: str) -> tuple[str, tuple[int, ...]]:
    """`text` as (kind, slots of a fixed list, empty when there is none). Raises `ValueError` that says what would be right."""
    kind, colon, listed = text.partition(":")
    slots = listed.split(",") if colon else []
    is_list = kind == "fixed" and all(slot.isascii() and slot.isdecimal() and len(slot) < 3 for slot in slots)
    if kind not in KINDS or (colon and not is_list):
        raise ValueError(f"{text!r} is no order of slots; write random, sequential, fixed, or a list such as fixed:3,1,2")
    numbers = tuple(map(int, slots))
    if twice := [number for number in numbers if numbers.count(number) > 1]:
        raise ValueError(f"{text!r} names slot {twice[0]} more than once; a loader holds one card a slot")
    return kind, numbers


_ORDERS: Mapping[str, Callable[[Sequence[int], int], Order]] = {
    "random": lambda slots, seed: RandomOrder(seed),
    "sequential": lambda slots, seed: SequentialOrder(),
    "fixed": lambda slots, seed: FixedOrder(slots),
}


def order_of(text: str, slots: int, seed: int) -> Order:
    """The order that `text` names on a bench with `slots` slots. Raises `RefusedError` for a slot that it has not."""
    kind, listed = parse_order(text)
    missing = [slot for slot in listed if not 1 <= slot <= slots]
    if missing:
        raise RefusedError(f"--order {text}: there is no slot {missing[0]}; this bench has slots 1 to {slots}")
    return _ORDERS[kind](listed or range(1, slots + 1), seed)
