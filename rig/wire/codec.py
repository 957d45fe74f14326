# SPDX-License-Identifier: Apache-2.0
"""Messages to payload bytes and back, driven by each message's `LAYOUT`.

Little-endian throughout. The fixed part goes through one `struct`, an open tail (bytes, u24[], u32[]) follows it.
"""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

from rig.wire import messages
from rig.wire.messages import Message

_FIXED = {"u8": "B", "u16": "H", "u32": "I", "u48": "IH", "bytes[16]": "16s"}
_TAIL_SIZE = {"bytes": 1, "u24[]": 3, "u32[]": 4}


class MalformedPayloadError(ValueError):
    """A payload that does not fit its message's layout."""


def _layout(kind: type[Message]) -> tuple[struct.Struct, tuple[int, ...], str, tuple[str, ...]]:
    """Struct of the fixed part, positions of u48 in it, tail type, and the names of all fields."""
    layout = kind.LAYOUT
    tail = layout[-1] if layout and layout[-1] in _TAIL_SIZE else ""
    fixed = layout[:-1] if tail else layout
    wide = tuple(index for index, name in enumerate(fixed) if name == "u48")
    return struct.Struct("<" + "".join(_FIXED[name] for name in fixed)), wide, tail, tuple(field.name for field in fields(kind))  # type: ignore[arg-type]


_LAYOUTS = {kind.TYPE: _layout(kind) for kind in messages.MESSAGES.values()}


def pack(message: Message) -> bytes:
    """The payload of `message`.

    Raises `MalformedPayloadError` when a value does not fit its field or the payload exceeds `MAX_PAYLOAD` bytes.
    """
    packer, wide, tail, names = _LAYOUTS[message.TYPE]
    values = [getattr(message, name) for name in names]
    rest = _pack_tail(tail, values.pop()) if tail else b""
    for index in reversed(wide):
        values[index : index + 1] = (values[index] & 0xFFFFFFFF, values[index] >> 32)
    try:
        payload = packer.pack(*values) + rest
    except struct.error as error:
        raise MalformedPayloadError(f"{type(message).__name__}: {error}") from error
    if len(payload) > messages.MAX_PAYLOAD:
        raise MalformedPayloadError(f"{type(message).__name__}: {len(payload)} bytes, at most {messages.MAX_PAYLOAD} fit")
    return payload


def _pack_tail(tail: str, value: Any) -> bytes:
    if tail == "bytes":
        return bytes(value)
    size = _TAIL_SIZE[tail]
    return b"".join(item.to_bytes(size, "little") for item in value)


def unpack(kind: type[Message], payload: bytes) -> Message:
    """The message of type `kind` in `payload`.

    Raises `MalformedPayloadError` when the length does not fit.
    """
    packer, wide, tail, _ = _LAYOUTS[kind.TYPE]
    size = packer.size
    rest = len(payload) - size
    if rest < 0 or (rest and not tail) or (tail and rest % _TAIL_SIZE[tail]):
        raise MalformedPayloadError(f"{kind.__name__}: {len(payload)} bytes do not fit its layout")
    values: list[Any] = list(packer.unpack_from(payload))
    for index in wide:
        values[index : index + 2] = (values[index] | values[index + 1] << 32,)
    if tail:
        values.append(_unpack_tail(tail, payload[size:]))
    return kind(*values)


def _unpack_tail(tail: str, data: bytes) -> Any:
    if tail == "bytes":
        return data
    size = _TAIL_SIZE[tail]
    return tuple(int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))
