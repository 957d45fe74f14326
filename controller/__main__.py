# SPDX-License-Identifier: Apache-2.0
"""The way in, as `launchrig` or `python -m controller`: signals, a look at whose `rig` this is, then the command.

Signals are caught before anything is loaded that takes time. An older, unrelated package also installs a top-level `rig`. It may
lie before ours on the path, or have been installed over it.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

OURS = "launchrig"
EXIT_RIG = 5
EXIT_ABORTED = 4
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOADER = "<frozen importlib"  # how the files of Python's own loader are called


def foreign_rig() -> str:
    """One line that names the package whose `rig` is imported in place of ours and says what mends it; empty if ours is."""
    try:
        if getattr(importlib.import_module("rig"), "DISTRIBUTION", None) == OURS:
            return ""
    except Exception:  # whatever a stranger may raise
        pass
    from importlib import metadata, util  # they take their time

    spec = util.find_spec("rig")
    where = next(iter((spec and spec.submodule_search_locations) or []), (spec and spec.origin) or "nowhere")
    owners = sorted(set(metadata.packages_distributions().get("rig", [])) - {OURS})
    remedy = f"run: pip uninstall -y {' '.join(owners)}" if owners else "remove or rename that"
    owner = f"the unrelated package {' and '.join(owners)}" if owners else "something else"
    return f"`rig` comes from {owner} ({where}), not from {OURS}; {remedy}, then install {OURS} again"


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt what goes on; leave while modules are loaded: the loader may swallow an exception, and nothing is in hand yet."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(LOADER):
            _leave()
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave() -> None:
    try:
        os.write(2, f"{OURS}: aborted\n".encode())
    finally:
        os._exit(EXIT_ABORTED)


def _catch(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in SIGNALS:
        signal.signal(number, handler)


def main() -> None:
    """Entry point of the command."""
    try:
        _catch(_interrupt)
        trouble = foreign_rig()
        if trouble:
            print(f"{OURS}: {trouble}", file=sys.stderr)
            sys.exit(EXIT_RIG)
        from controller.cli import main as command

        code = command()
        _catch(signal.SIG_IGN)  # what it came to is decided
    except KeyboardInterrupt:
        _leave()
    sys.exit(code)


if __name__ == "__main__":
    main()
