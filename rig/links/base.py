# SPDX-License-Identifier: Apache-2.0
"""What every link promises. One contract-test suite (`tests/rig/links/test_contract.py`) holds them all to it."""

from __future__ import annotations

from typing import Protocol

from rig.clock import Clock


class Link(Protocol):
    """A byte stream to a board, with the clock by which its time-outs are judged."""

    @property
    def clock(self) -> Clock:
        """The clock of this link: wall time on hardware, AVR cycles in the twin."""
        ...

    @property
    def path(self) -> str:
        """Where the far side is, as commands and messages name it; empty where that has no name."""
        ...

    def write(self, data: bytes) -> None:
        """Send all of `data`. Raises `LinkLostError` when the far side is gone."""
        ...

    def read(self, deadline: float) -> bytes:
        """Bytes that have arrived, waiting for the first one until `deadline` (seconds of `clock`); b"" when none came.

        Raises `LinkLostError` when the far side is gone.
        """
        ...

    def reopen(self) -> None:
        """Let go of the far side and take it again: a board resets when its port is opened. Works on a closed link, too.

        Raises a `RigError` while it cannot be taken; to try again does no harm.
        """
        ...

    def set_baud(self, baud: int) -> None:
        """Change the host's side of the line to `baud` bit/s; what is on its way is lost. Raises `LinkLostError`."""
        ...

    def held_for(self, what: str) -> None:
        """Tell others who find the far side taken what it is taken for."""
        ...

    def close(self) -> None:
        """Let go of the far side; closing twice does no harm."""
        ...
