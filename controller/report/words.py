# SPDX-License-Identifier: Apache-2.0
"""How numbers, intervals and moments are written in a report: in one way, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

NOTHING = "–"

VERDICTS = (
    "blast", "held", "ok", "no_run", "slip", "partial", "latch_fault", "jam", "empty", "rejected", "aborted", "fault",
)  # fmt: skip
"""Every verdict in the order in which a reader wants them: what is normal first, then what went wrong."""


def percent(value: float | None) -> str:
    """Return a probability in percent; only what is exactly 0 or 1 is called 0 % or 100 %. A dash when there is none."""
    if value is None:
        return NOTHING
    if value in (0.0, 1.0):
        return f"{100 * value:.0f} %"
    scaled = 100 * value
    if scaled < 0.0005:
        return "< 0.001 %"
    if scaled >= 99.95:
        return "> 99.9 %"
    return f"{scaled:.{1 if scaled >= 10 else 2 if scaled >= 1 else 3}f} %"


def interval(part: Mapping[str, Any]) -> str:
    """Return the 95 % interval of a part of the odds, as `a % to b %`; a dash when there is none."""
    if part.get("ci_low") is None or part.get("ci_high") is None:
        return NOTHING
    return f"{percent(part['ci_low']).removesuffix(' %')} to {percent(part['ci_high'])}"


def instant(when: datetime | None) -> str:
    """Return a moment for reading, to the second, in the time zone that it was stored with."""
    return NOTHING if when is None else when.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def since_fire(row: Mapping[str, Any]) -> str:
    """Return the place of a hazard row, with a plus when the row pools all later places as well."""
    return f"{row['since_fire']}+" if row.get("or_more") else str(row["since_fire"])


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (dotted name, value) of nested mappings."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def plain(value: Any) -> float | None:
    """Return a number of the odds; None when it is null, with or without a reason."""
    return value if isinstance(value, int | float) else None


def number(value: Any) -> str:
    """Return a number with three digits, a whole one in full; a dash when there is none."""
    found = plain(value)
    if found is None:
        return NOTHING
    return str(found) if isinstance(found, int) else f"{found:.3g}" if abs(found) < 100 else f"{found:.0f}"


def spread(part: Mapping[str, Any] | None) -> str:
    """Return a mean with its range; one number when they are the same."""
    if not part:
        return NOTHING
    mean, low, high = (number(part[key]) for key in ("mean", "min", "max"))
    return mean if low == high else f"{mean} ({low} to {high})"


def p_value(value: Any) -> str:
    """Return a p-value, or that it is tiny."""
    found = plain(value)
    return "below 0.0001" if found is not None and found < 0.0001 else number(found)


def text(value: Any) -> str:
    """Return any value as text; a dash when there is none."""
    return NOTHING if value is None or value == "" else str(value)
