# SPDX-License-Identifier: Apache-2.0
"""Writing what is made of a run: whole or not at all, and never over a store."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from controller.errors import RefusedError

SQLITE_MAGIC = b"SQLite format 3\0"


def refuse_place(path: Path) -> None:
    """Raise `RefusedError` when `path` cannot be meant as a place for a product: no folder, a folder, or a store."""
    if path.is_dir():
        raise RefusedError(f"{path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise RefusedError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_file():
        with path.open("rb") as stream:
            if stream.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC:
                raise RefusedError(f"{path}: is a database, and would be lost; name another file")


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path`; an older file stays whole until the new one is on disk.

    What is no regular file (a device, a pipe) is written to, never replaced. Raises `RefusedError` that names `path`.
    """
    try:
        refuse_place(path)
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        fresh = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            fresh.chmod(0o644)  # mkstemp makes a file for its owner only
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise RefusedError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}); name another file") from error
