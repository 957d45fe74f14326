# SPDX-License-Identifier: Apache-2.0
"""The bootloaders of real boards run in the simulator, and what they write is what a chip would keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from intelhex import IntelHex

from rig.errors import BadRigError
from rig.firmware import FLASH_BYTES, flash_image, packaged
from rig.flash import Listener
from rig.open import open_rig
from rig.requests import PressRequest
from rig.twin import bootloader
from rig.twin.avr import CYCLE_HZ, Avr
from rig.twin.rig import make_twin
from tests.twins import TAME, launcher_on

MS = CYCLE_HZ // 1000
OK = b"\x14\x10"
SPIN = bytes.fromhex("ffcf")  # rjmp to itself


@pytest.fixture(params=["optiboot", "atmegaboot"])
def board(request: pytest.FixtureRequest) -> Iterator[Avr]:
    """A board with this bootloader, reset from outside a moment ago."""
    found = bootloader.load(request.param)
    assert found is not None
    with Avr(packaged("elf")) as avr:
        avr.boot_from(*found)
        avr.run(MS)
        avr.reset()
        hear(avr, 400)
        yield avr


def hear(avr: Avr, ms: int, enough: int = 1 << 30) -> bytes:
    """What the board says within `ms` of virtual time, or until that is `enough` bytes."""
    said, until = b"", avr.cycle + ms * MS
    while avr.cycle < until and len(said) < enough:
        step = avr.run(min(until, avr.cycle + MS))
        assert not step.unmodelled
        said += step.tx
    return said


def ask(avr: Avr, words: bytes, answer: int = 0) -> bytes:
    """Say `words` in the bootloader's language; the `answer` bytes between its two marks."""
    avr.write(words + b" ")
    said = hear(avr, 200, answer + 2)
    assert said[:1] + said[answer + 1 :] == OK, said
    return said[1 : answer + 1]


