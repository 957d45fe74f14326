# SPDX-License-Identifier: Apache-2.0
"""What is written, in which order, and how the outcome is judged. The programming itself is in `tests/system/test_flash.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from intelhex import IntelHex

from rig import avrdude
from rig.avrdude import Outcome
from rig.errors import BadRigError, RigError
from rig.firmware import packaged
from rig.flash import HOLD_STILL, FlashError, flash, flash_command, judge, parts, refuse_foreign
from rig.image import BadImageError, Image, read_image
from rig.links.base import Link
from rig.links.serial import SerialLink
from rig.twin.rehearsal import rehearse
from rig.wire.messages import PROTOCOL_HASH
from tests.images import of_another_protocol

LOG = Path("flash.log")
TALK = """
avrdude OS error: ioctl("TIOCMGET"): Inappropriate ioctl for device
avrdude: AVR device initialized and ready to accept instructions
avrdude: device signature = 0x1e950f (probably m328p)
avrdude: reading input file 0.hex for flash
avrdude: writing 4 bytes flash ...
avrdude: 4 bytes of flash written
avrdude: verifying flash memory against 0.hex
avrdude: 4 bytes of flash verified
avrdude: writing 300 bytes flash ...
avrdude: 300 bytes of flash written
avrdude: 300 bytes of flash verified
""".strip().splitlines()
SIZES = [4, 300]


def outcome(lines: list[str], code: int = 0) -> Outcome:
    made = Outcome(115200)
    for line in lines:
        made.take(line)
    made.code = code
    return made


def verdict(lines: list[str], code: int = 0) -> str:
    with pytest.raises(FlashError) as refused:
        judge("/dev/x", outcome(lines, code), SIZES, LOG)
    assert "\n" not in str(refused.value)
    assert "TIOCM" not in str(refused.value), "the harmless line is not shown"
    return str(refused.value)


def test_the_command_that_others_name() -> None:
    assert flash_command("/dev/ttyACM0") == "launchrig flash --port /dev/ttyACM0"


def test_the_first_page_holds_the_board_still_until_all_else_is_there(tmp_path: Path) -> None:
    data = bytes(each % 251 for each in range(1000))
    files = parts(data, tmp_path)
    flashed = bytearray(b"\xee" * 1000)
    states = []
    for path, size in files:
        image = IntelHex(str(path))
        assert len(image) == size
        for at in image.addresses():
            flashed[at] = image[at]
        states.append(bytes(flashed))
    assert [state[:4] for state in states[:-1]] == [HOLD_STILL, HOLD_STILL]
    assert states[1][128:] == data[128:], "all but the first page"
    assert states[2] == data


def test_an_image_of_one_page_is_written_at_once(tmp_path: Path) -> None:
    ((path, size),) = parts(b"\1\2", tmp_path)
    assert (IntelHex(str(path)).tobinstr(), size) == (b"\1\2", 2)


def test_all_bytes_verified_is_well() -> None:
    judge("/dev/x", outcome(TALK), SIZES, LOG)


def test_an_exit_code_alone_proves_nothing() -> None:
    assert "bootloader is intact" in verdict(TALK[:-1])
    assert "nothing was written" in verdict(TALK[:4])
    assert "no bootloader answers" in verdict([])
    assert "bootloader is intact" in verdict([*TALK[:-1], "avrdude: 299 bytes of flash verified"])


def test_the_words_of_an_exit_code_are_not_lost() -> None:
    said = verdict(TALK[:6], -15)
    assert "signal 15" in said
    assert "launchrig flash --port /dev/x" in said
    assert "flash.log" in said


@pytest.mark.parametrize(
    "line", ["avrdude: device signature = 0x1e9514 (probably m328)", "avrdude: Device signature = 1E 95 14 (probably m328)"]
)
def test_another_chip_is_named(line: str) -> None:
    said = verdict([TALK[1], line, "avrdude error: expected signature for ATmega328P is 1E 95 0F"], 1)
    assert "the chip there is m328 (signature 1e9514)" in said
    assert "nothing was written" in said


def test_a_difference_in_what_was_read_back_is_named() -> None:
    said = verdict([*TALK[:7], "avrdude error: verification mismatch, first at byte 0x0000: 0xff != 0x0c"], 1)
    assert "what was read back differs" in said


def test_a_bootloader_that_falls_silent_later_is_no_missing_bootloader() -> None:
    said = verdict([TALK[1], "avrdude error: unable to read signature data for part ATmega328P, rc=-1"], 1)
    assert "unable to read signature" in said
    assert "the board is as it was" in said


def test_the_packaged_firmware_says_who_it_is_in_the_simulator() -> None:
    image = read_image(packaged("hex"))
    played = rehearse(image.data)
    assert played.baud == 115200
    refuse_foreign(image, played.heard, "")


def test_a_program_that_is_not_ours_is_refused(echoing: Image) -> None:
    played = rehearse(echoing.data)
    with pytest.raises(BadImageError, match="is not the firmware of this launchrig: in the simulator it says nothing; nothing was"):
        refuse_foreign(echoing, played.heard, "take another")


def test_firmware_of_another_protocol_is_refused_with_both_named() -> None:
    altered = Image(Path("other.hex"), of_another_protocol(read_image(packaged("hex")).data))
    played = rehearse(altered.data)
    with pytest.raises(BadImageError, match=f"protocol {PROTOCOL_HASH ^ 1:08x}, where this launchrig has {PROTOCOL_HASH:08x}"):
        refuse_foreign(altered, played.heard, "")


def test_an_image_with_a_tail_is_no_longer_the_build_that_it_calls_itself() -> None:
    image = read_image(packaged("hex"))
    altered = Image(image.path, image.data + b"\0")
    played = rehearse(altered.data)
    with pytest.raises(BadImageError, match=re.escape(f"calls itself build {image.build_id:08x}")):
        refuse_foreign(altered, played.heard, "")


@pytest.mark.parametrize(
    "port",
    [
        "rfc2217://somewhere:4000",
        "socket://somewhere:4000",
        "twin:roller",
        "faulty+/dev/pts/0",
        "/dev/pts/0?baud=57600",
        "board:",
        "board:3f",
        "-P",
        "",
        "/dev/a\tb",
    ],
)
def test_only_a_serial_port_of_this_machine_can_be_flashed(port: str, echoing: Image) -> None:
    with pytest.raises(BadRigError, match=re.escape(f"{port!r}: a board is flashed over a serial port of this machine, such as")):
        flash(port, echoing, 115200, print, never, LOG)


def test_without_avrdude_the_command_that_installs_it_is_named(echoing: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(avrdude.AvrdudeMissingError, match="apt-get install -y avrdude"):
        flash("/dev/ttyACM0", echoing, 115200, print, never, LOG)


def test_a_log_that_cannot_be_written_is_not_named_later() -> None:
    with pytest.raises(FlashError) as refused:
        judge("/dev/x", outcome([]), SIZES, None)
    assert str(refused.value).endswith("launchrig flash --port /dev/x")


def test_a_log_on_a_full_disk_does_not_end_avrdude(tmp_path: Path) -> None:
    program = tmp_path / "avrdude"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in TALK), encoding="utf-8")
    program.chmod(0o755)
    met = Outcome(115200)
    words = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115  # to close it fails
    avrdude.run(avrdude.command(str(program), "COM3", 115200, []), met, words)
    with pytest.raises(OSError, match="No space left"):
        words.close()
    judge("COM3", met, SIZES, LOG)


def test_what_is_wrong_with_the_port_is_said_before_anything_is_written(echoing: Image, tmp_path: Path) -> None:
    log = tmp_path / "flash.log"
    with pytest.raises(RigError, match="no such port"):
        flash(str(tmp_path / "ttyACM7"), echoing, 115200, print, SerialLink, log)
    assert not log.exists()


def never(port: str, baud: int) -> Link:
    raise AssertionError("the port must not be touched")


@pytest.fixture
def echoing(tmp_path: Path) -> Image:
    return Image(tmp_path / "spin.hex", bytes.fromhex("ffcf"))
