# SPDX-License-Identifier: Apache-2.0
"""The URL that names a twin and sets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rig.errors import BadRigError
from rig.twin import bootloader
from rig.twin.parameters import Parameters, hint, read, read_seed, read_tick, rows_of
from rig.twin.twins import TWINS, Twin


def _bootloader(name: str, text: str) -> str:
    if text not in bootloader.CHOICES:
        raise BadRigError(f"{name}: {text!r} is none of {', '.join(bootloader.CHOICES)}")
    return text


_OTHERS: Mapping[str, Callable[[str, str], Any]] = {
    "seed": read_seed,
    "elf": lambda name, text: Path(text),
    "bootloader": _bootloader,
    "tick0": read_tick,
}

OTHERS = tuple(_OTHERS)
"""What a URL can say beside the twin's parameters."""

NAMES = frozenset(OTHERS).union(row.name for twin in TWINS.values() for row in rows_of(twin.parameters))
"""All that the URL of any twin can say."""


@dataclass(frozen=True, slots=True)
class TwinUrl:
    """What a twin's URL says. `seed`, `elf`, `bootloader` and `tick0` are None where it does not say.

    `tick0` is what the firmware's clock shows from its first BOOT on, but for the low 16 bits, which are the timer's own.
    """

    launcher: str
    parameters: Parameters
    seed: int | None = None
    elf: Path | None = None
    bootloader: str | None = None
    tick0: int | None = None

    @property
    def twin(self) -> Twin:
        """The twin that it names."""
        return TWINS[self.launcher]


def parse_url(url: str) -> TwinUrl:
    """Read `twin:roller?seed=7&brain=sequence&jam=0.01&beam=blind&elf=PATH`.

    Raises `BadRigError` with one line that names what is wrong and what would be right.
    """
    scheme, _, rest = url.partition(":")
    launcher, _, query = rest.partition("?")
    if scheme.startswith("faulty+"):
        raise BadRigError(f"{url!r}: faults belong to the link, not to the twin; put faulty+ before what --rig opens")
    if scheme != "twin" or launcher not in TWINS:
        known = " and ".join(f"twin:{name}" for name in TWINS)
        raise BadRigError(f"{url!r} is no twin: there are {known}{hint(launcher, list(TWINS))}")
    parameters = TWINS[launcher].parameters
    rows = {row.name: row for row in rows_of(parameters)}
    values: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        name, equals, text = part.partition("=")
        if name in values:
            raise BadRigError(f"{name} is given twice in {url!r}")
        if name not in rows and name not in OTHERS:
            meant = hint(name, [*rows, *OTHERS]) or f"; launchrig twin twin:{launcher} --list shows all"
            raise BadRigError(f"twin:{launcher} has no parameter {name!r}{meant}")
        if not equals or not text:
            raise BadRigError(f"{name} has no value in {url!r}; write {name}=VALUE")
        values[name] = read(rows[name], unquote(text)) if name in rows else _OTHERS[name](name, unquote(text))
    others = {name: values.pop(name) for name in OTHERS if name in values}
    return TwinUrl(launcher, parameters(**values), **others)
