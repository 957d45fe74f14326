# SPDX-License-Identifier: Apache-2.0
"""Builds `avrtwin` on first use into the user's cache.

It links to libsimavr, which is GPL-3, so no binary of it is shipped: each machine makes its own, once for each
combination of source, compiler and library.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

from rig.errors import TwinUnavailableError

SOURCE = Path(__file__).with_name("avrtwin.c")
FLAGS = ("-O3", "-std=gnu11", "-fomit-frame-pointer", "-Wall", "-Wextra")
LIBRARIES = ("-lsimavr", "-lelf", "-lm")
MEND = "apt-get install -y gcc libsimavr-dev libelf-dev"


def avrtwin_path() -> Path:
    """The executable, built if need be.

    Raises `TwinUnavailableError`, in one line with the command that mends it, when there is no C compiler or no
    libsimavr, or when the cache cannot be written.
    """
    compiler = _compiler()
    library = Path(_ask(compiler, f"-print-file-name={_static_library()}"))
    if not library.is_absolute():
        raise TwinUnavailableError(f"the twin needs libsimavr and its headers, which are not installed; run: {MEND}")
    key = hashlib.sha256()
    for part in (SOURCE.read_bytes(), " ".join(FLAGS).encode(), _ask(compiler, "--version").encode(), library.read_bytes()):
        key.update(hashlib.sha256(part).digest())
    path = user_cache_path("launchrig") / f"avrtwin-{key.hexdigest()[:16]}"
    if not path.exists():
        _build(compiler, library, path)
    return path


def _static_library() -> str:
    # Linked statically: a call into a shared library per AVR instruction costs several per cent.
    return "libsimavr.a"


def _compiler() -> str:
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return found
    raise TwinUnavailableError(f"the twin needs a C compiler and there is none; run: {MEND}")


def _ask(compiler: str, question: str) -> str:
    return subprocess.run([compiler, question], capture_output=True, text=True, check=False).stdout.strip()


def _build(compiler: str, library: Path, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix="avrtwin-")
    except OSError as error:
        raise TwinUnavailableError(f"cannot write to the cache {path.parent} ({error.strerror}); set XDG_CACHE_HOME") from error
    os.close(handle)
    made = Path(name)
    try:
        command = [compiler, *FLAGS, "-o", name, str(SOURCE), str(library), *LIBRARIES[1:]]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            wanted = "fatal error" in result.stderr or "cannot find" in result.stderr
            reason = next((line for line in result.stderr.splitlines() if "error" in line), "the compiler failed")
            hint = f"run: {MEND}" if wanted else f"try by hand: {' '.join(command)}"
            raise TwinUnavailableError(f"avrtwin does not build: {reason.strip()}; {hint}")
        made.chmod(0o755)
        made.replace(path)  # atomic: two builders at once do no harm
    finally:
        made.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        avrtwin_path()
    except TwinUnavailableError as error:
        sys.exit(f"launchrig: {error}")
