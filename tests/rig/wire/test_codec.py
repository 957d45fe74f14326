# SPDX-License-Identifier: Apache-2.0
"""One parametrised test polices every message of `protocol.toml`."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.wire import codec, messages
from rig.wire.messages import MAX_PAYLOAD, MESSAGES, Message

ROOT = Path(__file__).resolve().parents[3]
LIMITS = {"u8": 8, "u16": 16, "u32": 32, "u48": 48}


def values(kind: str, room: int) -> st.SearchStrategy[object]:
    if kind in LIMITS:
        return st.integers(0, 2 ** LIMITS[kind] - 1)
    if kind == "bytes[16]":
        return st.binary(min_size=16, max_size=16)
    if kind == "bytes":
        return st.binary(max_size=room)
    bits = int(re.fullmatch(r"u(\d+)\[\]", kind).group(1))
    return st.lists(st.integers(0, 2**bits - 1), max_size=room * 8 // bits).map(tuple)


def instances(kind: type[Message]) -> st.SearchStrategy[Message]:
    size = sum({"u8": 1, "u16": 2, "u32": 4, "u48": 6, "bytes[16]": 16}.get(name, 0) for name in kind.LAYOUT)
    return st.builds(kind, *(values(name, MAX_PAYLOAD - size) for name in kind.LAYOUT))


@pytest.mark.parametrize("kind", MESSAGES.values(), ids=lambda kind: kind.__name__)
def test_every_message_survives_the_round_trip(kind: type[Message]) -> None:
    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(instances(kind))
    def check(message: Message) -> None:
        payload = codec.pack(message)
        assert len(payload) <= MAX_PAYLOAD
        assert codec.unpack(kind, payload) == message

    check()


@pytest.mark.parametrize("kind", MESSAGES.values(), ids=lambda kind: kind.__name__)
def test_every_message_refuses_a_payload_that_is_one_byte_off(kind: type[Message]) -> None:
    zero = kind(*({"bytes": b"", "bytes[16]": bytes(16), "u24[]": (), "u32[]": ()}.get(name, 0) for name in kind.LAYOUT))
    payload = codec.pack(zero)
    if payload:
        with pytest.raises(codec.MalformedPayloadError, match=kind.__name__):
            codec.unpack(kind, payload[:-1])
    if "bytes" not in kind.LAYOUT:
        with pytest.raises(codec.MalformedPayloadError, match=kind.__name__):
            codec.unpack(kind, payload + b"\1")


def test_a_value_too_large_for_its_field_is_refused() -> None:
    with pytest.raises(codec.MalformedPayloadError, match="Get"):
        codec.pack(messages.Get(256))
    with pytest.raises(codec.MalformedPayloadError, match="at most 48"):
        codec.pack(messages.Echo(bytes(49)))


def test_little_endian_offsets_are_those_of_the_page() -> None:
    press = messages.Press(
        trial=0x01020304, burst=0x05060708, index=9, drive=1, not_before=0x0A0B0C0D0E0F, hopper=83, run_ms=500, duty=255
    )
    assert codec.pack(press).hex() == "040302010807060509010f0e0d0c0b0a5300f401ff"


def test_the_generated_files_are_not_stale() -> None:
    check = subprocess.run(
        [sys.executable, ROOT / "firmware_arduino/generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout


def test_every_field_of_every_message_is_on_the_page() -> None:
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    for kind in MESSAGES.values():
        assert f"`0x{kind.TYPE:02X}`" in page
        for field in fields(kind):
            assert f"| {field.name} |" in page
