# SPDX-License-Identifier: Apache-2.0
"""INT, TERM and HUP: the first asks the run to stop, the second stops the outputs by itself and exits.

The first only sets a flag, which the run looks at while it serves the link, so no transaction is ever cut in two. One wish may
arrive several times: a terminal that is closed, or a program such as `timeout`, tells the process and then its whole group, and
a service manager may send TERM and HUP together.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from controller.verdict import Exit
from rig.clock import Clock, WallClock

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

ECHO_S = 0.5
"""Whatever signal comes within this of the first is the same wish."""

UNSAFE = "STOP not waited for: NOT CONFIRMED SAFE, cut the power by hand"
SAFE = "the outputs were off by then, confirmed"


class StopFlag:
    """Whether someone asked for the end, and by which signal; `panic` is called on the second one, then `state` is told."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.by: str = ""
        self.panic: Callable[[], None] = lambda: None
        self.state = UNSAFE
        self._clock = clock or WallClock()
        self._echoes_until = 0.0

    def safe(self) -> None:
        """The outputs are off and were read back: there is nothing left to panic about."""
        self.panic, self.state = lambda: None, SAFE

    def __call__(self) -> bool:
        """Whether the end was asked for."""
        return bool(self.by)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name, now = signal.Signals(number).name, self._clock.now()
        if not self.by:
            self.by, self._echoes_until = name, now + ECHO_S
            return
        if now < self._echoes_until:
            return
        try:
            self.panic()
        finally:
            try:
                os.write(2, f"launchrig: stopped at once, {self.state}\n".encode())
            finally:
                os._exit(Exit.aborted)


@contextmanager
def stop_on_signals() -> Iterator[StopFlag]:
    """Within this context the signals set the flag; afterwards they mean what they meant before."""
    flag = StopFlag()
    before = {number: signal.signal(number, flag._handle) for number in SIGNALS}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
