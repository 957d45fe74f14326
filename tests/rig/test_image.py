# SPDX-License-Identifier: Apache-2.0
"""A hex file is looked at before anything is written, and what is wrong with it is named with its place."""

from __future__ import annotations

import re
import zlib
from io import StringIO
from pathlib import Path

import pytest
from intelhex import IntelHex

from rig.firmware import flash_image, packaged
from rig.image import BadImageError, read_image

END = ":00000001FF\n"


def hexed(*pieces: tuple[int, bytes]) -> str:
    image = IntelHex()
    for start, data in pieces:
        image.puts(start, data)
    text = StringIO()
    image.write_hex_file(text)
    return text.getvalue()


GOOD = hexed((0, bytes(300)))


def test_the_packaged_hex_and_elf_are_one_image() -> None:
    image = read_image(packaged("hex"))
    assert image.data == flash_image(packaged("elf"))
    assert image.build_id == zlib.crc32(image.data)


def test_gaps_read_as_erased_flash(tmp_path: Path) -> None:
    path = tmp_path / "gap.hex"
    path.write_text(hexed((0, b"\1\2"), (6, b"\3")), encoding="ascii")
    assert read_image(path).data == b"\1\2\xff\xff\xff\xff\3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("hello\nworld\n", "is no Intel hex file: .* line 1"),
        (GOOD.replace(":10001000", ":10001100"), "is no Intel hex file: .* line 2"),
        (GOOD[:-40], "is no Intel hex file: .* line 19|line 18 is not the end of a hex file"),
        (GOOD.removesuffix(END), "line 19 is not the end of a hex file"),
        (END, "holds no data"),
        (hexed((0, bytes(4)), (0x7DFF, b"\0\0")), "reaches up to address 0x7e00, into the bootloader, which begins at 0x7e00"),
        (hexed((0, bytes(4)), (0x7E00, bytes(512))), "reaches up to address 0x7fff, into the bootloader"),
        (hexed((0, bytes(4)), (0x7FFF, b"\0\0")), "up to address 0x8000, .* too big, or for another part"),
        (hexed((0x08000000, bytes(8))), "up to address 0x8000007, .* another part"),
        (hexed((0x2000, bytes(8))), "begins at address 0x2000 and not at 0"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.hex"
    path.write_text(text, encoding="ascii")
    with pytest.raises(BadImageError) as refused:
        read_image(path)
    assert re.search(said, str(refused.value))
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


def test_the_last_byte_below_the_bootloader_is_the_applications(tmp_path: Path) -> None:
    path = tmp_path / "full.hex"
    path.write_text(hexed((0, bytes(0x7E00))), encoding="ascii")
    assert len(read_image(path).data) == 0x7E00


def test_an_elf_a_folder_and_a_file_that_is_not_there_are_no_hex(tmp_path: Path) -> None:
    with pytest.raises(BadImageError, match="is no Intel hex file: line 1 is not text"):
        read_image(packaged("elf"))
    with pytest.raises(BadImageError, match="cannot be read"):
        read_image(tmp_path)
    with pytest.raises(BadImageError, match="cannot be read"):
        read_image(tmp_path / "nothing.hex")
