# SPDX-License-Identifier: Apache-2.0
"""The firmware that comes with the package: the ELF for the twin, the hex for the board, and the flash image in both.

A wheel carries them; a checkout has them where the sketch was built.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from rig.errors import BadRigError, TwinUnavailableError

NAME = "firmware_arduino.ino"
_HERE = Path(__file__).resolve().parent
PLACES = (_HERE / "firmware", _HERE.parent / "firmware_arduino/build")
FLASH_BYTES = 32_768
_MEND = "elf= names a compiled firmware; ./dev firmware builds the one that belongs here"


def packaged(suffix: str) -> Path:
    """Path of the packaged firmware, `suffix` being `elf` or `hex`. Raises `TwinUnavailableError` when it was not built."""
    for place in PLACES:
        path = place / f"{NAME}.{suffix}"
        if path.is_file():
            return path
    raise TwinUnavailableError(f"{PLACES[-1] / NAME}.{suffix}: not built yet; build it with: ./dev firmware")


@contextmanager
def open_avr_elf(elf: Path) -> Iterator[ELFFile]:
    """The ELF file `elf`, open. Raises `BadRigError` when it cannot be read or is no program for an AVR."""
    try:
        with elf.open("rb") as stream:
            program = ELFFile(stream)
            if program["e_machine"] != "EM_AVR":
                raise BadRigError(f"{elf}: is built for {program['e_machine']}, not for an AVR; {_MEND}")
            yield program
    except (OSError, ValueError) as error:
        raise BadRigError(f"{elf}: cannot be read ({getattr(error, 'strerror', error)}); {_MEND}") from error
    except ELFError as error:
        raise BadRigError(f"{elf}: is no ELF file ({error}); {_MEND}") from error


def flash_image(elf: Path) -> bytes:
    """What `elf` puts into flash from address 0, gaps filled with 0xFF.

    Raises `BadRigError` when the file cannot be read or is no program for an AVR.
    """
    with open_avr_elf(elf) as program:
        parts = [
            (segment["p_paddr"], segment.data())
            for segment in program.iter_segments("PT_LOAD")
            if segment["p_filesz"] and segment["p_paddr"] < FLASH_BYTES
        ]
    if not parts or max(at + len(data) for at, data in parts) > FLASH_BYTES:
        raise BadRigError(f"{elf}: holds no program that fits the flash of an ATmega328P")
    image = bytearray(b"\xff" * max(at + len(data) for at, data in parts))
    for at, data in parts:
        image[at : at + len(data)] = data
    return bytes(image)
