# SPDX-License-Identifier: Apache-2.0
"""Weights are whole, sum exactly, and are as near to their shares as whole numbers can be."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from controller.calibrate.categorical import largest_remainder


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any), st.sampled_from([1, 7, 10**6, 2**32]))
def test_weights_sum_exactly_and_are_off_by_less_than_one(shares: list[int], total: int) -> None:
    parts = largest_remainder(shares, total)
    assert sum(parts) == total
    for part, one in zip(parts, shares, strict=True):
        assert abs(part - Fraction(one * total, sum(shares))) < 1


def test_largest_remainders_by_hand() -> None:
    assert largest_remainder([1, 1, 1], 4) == (2, 1, 1)
    assert largest_remainder([47, 16, 15, 12, 6, 3], 10) == (5, 2, 1, 1, 1, 0)
