# SPDX-License-Identifier: Apache-2.0
"""Durations as people type and read them."""

from __future__ import annotations

import pytest

from controller.durations import parse_s, show


@pytest.mark.parametrize(("text", "seconds"), [("3s", 3), ("500ms", 0.5), ("2min", 120), ("1.5 h", 5400), ("7", 7)])
def test_durations_are_read_with_their_units(text: str, seconds: float) -> None:
    assert parse_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "-3s", "3 parsecs", "nan", "inf", "1e9s", "3s4", "9" * 400 + "h"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|too long"):
        parse_s(text)


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")])
def test_durations_are_shown_for_a_person(seconds: float, text: str) -> None:
    assert show(seconds) == text
