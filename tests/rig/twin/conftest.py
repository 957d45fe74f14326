# SPDX-License-Identifier: Apache-2.0
"""A small board of the twin's own, so that these tests need no project firmware."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.twin.avr import Avr


@pytest.fixture(scope="session")
def echo_elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    elf = tmp_path_factory.mktemp("echo") / "echo.elf"
    source = Path(__file__).with_name("echo.c")
    subprocess.run(["avr-gcc", "-Os", "-mmcu=atmega328p", "-DF_CPU=16000000UL", "-o", elf, source], check=True)
    return elf


@pytest.fixture
def echo(echo_elf: Path) -> Iterator[Avr]:
    with Avr(echo_elf) as avr:
        yield avr
