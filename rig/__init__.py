# SPDX-License-Identifier: Apache-2.0
"""The bench, as Python sees it: links, messages, what a launcher can be asked to do, and the twin."""

__version__ = "0.1.0"

DISTRIBUTION = "launchrig"
"""Whose `rig` this is: `controller.__main__` looks for it, since an unrelated package installs that name, too."""
