# SPDX-License-Identifier: Apache-2.0
"""The table of a twin's figures: what a row of it is, how a value is read and what it may be.

Each field of a parameters class is a row: default, unit, limits, how far it can be trusted, where it is from, what it means.
Tags as in `docs/facts.md`: PUB published, MEAS measured, DER arithmetic from a cited figure, SUG suggested, UNV not verified by
anybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from rig import brains
from rig.errors import BadRigError

Tag = Literal["PUB", "MEAS", "DER", "SUG", "UNV"]
T = TypeVar("T")

TICK_BITS = 48  # of the firmware's clock


def _plain(text: str) -> str:
    """`text`, unless it is one that only Python takes for a number: digits of other scripts, underscores, blanks around it."""
    if not text.isascii() or "_" in text or text != text.strip():
        raise ValueError(text)
    return text


def _number(text: str) -> float:
    value = float(_plain(text))
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _whole_number(text: str) -> int:
    return int(_plain(text))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part) for part in text.split(","))


def _positions(text: str) -> tuple[int, ...]:
    return tuple(_whole_number(part) for part in text.split(","))


def _runs(text: str) -> brains.Runs:
    pairs = [part.split(":") for part in text.split(",")]
    return tuple((_whole_number(run_ms), _number(weight)) for run_ms, weight in pairs)


# How a value of each kind is read, what it looks like, and the numbers in it that the row's limits hold for.
_Kind = tuple[Callable[[str], Any], str, Callable[[Any], Sequence[float]]]
_KINDS: Mapping[str, _Kind] = {
    "number": (_number, "a number", lambda value: (value,)),
    "whole": (_whole_number, "a whole number", lambda value: (value,)),
    "numbers": (_numbers, "numbers with commas, such as 0.2,0.5,1", lambda value: value),
    "positions": (_positions, "whole numbers with commas, such as 2,6,9", lambda value: value),
    "runs": (_runs, "ms:weight pairs with commas, such as 145:1,305:2", lambda value: [run_ms for run_ms, _ in value]),
    "word": (str, "a word", lambda value: ()),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter as the table tells it. `minimum` and `maximum` are None for words, whose `choices` are listed."""

    name: str
    unit: str
    default: Any
    minimum: float | None
    maximum: float | None
    tag: Tag
    source: str
    doc: str
    kind: str
    choices: tuple[str, ...]


def row(
    default: T,
    unit: str,
    limits: tuple[float, float] | tuple[str, ...],
    tag: Tag,
    source: str,
    doc: str,
    kind: str = "number",
) -> T:
    """A field of a parameters class: `limits` are the least and the largest value, or the words to choose from."""
    choices = tuple(limit for limit in limits if isinstance(limit, str))
    minimum, maximum = (None, None) if choices else limits
    told = {"unit": unit, "default": default, "minimum": minimum, "maximum": maximum, "choices": choices}
    told |= {"tag": tag, "source": source, "doc": doc, "kind": "word" if choices else kind}
    return field(default=default, metadata=told)


class Parameters:
    """What the parameters of all twins have in common. Raises `BadRigError` when a value is out of its row's limits.

    Subclasses are frozen dataclasses, and every field is a `row`.
    """

    __slots__ = ()

    brain: str

    def __post_init__(self) -> None:
        for each in rows_of(type(self)):
            check(each, getattr(self, each.name))
        for holds, text in self.relations():
            if not holds:
                raise BadRigError(text)

    def relations(self) -> Sequence[tuple[bool, str]]:
        """What must hold between parameters, and what to say where it does not."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Every parameter by name, as JSON can hold it."""
        return {each.name: getattr(self, each.name) for each in rows_of(type(self))}


def rows_of(parameters: type[Parameters]) -> tuple[Row, ...]:
    """The table of a parameters class, in the order of its fields."""
    return tuple(Row(name=each.name, **each.metadata) for each in fields(parameters))  # type: ignore[arg-type]


def check(row: Row, value: Any) -> None:
    """Raise `BadRigError` when `value` is out of the limits or not among the choices of `row`."""
    if row.choices:
        if value not in row.choices:
            raise BadRigError(f"{row.name}: {value!r} is none of {', '.join(row.choices)}{hint(str(value), row.choices)}")
        return
    numbers = _KINDS[row.kind][2](value)
    assert row.minimum is not None and row.maximum is not None
    for number in numbers:
        if not row.minimum <= number <= row.maximum:  # also refuses NaN
            unit = "" if row.unit.startswith("1") else f" {row.unit}"
            raise BadRigError(f"{row.name}: {number:g} is not within {row.minimum:g} to {row.maximum:g}{unit}")


def hint(word: str, known: Sequence[str]) -> str:
    """What `word` may have been meant to be, to put behind an error; "" when nothing known is close."""
    close = get_close_matches(word, known, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def read_seed(name: str, text: str) -> int:
    """The seed `name` that `text` says. Raises `BadRigError` for what is no whole number from 0 to 2^63 - 1."""
    return _whole(name, text, 63)


def read_tick(name: str, text: str) -> int:
    """The tick `name` that `text` says. Raises `BadRigError` for what is no whole number from 0 to 2^48 - 1."""
    return _whole(name, text, TICK_BITS)


def _whole(name: str, text: str, bits: int) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << bits):
        raise BadRigError(f"{name}: {text!r} is no whole number from 0 to 2^{bits} - 1")
    return int(text)


def read(row: Row, text: str) -> Any:
    """The value of `row` that `text` says, its limits not looked at. Raises `BadRigError` for what is no such value."""
    convert, looks_like, _ = _KINDS[row.kind]
    try:
        return convert(text)
    except ValueError:
        raise BadRigError(f"{row.name}: {text!r} is not {looks_like}") from None
