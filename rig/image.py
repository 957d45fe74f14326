# SPDX-License-Identifier: Apache-2.0
"""A flash image from an Intel hex file, looked at before anything is written: whole, for this part, clear of the bootloader."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from intelhex import HexReaderError, IntelHex

from rig.errors import RigError
from rig.firmware import FLASH_BYTES

BOOT_SECTION = 0x7E00  # of an Uno: what lies below is the application's
END_OF_FILE = ":00000001FF"
FOR_PART = "this board has an ATmega328P"


class BadImageError(RigError):
    """A file that is no flash image for this board."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Image:
    """What goes into flash from address 0 on, gaps filled with 0xFF, and the file that it came from."""

    path: Path
    data: bytes

    @property
    def build_id(self) -> int:
        """CRC-32 of the image, which firmware of ours works out over itself and tells in BOOT."""
        return zlib.crc32(self.data)


def read_image(path: Path) -> Image:
    """The image in the Intel hex file `path`. Raises `BadImageError` with one line that says what is wrong with it, and where."""
    try:
        text = path.read_text(encoding="ascii")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadImageError(f"{path}: is no Intel hex file: line {line} is not text") from error
    except OSError as error:
        raise BadImageError(f"{path}: cannot be read ({error.strerror})") from error
    lines = text.rstrip().splitlines()
    if not lines:
        raise BadImageError(f"{path}: is empty")
    image = IntelHex()
    try:
        image.loadhex(StringIO(text))
    except HexReaderError as error:
        raise BadImageError(f"{path}: is no Intel hex file: {error}") from error
    if lines[-1].strip().upper() != END_OF_FILE:
        raise BadImageError(f"{path}: line {len(lines)} is not the end of a hex file ({END_OF_FILE}): the file was cut short")
    if not len(image):
        raise BadImageError(f"{path}: holds no data")
    first, last = image.minaddr(), image.maxaddr()
    if last >= FLASH_BYTES:
        raise BadImageError(
            f"{path}: reaches up to address {last:#06x}, and {FOR_PART}, whose flash ends at {FLASH_BYTES - 1:#06x}: "
            "too big, or for another part"
        )
    if last >= BOOT_SECTION:
        raise BadImageError(
            f"{path}: reaches up to address {last:#06x}, into the bootloader, which begins at {BOOT_SECTION:#06x}; "
            "use the hex without a bootloader"
        )
    if first:
        raise BadImageError(f"{path}: begins at address {first:#06x} and not at 0, where {FOR_PART} starts: no program for it")
    return Image(path, bytes(image.tobinarray(start=0, end=last)))
