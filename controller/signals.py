# SPDX-License-Identifier: Apache-2.0
"""INT, TERM and HUP: the first asks the run to stop, the second stops the outputs by itself and exits.

The first only sets a flag, which the run looks at while it serves the link, so no transaction is ever cut in two.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from controller.verdict import Exit

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopFlag:
    """Whether someone asked for the end, and by which signal; `panic` is called on the second one."""

    def __init__(self) -> None:
        self.by: str = ""
        self.panic: Callable[[], None] = lambda: None

    def __call__(self) -> bool:
        """Whether the end was asked for."""
        return bool(self.by)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.by:
            self.by = signal.Signals(number).name
            return
        try:
            self.panic()
        finally:
            os.write(2, b"launchrig: stopped at once, STOP not waited for: NOT CONFIRMED SAFE, cut the power by hand\n")
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
