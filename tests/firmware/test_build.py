# SPDX-License-Identifier: Apache-2.0
"""The build: one for twin and board, small enough, incremental, and the same from every directory."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from intelhex import IntelHex

from rig.wire.messages import Boot
from tests.firmware.board import ELF, FIRMWARE, Board

pytestmark = pytest.mark.xdist_group("build")


def image(hexfile: Path) -> bytes:
    """The flash image from address 0 on; a gap in it would be an error of the build."""
    loaded = IntelHex(str(hexfile))
    (segment,) = loaded.segments()
    assert segment[0] == 0
    return bytes(loaded.tobinarray())


def make(where: Path, *arguments: str) -> str:
    ran = subprocess.run(["make", "-C", str(where), *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sketch, copied to a directory with another path, and built there."""
    where = tmp_path_factory.mktemp("another place") / "firmware_arduino"
    shutil.copytree(FIRMWARE, where, ignore=shutil.ignore_patterns("build", "__pycache__"))
    make(where)
    return where


def test_the_image_does_not_depend_on_where_it_is_built(copy: Path) -> None:
    assert image(copy / "build" / f"{ELF.stem}.hex") == image(ELF.with_suffix(".hex"))


def test_a_second_make_builds_nothing(copy: Path) -> None:
    elf = copy / "build" / ELF.name
    before = elf.stat().st_mtime_ns
    make(copy)
    assert elf.stat().st_mtime_ns == before


def test_make_says_one_line_about_the_size(copy: Path) -> None:
    shutil.rmtree(copy / "build")
    said = [line for line in make(copy).splitlines() if not line.startswith("make")]
    assert len(said) == 1
    assert re.fullmatch(r"flash \d+ of 20480 bytes, static RAM \d+ of 1228 bytes", said[0])


def test_the_size_gate_closes(copy: Path) -> None:
    (copy / "build" / "size.ok").unlink()
    ran = subprocess.run(["make", "-C", str(copy), "FLASH_MAX=1000"], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "firmware too large" in ran.stderr


def test_the_board_names_its_own_image() -> None:
    with Board() as board:
        boot = board.wait(Boot)
    assert boot.build_id == zlib.crc32(image(ELF.with_suffix(".hex")))


def test_the_core_includes_no_header_of_avr_or_arduino() -> None:
    for source in sorted((FIRMWARE / "src" / "core").iterdir()):
        included = re.findall(r'#include [<"]([^>"]+)[>"]', source.read_text(encoding="utf-8"))
        assert all("/" not in name and name != "Arduino.h" for name in included), source.name


def test_the_image_holds_no_heap_no_floating_point_and_no_serial_class() -> None:
    names = subprocess.run(["avr-nm", "-C", str(ELF)], capture_output=True, text=True, check=True).stdout
    for unwanted in ("malloc", "operator new", "__mulsf3", "__divsf3", "HardwareSerial", "String::"):
        assert unwanted not in names


def test_the_watchdog_is_stopped_before_anything_else() -> None:
    listing = subprocess.run(["avr-objdump", "-d", str(ELF)], capture_output=True, text=True, check=True).stdout
    early = listing.index("<early>:")
    assert early < listing.index("<__do_clear_bss>:")
    # WDTCSR at 0x60, before the first jump: no loop may run with the watchdog of the last life still counting.
    body = listing[early:].partition("rjmp")[0]
    assert re.search(r"sts\s+0x0060", body)


def test_interrupts_call_nothing() -> None:
    listing = subprocess.run(["avr-objdump", "-d", str(ELF)], capture_output=True, text=True, check=True).stdout
    routines = re.findall(r"<(__vector_\d+)>:\n(.*?)\n\n", listing, re.DOTALL)
    ours = [body for name, body in routines if name != "__vector_16"]  # 16 is the Arduino core's millis(), never enabled
    assert len(ours) >= 9
    assert not any(re.search(r"\b(r?call|icall)\b", body) for body in ours)
