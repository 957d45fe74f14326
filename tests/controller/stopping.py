# SPDX-License-Identifier: Apache-2.0
"""A signal at a moment that a test chooses."""

from __future__ import annotations

from collections.abc import Callable

from controller.signals import StopFlag


class StopWhen(StopFlag):
    """A signal that arrives in a certain moment."""

    def __init__(self, moment: Callable[[], bool]) -> None:
        super().__init__()
        self._moment = moment

    def __call__(self) -> bool:
        if not self.by and self._moment():
            self.by = "SIGTERM"
        return super().__call__()
