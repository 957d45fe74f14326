# SPDX-License-Identifier: Apache-2.0
"""Every figure of the simulated roller launcher, in one table, and the URL that sets it.

Each field is a row: default, unit, limits, how far it can be trusted, where it is from, what it means. Tags as in
`docs/facts.md`: PUB published, MEAS measured, DER arithmetic from a cited figure, SUG suggested, UNV not verified by anybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

from rig import brains
from rig.errors import BadRigError
from rig.twin import bootloader

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


def _row(
    default: T,
    unit: str,
    limits: tuple[float, float] | tuple[str, ...],
    tag: Tag,
    source: str,
    doc: str,
    kind: str = "number",
) -> T:
    choices = tuple(limit for limit in limits if isinstance(limit, str))
    minimum, maximum = (None, None) if choices else limits
    row = {"unit": unit, "default": default, "minimum": minimum, "maximum": maximum, "choices": choices}
    row |= {"tag": tag, "source": source, "doc": doc, "kind": "word" if choices else kind}
    return field(default=default, metadata=row)


_CLAIM = "docs/facts.md#published-claims, a list of fires of unknown worth"
_NONE = "no figure found"
_MABUCHI = "docs/facts.md#motor, Mabuchi FA-130RA-14150; the toy's own motor is unknown"
_FEEDER = "docs/facts.md#misfeeds, a home-made UNO feeder failed on 2.2 % of cards; the split is a guess"


@dataclass(frozen=True, slots=True)
class RollerParameters:
    """The simulated roller launcher, field by field. Raises `BadRigError` when a value is out of its row's limits."""

    # the toy's decision
    brain: str = _row(
        "hazard", "", tuple(brains.MODELS), "UNV", "docs/facts.md#published-claims", "how the toy decides that a press fires"
    )
    p_fire: float = _row(brains.P_FIRE, "1", (0, 1), "UNV", _CLAIM, "brain iid: probability that a press fires")
    hazard: tuple[float, ...] = _row(
        brains.HAZARD, "1", (0, 1), "UNV", _CLAIM, "brain hazard: the same by presses since the last fire", "numbers"
    )
    sequence: tuple[int, ...] = _row(
        brains.SEQUENCE, "press", (1, 100000), "UNV", _CLAIM, "brain sequence: presses that fire, from the restart", "positions"
    )
    sequence_length: int = _row(
        brains.SEQUENCE_LENGTH,
        "press",
        (1, 100000),
        "UNV",
        _CLAIM,
        "brain sequence: presses after which it begins again",
        "whole",
    )
    run_ms: tuple[tuple[int, float], ...] = _row(
        brains.RUNS,
        "ms:weight",
        (20, 5000),
        "UNV",
        "docs/facts.md#published-claims, counts up to 10 or 12",
        "run times of the roller and their weights",
        "runs",
    )

    # the toy's board
    debounce_ms: float = _row(20, "ms", (1, 60), "UNV", _NONE, "button held this long counts as a press")
    sound_delay_ms: float = _row(45, "ms", (5, 140), "UNV", _NONE, "from button-down to the sound")
    sound_ms: float = _row(
        300,
        "ms",
        (50, 1500),
        "UNV",
        "docs/facts.md#the-launcher, L3 has the sound, not its length",
        "length of the sound of a press",
    )
    motor_delay_ms: float = _row(150, "ms", (20, 350), "UNV", _NONE, "from button-down to the motor")
    lockout_ms: float = _row(100, "ms", (0, 2000), "UNV", _NONE, "deaf for this long after motor and sound")
    boot_ms: float = _row(200, "ms", (0, 450), "UNV", _NONE, "deaf for this long after power-on")
    beep_ms: float = _row(
        200,
        "ms",
        (0, 1500),
        "UNV",
        "docs/facts.md#the-launcher, L2 has the beep, not its length",
        "length of the beep at lid close",
    )
    idle_mA: float = _row(15, "mA", (0, 50), "UNV", _NONE, "drawn by the toy's board")
    sound_mA: float = _row(60, "mA", (0, 70), "UNV", _NONE, "drawn by the sound on top of that")
    jam_hold_ms: float = _row(700, "ms", (500, 3000), "UNV", _NONE, "the toy keeps a wedged motor on for at least this long")

    # the pack: 3 x C
    cell_V: float = _row(
        1.58,
        "V",
        (1.2, 1.65),
        "PUB",
        "docs/facts.md#battery, fresh alkaline cell, typical",
        "open-circuit voltage of a fresh cell",
    )
    pack_ohm: float = _row(
        0.45,
        "ohm",
        (0.1, 1),
        "DER",
        "docs/facts.md#battery, 3 x 0.15 ohm at 1 kHz; under load it is more",
        "resistance of the fresh pack",
    )
    pack_aging: float = _row(
        1, "1", (0, 4), "UNV", "docs/facts.md#battery, rises with age", "rise of that resistance until empty, as a fraction of it"
    )
    pack_mAh: float = _row(
        8000, "mAh", (100, 20000), "PUB", "docs/facts.md#battery, alkaline C cell, up to", "charge of a fresh pack"
    )
    used_mAh: float = _row(0, "mAh", (0, 20000), "SUG", "a fresh pack", "charge already drawn at the start")

    # the motor and the roller
    motor_ohm: float = _row(3.33, "ohm", (1.4, 5), "DER", _MABUCHI, "resistance of the winding")
    torque_mNm_A: float = _row(2.34, "mN.m/A", (1.5, 4), "DER", _MABUCHI, "torque per ampere")
    emf_mV_s: float = _row(3.03, "mV.s", (2, 5), "DER", _MABUCHI, "back-EMF per rad/s")
    motor_idle_mA: float = _row(110, "mA", (50, 200), "PUB", _MABUCHI, "no-load current")
    inertia_gcm2: float = _row(
        1.1,
        "g.cm2",
        (0.3, 1.3),
        "UNV",
        "from the rotor's size and mass; none published fits",
        "rotor and roller, at the motor's shaft",
    )
    roller_load_mNm: float = _row(0.3, "mN.m", (0.2, 0.6), "UNV", _NONE, "friction of gears and roller, at the motor's shaft")
    card_load_mNm: float = _row(0.2, "mN.m", (0, 0.4), "UNV", _NONE, "drag of a card under the roller, at the motor's shaft")
    wedge_mA: float = _row(600, "mA", (500, 700), "UNV", _NONE, "motor current while the roller still slips on a wedged card")
    gear: float = _row(
        10, "1", (6, 14), "UNV", "chosen for 60 to 100 ms a card with a fresh pack", "turns of the motor per turn of the roller"
    )
    roller_mm: float = _row(10, "mm", (7, 14), "UNV", _NONE, "radius of the roller")
    start_mm_s: float = _row(520, "mm/s", (520, 900), "UNV", _NONE, "a drive too weak for this speed does not turn the roller")

    # the cards and their way out
    card_mm: float = _row(
        88, "mm", (85, 89), "PUB", "docs/facts.md#cards, 56 x 88 mm", "length of a card in the direction of travel"
    )
    grip_mm: float = _row(
        30,
        "mm",
        (18, 60),
        "UNV",
        "docs/facts.md#mechanism, the patent has an eccentric wheel, not its size",
        "travel over which the roller holds a card",
    )
    gap_min_mm: float = _row(
        14,
        "mm",
        (6, 60),
        "UNV",
        "no figure found; a gap of less than 10 ms can fall between two looks at the beam, 10 ms apart",
        "least gap between one card and the next",
    )
    gap_max_mm: float = _row(26, "mm", (6, 80), "UNV", _NONE, "largest gap between one card and the next")
    slip: float = _row(0.010, "1/card", (0, 1), "SUG", _FEEDER, "probability that the roller slips on a card, roller clean")
    slip_growth: float = _row(
        2e-6,
        "1/card2",
        (0, 0.01),
        "UNV",
        "docs/facts.md#the-launcher, L6 has the effect, not its size",
        "rise of that with every card since cleaning",
    )
    slip_mm: float = _row(150, "mm", (1, 2000), "UNV", _NONE, "mean roller travel until a slipping card is gripped; exponential")
    double_feed: float = _row(0.008, "1/card", (0, 1), "SUG", _FEEDER, "probability that a card drags the next one along")
    shingle_mm: float = _row(6, "mm", (0, 10), "UNV", _NONE, "largest offset of the two cards of a double feed")
    overlap: float = _row(0.4, "1", (0, 1), "UNV", _NONE, "share of double feeds that overlap exactly")
    stick: float = _row(
        0.05,
        "1/card",
        (0, 1),
        "UNV",
        "docs/facts.md#the-launcher, L5 has the effect, not its rate",
        "probability that a card leaving the coasting roller stays in the mouth",
    )
    jam: float = _row(0.004, "1/card", (0, 1), "SUG", _FEEDER, "probability that a card wedges in the mouth")
    wedge_ms: float = _row(120, "ms", (100, 400), "UNV", _NONE, "the roller slips on a wedged card for this long, then stalls")
    throw_mm_s: float = _row(
        400, "mm/s", (400, 600), "UNV", _NONE, "a card that the coasting roller lets go slower stays in the mouth"
    )

    # the beams
    beam_a_mm: float = _row(
        20, "mm", (10, 20), "SUG", "in the mouth, where the roller still holds the card", "from the roller to beam A"
    )
    beam_b_mm: float = _row(30, "mm", (10, 30), "SUG", "far enough for speed, nearer than a card is long", "from beam A to beam B")
    beam_us: float = _row(
        15, "us", (0, 100), "PUB", "docs/facts.md#beams, ITR-9608 slotted coupler", "delay of either edge in the receiver"
    )
    beam: str = _row("ok", "", ("ok", "blind"), "SUG", "a fault to test with", "blind: the receivers never see a card")

    def __post_init__(self) -> None:
        for row in TABLE:
            check(row, getattr(self, row.name))
        for holds, text in (
            (self.grip_mm >= self.beam_a_mm + 5, "grip_mm must be at least 5 mm more than beam_a_mm"),
            (self.gap_min_mm <= self.gap_max_mm, "gap_min_mm is larger than gap_max_mm"),
            (self.debounce_ms < self.sound_delay_ms, "sound_delay_ms must be longer than debounce_ms"),
            (self.debounce_ms < self.motor_delay_ms, "motor_delay_ms must be longer than debounce_ms"),
            (sum(weight for _, weight in self.run_ms) > 0, "run_ms: the weights are all zero"),
            (all(weight >= 0 for _, weight in self.run_ms), "run_ms: a weight is negative"),
        ):
            if not holds:
                raise BadRigError(text)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter by name, as JSON can hold it."""
        return {row.name: getattr(self, row.name) for row in TABLE}

    def new_brain(self) -> brains.Brain:
        """The toy's brain, at its restart."""
        models: Mapping[str, Callable[[], brains.Model]] = {
            "iid": lambda: brains.iid(self.p_fire),
            "hazard": lambda: brains.hazard(self.hazard),
            "sequence": lambda: brains.sequence(self.sequence, self.sequence_length),
        }
        return brains.Brain(models[self.brain](), self.run_ms)


