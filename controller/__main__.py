# SPDX-License-Identifier: Apache-2.0
"""The way in, as `launchrig` or `python -m controller`: first a look at whose `rig` this is, then the command.

An older, unrelated package also installs a top-level `rig`. It may lie before ours on the path, or have been installed over it.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata

OURS = "launchrig"
EXIT_RIG = 5


def foreign_rig() -> str:
    """One line that names the package whose `rig` is imported in place of ours and says what mends it; empty if ours is."""
    try:
        if getattr(importlib.import_module("rig"), "DISTRIBUTION", None) == OURS:
            return ""
    except Exception:  # whatever a stranger may raise
        pass
    spec = importlib.util.find_spec("rig")
    where = next(iter((spec and spec.submodule_search_locations) or []), (spec and spec.origin) or "nowhere")
    owners = sorted(set(metadata.packages_distributions().get("rig", [])) - {OURS})
    remedy = f"run: pip uninstall -y {' '.join(owners)}" if owners else "remove or rename that"
    owner = f"the unrelated package {' and '.join(owners)}" if owners else "something else"
    return f"`rig` comes from {owner} ({where}), not from {OURS}; {remedy}, then install {OURS} again"


def main() -> None:
    """Entry point of the command."""
    trouble = foreign_rig()
    if trouble:
        print(f"{OURS}: {trouble}", file=sys.stderr)
        sys.exit(EXIT_RIG)
    from controller.cli import main as command

    command()


if __name__ == "__main__":
    main()
