# SPDX-License-Identifier: Apache-2.0
"""Tiny firmwares, one for a row of docs/twin.md's table, and two ways to run them: shimmed, and as simavr comes.

The raw runs pin the simulator's faults: when a library upgrade mends one, its test fails and says so. Where a firmware needs
nothing from outside, the raw run is Debian's own `simavr` program; otherwise it is avrtwin without its shims, `raw=True`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from rig.twin.avr import CYCLE_HZ, Avr

HERE = Path(__file__).parent
COLOUR = re.compile(r"\x1b\[\d*m")
LINE = re.compile(r"(\w+)=(\d+)")


def said(text: str) -> list[tuple[str, int]]:
    return [(name, int(value)) for name, value in LINE.findall(text)]


class Firmware(Protocol):
    def __call__(self, name: str, **defines: int) -> Path: ...


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    """Compiles `name`.c of this directory."""
    where = tmp_path_factory.mktemp("firmware")

    def build(name: str, **defines: int) -> Path:
        elf = where / ("_".join([name, *(f"{key}{value}" for key, value in defines.items())]) + ".elf")
        if not elf.exists():
            options = [f"-D{key}={value}" for key, value in defines.items()]
            command = ["avr-gcc", "-Os", "-std=gnu11", "-Wno-unused-function", "-mmcu=atmega328p", "-DF_CPU=16000000UL"]
            subprocess.run([*command, *options, "-o", str(elf), str(HERE / f"{name}.c")], check=True)
        return elf

    return build


@pytest.fixture
def avr(firmware: Firmware) -> Iterator[Callable[..., Avr]]:
    """Starts a firmware in avrtwin."""
    started: list[Avr] = []

    def start(name: str, *, vcd: Path | None = None, audit: bool = False, raw: bool = False, **defines: int) -> Avr:
        started.append(Avr(firmware(name, **defines), vcd=vcd, audit=audit, raw=raw))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def shimmed(avr: Callable[..., Avr]) -> Callable[[str], list[tuple[str, int]]]:
    """What a firmware says in avrtwin until it ends."""

    def run(name: str) -> list[tuple[str, int]]:
        return said(listen(avr(name), 10))

    return run


@pytest.fixture
def raw(firmware: Firmware) -> Callable[[str], list[tuple[str, int]]]:
    """What a firmware says in simavr as it comes, until it ends."""

    def run(name: str) -> list[tuple[str, int]]:
        command = ["simavr", "-m", "atmega328p", "-f", "16000000", str(firmware(name))]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return said(COLOUR.sub("", result.stdout + result.stderr))

    return run


def listen(avr: Avr, seconds: float) -> str:
    """What the firmware sends in that much virtual time, or until it ends."""
    text = b""
    until = avr.cycle + round(seconds * CYCLE_HZ)
    while avr.cycle < until:
        step = avr.run(until)
        text += step.tx
        if step.crashed:
            break
    return text.decode(errors="replace")
