# SPDX-License-Identifier: Apache-2.0
"""The twin behind a pseudo-terminal, paced at real time: a board that any serial program can open.

As on a board, opening the port resets the chip. A pseudo-terminal has no DTR line; that the far side is open shows in the
hang-up condition of our side.
"""

from __future__ import annotations

import os
import select
import tty
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.clock import Clock, WallClock
from rig.errors import LinkLostError
from rig.twin.avr import CYCLE_HZ
from rig.twin.rig import TwinParts, make_twin

STEP_S = 0.001  # how far the twin runs ahead of the wall clock at most, and how often the line is looked at
BYTES_PER_STEP = 16
RELOAD_AFTER_S = 5.0
CARDS = 83  # docs/facts.md#the-launcher, L11: the load for four players [DER]


class PtyTwin:
    """A twin and the pseudo-terminal that it listens on; `path` is what to open. A context manager."""

    def __init__(self, url: str, *, seed: int | None = None, vcd: Path | None = None, clock: Clock | None = None) -> None:
        """Build the twin that `url` names. Raises a `RigError` that says what is wrong with it."""
        self._clock = clock or WallClock()
        self._parts: TwinParts = make_twin(url, seed=seed, vcd=vcd)
        self._master, far = os.openpty()
        tty.setraw(far)
        self.path = os.ttyname(far)
        os.close(far)  # nobody has it open now, which the master sees as a hang-up
        os.set_blocking(self._master, False)
        self._poll = select.poll()
        self._poll.register(self._master, select.POLLIN)
        self._open = False
        self._origin = 0.0
        self._quiet_since = 0.0
        self._parts.bench.load(CARDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._master)
        self._parts.bench.close()

    def serve(self, stop: Callable[[], bool]) -> None:
        """Run at real time until `stop` says so. Raises `LinkLostError` when the firmware crashes."""
        self._origin = self._clock.now() - self._parts.bench.clock.now()
        while not stop():
            self._turn()
            if self._at_rest():
                self._parts.bench.clear_mouth()
                if self._parts.plant.is_empty:
                    self._parts.operator.reload(CARDS, lambda seconds: self._let_pass(seconds, stop))

    def _let_pass(self, seconds: float, stop: Callable[[], bool]) -> None:
        until = self._parts.bench.clock.now() + seconds
        while self._parts.bench.clock.now() < until and not stop():
            self._turn()

    def _turn(self) -> None:
        """Catch up with the wall clock, carrying bytes both ways, then rest for a moment."""
        bench = self._parts.bench
        if bench.crashed:
            raise LinkLostError("the simulated AVR has crashed: the firmware ran into nothing")
        self._take_input()
        due = round((self._clock.now() - self._origin) * CYCLE_HZ)
        while (sent := bench.read(due)) or bench.avr.cycle < due:
            self._give_output(sent)
        if self._open:
            self._poll.poll(STEP_S * 1000)
        else:  # poll returns at once on a hang-up
            self._clock.sleep(STEP_S)

    def _take_input(self) -> None:
        conditions = dict(self._poll.poll(0)).get(self._master, 0)
        is_open = not conditions & select.POLLHUP
        if is_open and not self._open:
            self._parts.bench.reset()
            self._parts.bench.clear_mouth()
        self._open = is_open
        if is_open and conditions & select.POLLIN:
            # No more than the wire carries in a step, so that a flood waits on the far side as it would at a port.
            self._parts.bench.write(os.read(self._master, BYTES_PER_STEP))

    def _give_output(self, data: bytes) -> None:
        if not (data and self._open):
            return  # a board talks to nobody, too
        try:
            os.write(self._master, data)
        except BlockingIOError:
            return  # the far side does not read: its buffer is full, as a USB bridge's would be
        except OSError:
            self._open = False

    def _at_rest(self) -> bool:
        """There is no operator here: after a while of rest the mouth is cleared and an empty hopper filled."""
        now = self._parts.bench.clock.now()
        if self._parts.bench.busy:
            self._quiet_since = now
        if now - self._quiet_since < RELOAD_AFTER_S:
            return False
        self._quiet_since = now
        return True
