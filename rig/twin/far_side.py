# SPDX-License-Identifier: Apache-2.0
"""The far side of a pseudo-terminal: whether somebody has it open, and whether it was opened anew since the last look.

A hang-up tells the first, but a port that is closed and opened again at once shows none; the kernel's file events do.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct

CLOSING_MS = 200
"""The event of a closing comes before the port is closed; so long its hang-up is waited for, in case a second program holds it."""

_OPENED, _CLOSED = 0x20, 0x08 | 0x10  # IN_OPEN, IN_CLOSE_WRITE | IN_CLOSE_NOWRITE
_EVENT = struct.Struct("iIII")


class FarSide:
    """Watches who opens `path`, the far side of `master`. Where no more file events are to be had it knows what a hang-up tells."""

    def __init__(self, master: int, path: str) -> None:
        self.is_open = False
        self._poll = select.poll()
        self._poll.register(master, 0)  # a hang-up is always told
        self.events = -1  # to select on: readable when there is something to look at
        c = ctypes.CDLL(None)
        events = c.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if events >= 0 and c.inotify_add_watch(events, path.encode(), _OPENED | _CLOSED) >= 0:
            self.events = events
        elif events >= 0:
            os.close(events)

    def look(self) -> bool:
        """Bring `is_open` up to date. True when the far side was opened, even if it is closed again by now."""
        opened, patience_ms = False, 0
        for mask in self._changes():
            opened = opened or (bool(mask & _OPENED) and not self.is_open)
            self.is_open = bool(mask & _OPENED)
            patience_ms = 0 if self.is_open else CLOSING_MS
        is_open = not self._poll.poll(patience_ms)
        opened = opened or (self.events < 0 and is_open and not self.is_open)
        self.is_open = is_open  # a second program may have come and gone
        return opened

    def close(self) -> None:
        """Stop watching."""
        if self.events >= 0:
            os.close(self.events)

    def _changes(self) -> list[int]:
        if self.events < 0:
            return []
        try:
            data = os.read(self.events, 4096)
        except BlockingIOError:
            return []
        return [mask for _, mask, _, _ in _EVENT.iter_unpack(data)]
