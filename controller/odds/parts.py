# SPDX-License-Identifier: Apache-2.0
"""Small pieces that the odds of every launcher are put together from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from controller.calibrate.categorical import Categorical

Json = dict[str, Any]


def unknown(reason: str) -> Json:
    """What stands where no value can be given."""
    return {"value": None, "reason": reason}


def distribution(counts: Categorical) -> Json:
    """A distribution of a number of cards, with lists for JSON."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(counts).items()}


def common(values: Iterable[Any]) -> Any:
    """The value that all share, else None."""
    found = list(values)
    return found[0] if found and all(value == found[0] for value in found) else None


def statistics(values: Iterable[float | None]) -> Json | None:
    """Mean and range of what is known; None when nothing is."""
    found = [value for value in values if value is not None]
    if not found:
        return None
    return {"mean": math.fsum(found) / len(found), "min": min(found), "max": max(found)}
