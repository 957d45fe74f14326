# SPDX-License-Identifier: Apache-2.0
"""The udev rule that comes with the package, and the USB numbers that it knows a board's port by."""

from __future__ import annotations

import re
from pathlib import Path

RULE = Path(__file__).with_name("60-launchrig.rules")
INSTALL = (
    f"launchrig doctor --udev | sudo tee /etc/udev/rules.d/{RULE.name} && sudo udevadm control --reload && sudo udevadm trigger"
)
_MATCH = re.compile(r'^ATTRS\{idVendor\}=="([0-9a-f]{4})", ATTRS\{idProduct\}=="([0-9a-f]{4})"', re.MULTILINE)


def rule() -> str:
    """The rule's text."""
    return RULE.read_text(encoding="utf-8")


def known_usb() -> frozenset[tuple[int, int]]:
    """USB numbers (vendor, product) of the boards and bridges that the rule is for."""
    return frozenset((int(vendor, 16), int(product, 16)) for vendor, product in _MATCH.findall(rule()))
