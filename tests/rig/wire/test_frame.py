# SPDX-License-Identifier: Apache-2.0
"""Frames: golden vectors, damage, and streams cut anywhere."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.wire.frame import MAX_ENCODED, Frame, Framer, crc16, decode, encode
from rig.wire.messages import CRC_CHECK, MAX_PAYLOAD

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden/frames.json").read_text(encoding="utf-8"))
frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.integers(0, 255),
    st.integers(0, 255),
    st.integers(0, 255),
    st.binary(max_size=MAX_PAYLOAD),
)


def test_the_check_value_is_the_published_one() -> None:
    assert crc16(b"123456789") == CRC_CHECK == 0xD64E


@pytest.mark.parametrize("vector", GOLDEN, ids=lambda vector: vector["name"])
def test_golden_vectors_encode_and_decode(vector: dict) -> None:
    frame = Frame(vector["type"], vector["session"], vector["seq"], vector["ack"], bytes.fromhex(vector["payload"]))
    encoded = bytes.fromhex(vector["frame"])
    assert encode(frame) == encoded
    assert Framer().feed(encoded) == [frame]


@settings(deadline=None, database=None, derandomize=True)
@given(st.lists(frames, max_size=5), st.data())
def test_a_stream_cut_anywhere_gives_the_same_frames(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(encode(frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    framer = Framer()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += framer.feed(stream[start:end])
    assert received == sent


@settings(deadline=None, database=None, derandomize=True)
@given(frames, frames, st.data())
def test_one_damaged_byte_costs_at_most_one_frame(first: Frame, second: Frame, data: st.DataObject) -> None:
    encoded = bytearray(encode(first))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] ^= data.draw(st.integers(1, 255))
    received = Framer().feed(bytes(encoded) + encode(second))
    assert received[-1] == second
    assert [frame for frame in received if frame is not None] in ([second], [first, second])


def test_an_appended_zero_is_not_taken_for_the_same_frame() -> None:
    body = bytes((7, 1, 2, 3, 4))
    check = crc16(body).to_bytes(2, "little")
    from cobs import cobs

    assert decode(cobs.encode(body + check)) == Frame(1, 2, 3, 4, b"")
    assert decode(cobs.encode(body + check + b"\0")) is None


def test_garbage_without_a_delimiter_does_not_grow_and_counts_once() -> None:
    framer = Framer()
    garbage = bytes(random.Random(1).choices(range(1, 256), k=100_000))
    bad = sum(len(framer.feed(garbage[at : at + 100])) for at in range(0, len(garbage), 100))
    assert bad == 1 == framer.bad
    frame = Frame(1, 2, 3, 4, b"after")
    assert framer.feed(b"\0" + encode(frame)) == [frame]
    assert len(framer._rest) <= MAX_ENCODED


def test_random_bytes_are_never_a_frame() -> None:
    framer = Framer()
    accepted = [f for f in framer.feed(random.Random(2).randbytes(1_000_000)) if f is not None]
    assert accepted == []
