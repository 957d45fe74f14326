# SPDX-License-Identifier: Apache-2.0
"""Whether a file is a fit place for a store, and whether the process that wrote a run still lives.

SQLite creates what is missing and discovers damage late; these checks say so in one clear line before it writes.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from controller.errors import RefusedError
from controller.files import SQLITE_MAGIC

NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afpfs", "afs", "beegfs", "ceph", "cifs"}
    | {"coda", "davfs", "fuse.curlftpfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs"}
    | {"fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs"}
    | {"lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs"}
    | {"prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "webdav"}
)
"""Kinds of file system whose locks SQLite cannot rely on, as the kernels of Linux and macOS name them."""

APPLICATION_ID = 0x6C726967
"""`lrig`, in the header of an SQLite file: tells a store of ours from any other database."""

_START_TOLERANCE_S = 10.0
"""A process's start time is worked out from the boot time, which shifts when the wall clock is set."""


class StoreError(RefusedError):
    """The store cannot be used as asked: one line that says what is wrong, where, and what would be right."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that writes a run: host name, process id and its start in seconds of the epoch."""

    host: str
    pid: int
    pid_started_s: float


def this_process() -> Writer:
    """Who writes when this process does."""
    return Writer(socket.gethostname(), os.getpid(), psutil.Process().create_time())


def is_alive(writer: Writer) -> bool:
    """Whether that very process still runs on this host; a reused process id does not count, nor does another host."""
    if writer.host != socket.gethostname():
        return False
    try:
        return abs(psutil.Process(writer.pid).create_time() - writer.pid_started_s) < _START_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def local_mounts() -> list[tuple[str, str]]:
    """(mount point, kind of file system) of everything mounted here."""
    return [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]


def network_file_system(path: Path, mounts: Iterable[tuple[str, str]]) -> str | None:
    """Name the network file system that holds an absolute path, or None; `mounts` as from `local_mounts`."""
    if str(path).startswith(("\\\\", "//")):
        return "a network share"
    holding = [(len(Path(point).parts), kind) for point, kind in mounts if path.is_relative_to(point)]
    # Of two mounts on one point the later hides the earlier.
    deepest = max(range(len(holding)), key=lambda i: (holding[i][0], i), default=None)
    kind = "" if deepest is None else holding[deepest][1]
    return kind if kind.lower() in NETWORK_FILE_SYSTEMS else None


def check_place(path: Path, mounts: Iterable[tuple[str, str]]) -> None:
    """Refuse a path that cannot hold a store: `StoreError` when it is remote, foreign, truncated or unwritable."""
    try:
        _check_place(path, mounts)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}; name another file with --store") from error


def _check_place(path: Path, mounts: Iterable[tuple[str, str]]) -> None:
    remote = network_file_system(path.resolve(), mounts)
    if remote:
        raise StoreError(
            f"{path}: is on a network file system ({remote}), where SQLite's locks are not safe; "
            f"use --store with a path on a local disk, or a PostgreSQL URL"
        )
    if path.is_dir():
        raise StoreError(f"{path}: is a directory; name a file in it, such as {path / 'runs.sqlite'}")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no directory {path.parent}; make it, or name another file with --store")
    if not path.exists():
        if not os.access(path.parent, os.W_OK):
            raise StoreError(f"{path}: the directory is not writable; name a file in one that is with --store")
        return
    if not path.is_file():
        raise StoreError(f"{path}: is no ordinary file; name another with --store")
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreError(f"{path}: is not readable and writable; mend its permissions, or name another with --store")
    _check_header(path)


def _check_header(path: Path) -> None:
    """Look at the first 100 bytes as https://www.sqlite.org/fileformat.html describes them."""
    size = path.stat().st_size
    if size == 0:
        return
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(SQLITE_MAGIC[: len(header)]):
        raise StoreError(f"{path}: is not a launchrig store (no SQLite database); name another file with --store")
    if len(header) < 100:
        raise StoreError(f"{path}: is truncated to {size} bytes; restore it from a copy, or name another with --store")
    if any(Path(f"{path}{end}").exists() for end in ("-wal", "-journal")):
        return  # The header may rightly be behind; SQLite completes the file from the log.
    page_size = struct.unpack(">H", header[16:18])[0]
    changed, pages, application, valid_for = (struct.unpack(">I", header[at : at + 4])[0] for at in (24, 28, 68, 92))
    whole = pages * (65536 if page_size == 1 else page_size) if changed == valid_for else 0
    if application == 0 and pages <= 1:
        return  # Empty so far: another process is making a store of it at this moment.
    if application != APPLICATION_ID:
        raise StoreError(f"{path}: is not a launchrig store (another program's database); name another with --store")
    if size < whole:
        raise StoreError(f"{path}: is truncated, {size} of {whole} bytes; restore it from a copy, or name another with --store")