def write_page(avr: Avr, address: int, data: bytes) -> None:
    ask(avr, b"U" + (address // 2).to_bytes(2, "little"))
    ask(avr, b"d" + len(data).to_bytes(2, "big") + b"F" + data)


def read_page(avr: Avr, address: int, size: int) -> bytes:
    ask(avr, b"U" + (address // 2).to_bytes(2, "little"))
    return ask(avr, b"t" + size.to_bytes(2, "big") + b"F", size)


def test_it_answers_and_knows_its_part(board: Avr) -> None:
    assert ask(board, b"0") == b""
    assert ask(board, b"u", 3) == bytes.fromhex("1e950f")


def test_a_page_is_written_and_only_that_page(board: Avr) -> None:
    image = flash_image(packaged("elf"))
    page = bytes((7 * each) & 0xFF for each in range(128))
    ask(board, b"0")
    write_page(board, 0x1000, page)
    assert read_page(board, 0x0F80, 128) == image[0x0F80:0x1000]
    assert read_page(board, 0x1000, 128) == page
    assert read_page(board, 0x1080, 128) == image[0x1080:0x1100]


def test_its_own_section_cannot_be_written(board: Avr) -> None:
    ask(board, b"0")
    before = read_page(board, 0x7F00, 128)
    write_page(board, 0x7F00, bytes(128))
    assert read_page(board, 0x7F00, 128) == before != bytes(128)


def test_the_firmware_starts_by_itself(board: Avr) -> None:
    listener = Listener()
    listener.feed(hear(board, 4000))
    assert listener.heard.ours is not None


def test_behind_optiboot_the_firmware_does_not_know_why_it_was_reset() -> None:
    found = bootloader.load("optiboot")
    assert found is not None
    with Avr(packaged("elf")) as avr:
        avr.boot_from(*found)
        avr.reset()
        listener = Listener()
        listener.feed(hear(avr, 4000))
    assert listener.heard.ours is not None
    assert listener.heard.ours.reset_cause == 0


def test_optiboot_starts_the_firmware_at_once_when_power_comes() -> None:
    found = bootloader.load("optiboot")
    assert found is not None
    times = []
    for from_bootloader in (True, False):
        with Avr(packaged("elf")) as avr:
            if from_bootloader:
                avr.boot_from(*found)
            times.append(len(hear(avr, 3000, 1)) and avr.cycle)
    assert abs(times[0] - times[1]) <= 2 * MS


def test_a_page_takes_its_time() -> None:
    """Optiboot answers a page only when it is erased and written: 4.1 ms each, beside the line's time."""
    found = bootloader.load("optiboot")
    assert found is not None
    with Avr(packaged("elf")) as avr:
        avr.boot_from(*found)
        avr.reset()
        hear(avr, 400)
        ask(avr, b"0")
        byte_ms = avr.line().byte_cycles / MS
        ask(avr, b"U\x00\x08")
        before = avr.cycle
        ask(avr, b"d\x00\x80F" + bytes(128))
        assert 135 * byte_ms + 4.1 <= (avr.cycle - before) / MS <= 135 * byte_ms + 2 * 4.1 + 2


def test_an_application_cannot_write_the_flash() -> None:
    # r30 = 0, r31 = 2 (page 0x200); SPMCSR = erase; spm; rjmp to itself
    program = bytes.fromhex("e0e0f2e083e087bfe895ffcf")
    with Avr(packaged("elf")) as avr:
        avr.poke_flash(0, program)
        found = bootloader.load("optiboot")
        assert found is not None
        avr.boot_from(*found)
        avr.run(20 * MS)
        avr.reset()
        hear(avr, 400)
        ask(avr, b"0")
        assert read_page(avr, 0x200, 128) == flash_image(packaged("elf"))[0x200:0x280]


def test_the_line_tells_its_rate_and_what_is_on_it() -> None:
    with Avr(packaged("elf")) as avr:
        assert avr.line().byte_cycles == 0, "nothing has run"
        hear(avr, 50)
        assert avr.line().byte_cycles == 1360  # 115200, as near as 16 MHz come
        avr.write(bytes(5))
        avr.run(avr.cycle + 2 * 1360 + 10)
        assert avr.line().waiting == 3


def test_every_bootloader_fits_its_section() -> None:
    for name in bootloader.FILES:
        found = bootloader.load(name)
        assert found is not None
        start, code = found
        assert start in bootloader.SECTIONS
        assert start + len(code) <= FLASH_BYTES


@pytest.mark.parametrize(("size", "start"), [(512, 0x7E00), (513, 0x7C00), (1025, 0x7800)])
def test_one_that_is_too_long_for_its_fuse_gets_the_next_section(
    size: int, start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, monkeypatch, 0x7E00, bytes(size))
    assert bootloader.load("optiboot") == (start, bytes(size))


def test_a_file_that_is_no_bootloader_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, monkeypatch, 0, SPIN)
    with pytest.raises(BadRigError, match="holds no bootloader"):
        bootloader.load("optiboot")
    path.write_text(":zz\n", encoding="ascii")
    with pytest.raises(BadRigError, match="cannot be read"):
        bootloader.load("optiboot")


def test_one_that_is_not_installed_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootloader, "HOME", tmp_path)
    assert not bootloader.installed("optiboot")
    with pytest.raises(BadRigError, match="apt-get install -y arduino-core-avr"):
        make_twin("twin:roller?bootloader=optiboot")


def test_the_url_chooses_and_lockstep_has_none() -> None:
    with make_twin("twin:roller?seed=1").bench.avr as avr:
        avr.reset()
        plain = len(hear(avr, 3000, 1)) and avr.cycle
    with make_twin("twin:roller?seed=1&bootloader=optiboot").bench.avr as avr:
        avr.reset()
        booted = len(hear(avr, 4000, 1)) and avr.cycle
    assert booted - plain > 500 * MS, "the bootloader listens before the firmware starts"
    with pytest.raises(BadRigError, match="none of optiboot, atmegaboot, none"):
        make_twin("twin:roller?bootloader=grub")


def put(where: Path, monkeypatch: pytest.MonkeyPatch, start: int, code: bytes) -> Path:
    monkeypatch.setattr(bootloader, "HOME", where)
    path = where / bootloader.FILES["optiboot"]
    path.parent.mkdir()
    image = IntelHex()
    image.puts(start, code)
    image.write_hex_file(str(path))
    return path


@pytest.mark.parametrize("name", ["optiboot", "atmegaboot"])
def test_presses_are_what_they_are_without_a_bootloader_whatever_it_has_left_behind(name: str) -> None:
    def pressed(url: str) -> list[tuple[str, int, int]]:
        rig = open_rig(url)
        try:
            rig.preload(40)
            launcher = launcher_on(rig)
            launcher.prepare()
            records = [launcher.perform(PressRequest(n, n, 0, launcher.tick_now() + CYCLE_HZ, 40)) for n in range(1, 5)]
            return [(record.verdict, record.cleared, record.sticking) for record in records]
        finally:
            rig.close()

    found = pressed(f"{TAME}&bootloader={name}")
    assert found == pressed(f"{TAME}&bootloader=none")
    assert {verdict for verdict, _, _ in found} == {"ok"}
