# SPDX-License-Identifier: Apache-2.0
"""The bootloaders of real boards, as the Arduino core brings them: with one a twin can be flashed, as a board can.

They are Arduino's own files, of which none is shipped here.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from intelhex import HexReaderError, IntelHex

from rig.errors import BadRigError
from rig.firmware import FLASH_BYTES

HOME = Path("/usr/share/arduino/hardware/arduino/avr/bootloaders")
NONE = "none"
FILES = {
    "optiboot": "optiboot/optiboot_atmega328.hex",  # of an Uno: 115200 bit/s
    "atmegaboot": "atmega/ATmegaBOOT_168_atmega328.hex",  # of a Duemilanove or an older Nano: 57600 bit/s
}
CHOICES = (*FILES, NONE)
SECTIONS = (0x7E00, 0x7C00, 0x7800, 0x7000)
"""Where the boot section can begin: the four settings of the fuse, smallest section first."""

MEND = "apt-get install -y arduino-core-avr"


def installed(name: str) -> bool:
    """Whether the bootloader `name` is on this machine."""
    return name in FILES and (HOME / FILES[name]).is_file()


def load(name: str) -> tuple[int, bytes] | None:
    """Where the bootloader `name` begins in flash, and its code; None for `none`.

    Debian's build of Optiboot has 532 bytes where an Uno's fuse leaves it 512: its end would lie behind the flash. All its
    jumps are relative, so it is put where the next larger section begins, as with that fuse set.
    Raises `BadRigError` when the file is not on this machine or is no bootloader.
    """
    if name == NONE:
        return None
    path = HOME / FILES[name]
    try:
        image = _code(path.read_text(encoding="ascii"))
    except FileNotFoundError as error:
        raise BadRigError(f"bootloader={name}: {path} is not installed; run: {MEND}") from error
    except (OSError, ValueError, HexReaderError) as error:
        raise BadRigError(f"bootloader={name}: {path}: cannot be read ({error}); run: {MEND}") from error
    start, code = image.minaddr(), image.tobinstr()
    fitting = [each for each in SECTIONS if each <= start and each + len(code) <= FLASH_BYTES]
    if start not in SECTIONS or not fitting:
        raise BadRigError(f"bootloader={name}: {path} holds no bootloader of an ATmega328P; run: {MEND}")
    return fitting[0], code


def _code(text: str) -> IntelHex:
    """The program in a hex file; the version word that Optiboot's file adds at its end gives way where it overlaps."""
    image = IntelHex()
    for line in text.split():
        record = IntelHex()
        record.loadhex(StringIO(line))
        record.start_addr = None
        image.merge(record, overlap="ignore")
    image.padding = 0xFF
    return image