TABLE: tuple[Row, ...] = tuple(Row(name=each.name, **each.metadata) for each in fields(RollerParameters))
"""The table, in the order of the fields."""

_BY_NAME = {row.name: row for row in TABLE}

OTHERS = ("seed", "elf", "bootloader", "tick0")
"""What a URL can say beside the table."""


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


@dataclass(frozen=True, slots=True)
class TwinUrl:
    """What a twin's URL says. `seed`, `elf`, `bootloader` and `tick0` are None where it does not say.

    `tick0` is what the firmware's clock shows from its first BOOT on, but for the low 16 bits, which are the timer's own.
    """

    launcher: str
    seed: int | None
    elf: Path | None
    parameters: RollerParameters
    bootloader: str | None = None
    tick0: int | None = None


def parse_url(url: str) -> TwinUrl:
    """Read `twin:roller?seed=7&brain=sequence&jam=0.01&beam=blind&elf=PATH`.

    Raises `BadRigError` with one line that names what is wrong and what would be right.
    """
    scheme, _, rest = url.partition(":")
    launcher, _, query = rest.partition("?")
    if scheme.startswith("faulty+"):
        raise BadRigError(f"{url!r}: faults belong to the link, not to the twin; put faulty+ before what --rig opens")
    if scheme != "twin" or launcher != "roller":
        raise BadRigError(f"{url!r} is no twin: this version has twin:roller")
    values: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        name, equals, text = part.partition("=")
        if name in values:
            raise BadRigError(f"{name} is given twice in {url!r}")
        if name not in _BY_NAME and name not in OTHERS:
            known = [*_BY_NAME, *OTHERS]
            raise BadRigError(f"twin:roller has no parameter {name!r}{hint(name, known) or '; launchrig twin --list shows all'}")
        if not equals or not text:
            raise BadRigError(f"{name} has no value in {url!r}; write {name}=VALUE")
        values[name] = _value(name, unquote(text))
    seed, elf, boot, tick0 = (values.pop(name, None) for name in OTHERS)
    return TwinUrl(launcher, seed, Path(elf) if elf else None, RollerParameters(**values), boot, tick0)


def _value(name: str, text: str) -> Any:
    if name == "elf":
        return text
    if name == "bootloader":
        if text not in bootloader.CHOICES:
            raise BadRigError(f"bootloader: {text!r} is none of {', '.join(bootloader.CHOICES)}")
        return text
    if name == "seed":
        return read_seed(name, text)
    if name == "tick0":
        return read_tick(name, text)
    return read(_BY_NAME[name], text)


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
