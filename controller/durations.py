# SPDX-License-Identifier: Apache-2.0
"""Durations as people type them: `3s`, `500ms`, `2min`, `1h`; a bare number is seconds."""

from __future__ import annotations

import math
import re

UNITS_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "": 1.0}


def parse_s(text: str) -> float:
    """Seconds in `text`. Raises `ValueError` that says what would be right."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|)\s*", text)
    if not match:
        raise ValueError(f"{text!r} is no duration; write for example 3s, 500ms or 2min")
    value = float(match.group(1)) * UNITS_S[match.group(2)]
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too long")
    return value


def show(seconds: float) -> str:
    """`seconds` for a person: 3 s, 12 min 5 s, 4 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
