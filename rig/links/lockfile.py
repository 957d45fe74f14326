# SPDX-License-Identifier: Apache-2.0
"""Who holds a port: the lock file by which programs tell each other, and a look at who has the device open.

The file is uucp's (`LCK..ttyACM0`, the pid in ten columns first), as minicom, picocom and others write and respect it. It only
tells. What keeps others out is the lock on the open descriptor, so the races that are left here can mislead and never let two in:
a program that ignores that lock may put its file in place between our look at a stale one and its removal.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

PROGRAM = "launchrig"
DIRECTORIES = (Path("/run/lock"), Path("/var/lock"), Path("/tmp"))
"""Where lock files are looked for; ours goes to the first that can be written, which /run/lock often is not for users."""

LINE = re.compile(r"\s*(\d{1,10})(?:\s+(\S+))?(?:\s+(\S.*?))??(?:\s+since\s+(\S+))?\s*")
LONGEST = 400  # bytes of a lock file that are read
LONGEST_COMMAND = 80  # characters of a command line that are shown
CLOCK_TOLERANCE_S = 10.0  # a process's start is worked out from the boot time, which shifts when the wall clock is set
TRIES = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a port: its program or command line, what for and since when (ISO 8601, UTC), as far as is known."""

    pid: int
    program: str
    what: str = ""
    since: str = ""

    def __str__(self) -> str:
        known = ", ".join(part for part in (self.program, self.what) if part)
        return f"pid {self.pid}" + (f" ({known})" if known else "") + (f" since {self.since}" if self.since else "")


def lock_name(device: str) -> str:
    """Name of the lock file for `device`, as picocom makes it, symlinks resolved: /dev/pts/3 is `LCK..pts_3`."""
    return "LCK.." + os.path.realpath(device).removeprefix("/dev/").strip("/").replace("/", "_")


def holder_of(device: str, directories: Iterable[Path] = DIRECTORIES) -> Holder | None:
    """The living process that a lock file names as the holder of `device`; files of the dead and unreadable ones do not count."""
    name = lock_name(device)
    return next((found for directory in directories if (found := _living(directory / name))), None)


def who_has_open(device: str) -> Holder | None:
    """Another process that has `device` open, by its command line; only where there is /proc, and as far as we may look."""
    try:
        wanted = Path(device).stat()
        processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    except OSError:
        return None
    for process in processes:
        pid = int(process.name)
        if pid == os.getpid():
            continue
        with suppress(OSError, psutil.Error):  # it ended, or is another user's
            for descriptor in (process / "fd").iterdir():
                with suppress(FileNotFoundError):  # closed meanwhile
                    if os.path.samestat(descriptor.stat(), wanted):
                        return Holder(pid, _command(pid))
    return None


class PortLock:
    """This process's lock file for one port at a time."""

    def __init__(self, directories: Iterable[Path] = DIRECTORIES) -> None:
        self._directories = tuple(directories)
        self.path: Path | None = None
        self._since = ""

    def take(self, device: str, what: str) -> Holder | None:
        """Put a lock file for `device` in place; returns who was there first, or None.

        Where no directory can be written there is none, which is no error.
        """
        self._since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name = lock_name(device)
        for directory in self._directories:
            with suppress(OSError):
                before = self._place(directory / name, what)
                if before or self.path:
                    return before
        return None

    def say(self, what: str) -> None:
        """Change what the port is said to be held for."""
        if self.path and _is_ours(self.path):
            with suppress(OSError):
                self._draft(self.path.parent, what).replace(self.path)

    def release(self) -> None:
        """Remove the lock file, unless another's has taken its place; doing it twice does no harm."""
        path, self.path = self.path, None
        if path and _is_ours(path):
            with suppress(OSError):
                path.unlink()

    def _place(self, path: Path, what: str) -> Holder | None:
        """A draft of its own, then a hard link: the file appears whole or not at all, and never over another's."""
        draft = self._draft(path.parent, what)
        try:
            for _ in range(TRIES):
                try:
                    path.hardlink_to(draft)
                except FileExistsError:
                    before = _living(path)
                    if before and before.pid != os.getpid():
                        return before
                    path.unlink(missing_ok=True)
                else:
                    self.path = path
                    return None
            return None
        finally:
            draft.unlink()

    def _draft(self, directory: Path, what: str) -> Path:
        said = " ".join("".join(c if c.isprintable() else " " for c in what).split())
        line = " ".join(part for part in (f"{os.getpid():>10}", PROGRAM, said, f"since {self._since}") if part)
        descriptor, name = tempfile.mkstemp(prefix="LTMP.", dir=directory)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, 0o644)  # others are to read it
            stream.write(line + "\n")
        return Path(name)


def _read(path: Path) -> tuple[Holder, float] | None:
    """What a lock file says, and when it was written, in seconds of the epoch; None when it says nothing that can be read."""
    try:
        # whoever may write the directory could have put a symlink or a pipe there
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            written = os.fstat(stream.fileno()).st_mtime
            text = stream.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    match = LINE.fullmatch("".join(c if c.isprintable() else "?" for c in text.partition("\n")[0]))
    if not match:
        return None
    pid, program, what, since = match.groups(default="")
    since = since or datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Holder(int(pid), program, what, since), written


def _living(path: Path) -> Holder | None:
    """The holder that `path` names, if that process still runs: one that began after the file was written is another."""
    found = _read(path)
    if found is None:
        return None
    holder, written = found
    try:
        alive = psutil.pid_exists(holder.pid) and psutil.Process(holder.pid).create_time() <= written + CLOCK_TOLERANCE_S
    except psutil.NoSuchProcess:
        alive = False
    except psutil.AccessDenied:
        alive = True
    return holder if alive and holder.pid else None


def _is_ours(path: Path) -> bool:
    found = _read(path)
    return found is not None and found[0].pid == os.getpid()


def _command(pid: int) -> str:
    process = psutil.Process(pid)
    words = " ".join(process.cmdline() or [process.name()])
    text = "".join(c if c.isprintable() else " " for c in words)
    return text if len(text) <= LONGEST_COMMAND else text[: LONGEST_COMMAND - 1] + "…"
