# SPDX-License-Identifier: Apache-2.0
"""Frames: `00`, COBS(length, type, session, seq, ack, payload, CRC), `00`; see `docs/protocol.md`.

Delimiters stand on both sides, so that one damaged byte costs one frame.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass

from cobs import cobs

from rig.wire.messages import CRC_INIT, CRC_XOROUT, MAX_PAYLOAD

HEADER = 5
OVERHEAD = HEADER + 2
MAX_ENCODED = OVERHEAD + MAX_PAYLOAD + 1  # one COBS code byte


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame's content; `type` still carries the direction bit."""

    type: int
    session: int
    seq: int
    ack: int
    payload: bytes


def crc16(data: bytes) -> int:
    """CRC-16/GENIBUS: CCITT polynomial, initial value and final XOR 0xFFFF; `b"123456789"` gives 0xD64E."""
    return binascii.crc_hqx(data, CRC_INIT) ^ CRC_XOROUT


def encode(frame: Frame) -> bytes:
    """The bytes of `frame` on the wire, delimiters included."""
    body = bytes((OVERHEAD + len(frame.payload), frame.type, frame.session, frame.seq, frame.ack)) + frame.payload
    encoded: bytes = cobs.encode(body + crc16(body).to_bytes(2, "little"))
    return b"\0" + encoded + b"\0"


def decode(encoded: bytes) -> Frame | None:
    """The frame between two delimiters, or None when length or check do not hold."""
    try:
        body = cobs.decode(encoded)
    except cobs.DecodeError:
        return None
    if len(body) < OVERHEAD or body[0] != len(body) or crc16(body[:-2]) != int.from_bytes(body[-2:], "little"):
        return None
    return Frame(body[1], body[2], body[3], body[4], body[HEADER:-2])


class Framer:
    """Cuts a byte stream into frames; what is left of a frame is kept for the next call."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False
        self.bad = 0

    def feed(self, data: bytes) -> list[Frame | None]:
        """Frames completed by `data`, in order; None stands for one that was damaged (counted in `bad`)."""
        found: list[Frame | None] = []
        pieces = (self._rest + data).split(b"\0")
        self._rest = pieces.pop()
        for piece in pieces:
            if self._skipping:  # the end of something too long, already counted
                self._skipping = False
            elif piece:
                found.append(decode(piece))
        if len(self._rest) > MAX_ENCODED:
            self._rest = b""
            if not self._skipping:
                found.append(None)
            self._skipping = True
        self.bad += found.count(None)
        return found
