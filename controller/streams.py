# SPDX-License-Identifier: Apache-2.0
"""Standard streams that last: a run goes on, or comes to its safe end, though its reader or its terminal has gone away.

And descriptors 0 to 2 are never free, so that no port and no store that is opened later gets what is meant for a person.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

STANDARD = (0, 1, 2)


class _Lasting(io.FileIO):
    """What is written when nobody can read it any more is dropped; any other trouble, such as a full disk, is raised."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._gone = (errno.EPIPE, errno.EIO) if os.isatty(descriptor) else (errno.EPIPE,)  # EIO: of a terminal that was closed

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in self._gone:
                raise
        _drop(self.fileno())
        return len(data)


def make_lasting() -> None:
    """Put such streams in the place of standard output and standard error, characters that they lack escaped."""
    for descriptor in STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout, sys.stderr = (_stream(descriptor) for descriptor in STANDARD[1:])


def finish() -> None:
    """Write out what is left after `run`, which raises what keeps it from that: the words of a command that has failed already.

    So what cannot be written here is dropped: something worse was said, and decided the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _drop(stream.fileno())


def _drop(descriptor: int) -> None:
    """From now on `descriptor` leads nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _stream(descriptor: int) -> io.TextIOWrapper:
    raw = _Lasting(descriptor)
    at_once = descriptor == STANDARD[2] or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), errors="backslashreplace", line_buffering=at_once)
