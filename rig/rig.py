# SPDX-License-Identifier: Apache-2.0
"""A rig that is open: a link to a board, the person at the bench, and what is known of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rig.board import Stretch
from rig.links.base import Link
from rig.operator import Operator
from rig.wire.messages import STOP_SEND

Truth = Callable[[Sequence[tuple[int, int | None]], Sequence[Stretch]], dict[str, Any]]
"""From `(trial, actuation tick)` of every trial, and the board's stretches of ticks, to what `truth.json` holds."""


@dataclass(slots=True)
class Rig:
    """A rig that is open.

    url: with the seed in force. nonce: for each conversation. new_uuid: for a board that
    has none yet. brain: the model that decides in `direct` drive unless another is asked for. preload: puts cards into a
    twin's hopper without a person. truth: None for a rig that is no twin, and not to be called
    before everything measured is on disk. image: the flash image that runs, where that is known.
    """

    url: str
    seed: int | None
    link: Link
    operator: Operator
    nonce: Callable[[], int]
    new_uuid: Callable[[], bytes]
    brain: str
    preload: Callable[[int], None]
    truth: Truth | None
    image: bytes | None

    def panic(self) -> None:
        """Write STOP once and wait for nothing, for whoever has no time left. Raises `LinkLostError`."""
        self.link.write(bytes(STOP_SEND))

    def close(self) -> None:
        """Let go of the rig."""
        self.link.close()
