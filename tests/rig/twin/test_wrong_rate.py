# SPDX-License-Identifier: Apache-2.0
"""A receiver at the sender's rate hears the bytes; at another rate it hears what a real one would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.twin.wrong_rate import misheard

ALL = bytes(range(256))


@pytest.mark.parametrize("ratio", [0.955, 0.97, 1.0, 1.03, 1.045])
def test_eight_bits_stand_half_a_bit_of_drift(ratio: float) -> None:
    assert misheard(ALL, ratio) == [(byte, False) for byte in ALL]


def test_at_half_the_bit_time_every_bit_is_heard_twice() -> None:
    # 0x35 goes out as 0 1010 1100 1; sampled twice as fast: a start bit, then 0 11 00 11 0 and 0 for the stop bit
    assert misheard(b"\x35", 0.5)[0] == (0b01100110, True)


def test_at_twice_the_bit_time_every_other_bit_is_heard() -> None:
    assert misheard(b"\x00\xff", 2.0) != [(0, False), (255, False)]
    assert misheard(b"\xff", 2.0) == [(255, False)]  # the start bit is the only low one, and the line is high ever after


def test_a_slow_zero_is_a_break() -> None:
    assert misheard(b"\x00", 0.5) == [(0, True)]


@given(st.binary(max_size=40), st.floats(0.05, 20))
def test_whatever_the_rates_it_comes_to_an_end_with_bytes(data: bytes, ratio: float) -> None:
    heard = misheard(data, ratio)
    assert all(0 <= byte <= 255 for byte, _ in heard)
    assert bool(heard) == bool(data)
