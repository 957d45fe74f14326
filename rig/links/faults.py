# SPDX-License-Identifier: Apache-2.0
"""What a faulty link can be told to do to its bytes, in one table, the URL that says so, and which bytes are hit.

Which bytes are hit depends on the seed and on the place of a byte among those of its direction, on nothing else: not on how
bytes are cut into reads and writes, and not on the probabilities of other faults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from random import Random
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

from rig.errors import BadRigError
from rig.twin.parameters import Row, check, read, read_seed

PREFIX = "faulty+"
SEED = "fault_seed"
SEED_DOC = "seed of the faults; not given, it is the rig's seed, or drawn and told in the URL of a rig that has none"

Direction = Literal["to_mcu", "to_host"]
Kind = Literal["corrupt", "drop", "duplicate", "delay", "cut", "reset", "unplug"]
KINDS: tuple[Kind, ...] = ("corrupt", "drop", "duplicate", "delay", "cut", "reset", "unplug")
"""Faults that strike a byte. Each has a probability by its name in `Faults`."""

T = TypeVar("T")


def _row(default: T, unit: str, limits: tuple[float, float] | tuple[str, ...], doc: str) -> T:
    choices = tuple(limit for limit in limits if isinstance(limit, str))
    minimum, maximum = (None, None) if choices else limits
    row = {"unit": unit, "default": default, "minimum": minimum, "maximum": maximum, "choices": choices, "doc": doc}
    return field(default=default, metadata=row | {"kind": "word" if choices else "number"})


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong on a link, field by field. Raises `BadRigError` when a value is out of its row's limits.

    Probabilities are per byte and direction. A byte that cuts, resets or unplugs is itself lost.
    """

    corrupt: float = _row(0, "1/byte", (0, 1), "another byte comes instead, each of the 255 others equally likely")
    drop: float = _row(0, "1/byte", (0, 1), "the byte does not come")
    duplicate: float = _row(0, "1/byte", (0, 1), "the byte comes twice")
    delay: float = _row(0, "1/byte", (0, 1), "this byte and those behind it come late; order is kept")
    delay_ms: float = _row(20, "ms", (0, 10000), "longest delay; all shorter ones are equally likely")
    cut: float = _row(0, "1/byte", (0, 1), "the line goes dead: what travels meanwhile is lost, both ways")
    cut_ms: float = _row(100, "ms", (0, 60000), "how long it is dead")
    reset: float = _row(0, "1/byte", (0, 1), "the board is reset; what was on its way is lost")
    unplug: float = _row(0, "1/byte", (0, 1), "the port vanishes, and has to be opened again")
    unplug_ms: float = _row(1000, "ms", (0, 600000), "how long it cannot be opened")
    direction: str = _row("both", "", ("both", "to_mcu", "to_host"), "whose bytes are hit")
    from_s: float = _row(0, "s", (0, 1000000), "no faults for this long after opening; bytes count from then on")

    def __post_init__(self) -> None:
        for row in TABLE:
            check(row, getattr(self, row.name))

    def probability(self, kind: Kind, direction: Direction) -> float:
        """Probability per byte that `kind` strikes a byte of `direction`."""
        value: float = getattr(self, kind)
        return value if self.direction in ("both", direction) else 0.0


TABLE: tuple[Row, ...] = tuple(
    Row(name=each.name, tag="SUG", source="a fault to test with", **each.metadata) for each in fields(Faults)
)
"""The table, in the order of the fields."""

_BY_NAME = {row.name: row for row in TABLE}
NAMES = (*_BY_NAME, SEED)


@dataclass(frozen=True, slots=True)
class FaultyUrl:
    """What a faulty link's URL says: the wrapped rig's own URL, the faults, their seed (None where it does not say).

    `said` are the parameters of the faults but for the seed, as they were written.
    """

    inner: str
    faults: Faults
    seed: int | None
    said: tuple[str, ...]

    def around(self, inner: str, seed: int) -> str:
        """The URL that makes the same faults again, in front of `inner`, the wrapped rig's own URL in full."""
        base, _, query = inner.partition("?")
        return PREFIX + base + "?" + "&".join([*filter(None, query.split("&")), *self.said, f"{SEED}={seed}"])


def parse_faulty_url(url: str) -> FaultyUrl:
    """Take the faults out of `faulty+twin:roller?seed=7&corrupt=0.01`; the rest is the wrapped rig's to judge.

    Raises `BadRigError` with one line that names what is wrong and what would be right.
    """
    base, _, query = url.removeprefix(PREFIX).partition("?")
    if base.startswith(PREFIX):
        raise BadRigError(f"{url!r}: one {PREFIX} is enough")
    rest: list[str] = []
    said: dict[str, str] = {}
    values: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        name, equals, text = part.partition("=")
        if name not in NAMES:
            close = get_close_matches(name, NAMES, n=1, cutoff=0.75)
            if close and not _of_a_twin(name):
                raise BadRigError(f"{url!r}: no parameter is called {name!r}; did you mean {close[0]}?")
            rest.append(part)
            continue
        if name in said:
            raise BadRigError(f"{name} is given twice in {url!r}")
        if not equals or not text:
            raise BadRigError(f"{name} has no value in {url!r}; write {name}=VALUE")
        said[name] = part
        values[name] = read_seed(name, unquote(text)) if name == SEED else read(_BY_NAME[name], unquote(text))
    seed = values.pop(SEED, None)
    said.pop(SEED, None)
    return FaultyUrl("?".join(filter(None, (base, "&".join(rest)))), Faults(**values), seed, tuple(said.values()))


def _of_a_twin(name: str) -> bool:
    from rig.twin.url import NAMES as OF_A_TWIN  # the twin is loaded only where it is used

    return name in OF_A_TWIN


_NEVER = 1 << 62


class Strikes:
    """The bytes of one direction that are hit, by their number from 0.

    Drawn is the distance from one hit to the next, so that millions of bytes that are not hit cost nothing.
    """

    def __init__(self, faults: Faults, seed: int, direction: Direction) -> None:
        self._probability = {kind: faults.probability(kind, direction) for kind in KINDS}
        # A string is hashed in full by `Random`, the same on every machine; each kind has draws of its own.
        self._draws = {kind: Random(f"{seed} {direction} {kind}") for kind in KINDS}
        self._position = 0
        self._at = {kind: self._distance(kind) for kind in KINDS}
        self._next = min(self._at.values())

    def advance(self, count: int) -> tuple[int, dict[Kind, float]]:
        """Go on by at most `count` bytes, to behind the next one that is hit.

        Returns the number of bytes before that one, and what strikes it, with a uniform number for its extent: `count` and
        nothing when none is hit.
        """
        hit = self._next
        if hit >= self._position + count:
            self._position += count
            return count, {}
        before, self._position = hit - self._position, hit + 1
        strikes: dict[Kind, float] = {}
        for kind, at in self._at.items():
            if at == hit:
                strikes[kind] = self._draws[kind].random()
                self._at[kind] = hit + 1 + self._distance(kind)
        self._next = min(self._at.values())
        return before, strikes

    def _distance(self, kind: Kind) -> int:
        """Bytes that are spared before the next one that is hit: geometric."""
        probability = self._probability[kind]
        if probability >= 1.0:
            return 0
        if probability <= 0.0:
            return _NEVER
        return int(min(math.log(1.0 - self._draws[kind].random()) / math.log1p(-probability), float(_NEVER)))


def another(byte: int, uniform: float) -> int:
    """One of the 255 values that `byte` is not, by a uniform number from 0 up to 1."""
    return byte ^ (1 + int(uniform * 255))
