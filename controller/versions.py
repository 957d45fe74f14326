# SPDX-License-Identifier: Apache-2.0
"""Versions of everything that has a part in the numbers, for provenance."""

from __future__ import annotations

import platform
from importlib import metadata

from rig import __version__

PACKAGES = ("numpy", "scipy", "sqlalchemy")


def versions() -> dict[str, str]:
    """Versions of everything that has a part in the numbers."""
    return {"launchrig": __version__, "python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
