# SPDX-License-Identifier: Apache-2.0
"""Flash images that are not quite what they should be."""

from __future__ import annotations

from rig.wire.messages import PROTOCOL_HASH

SEARCHED = 8  # instructions


def of_another_protocol(image: bytes) -> bytes:
    """`image` with one bit of the protocol hash changed where BOOT is put together: four LDI, a byte of the hash each."""
    words = [int.from_bytes(image[at : at + 2], "little") for at in range(0, len(image) - 1, 2)]
    wanted = list(PROTOCOL_HASH.to_bytes(4, "little"))
    for at, word in enumerate(words):
        loads = [_constant(each) for each in words[at : at + SEARCHED] if each >> 12 == 0xE]
        if word >> 12 == 0xE and loads[: len(wanted)] == wanted:
            return image[: 2 * at] + (word ^ 1).to_bytes(2, "little") + image[2 * at + 2 :]
    raise AssertionError("the protocol hash is not where it is looked for")


def _constant(word: int) -> int:
    return word >> 4 & 0xF0 | word & 0x0F
