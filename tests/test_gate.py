# SPDX-License-Identifier: Apache-2.0
"""The gate over all tests: that it sees what AVRs leave, and shuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rig.firmware import packaged
from rig.twin.avr import STATS_DIRECTORY, VECTORS, Avr
from tests.firmware.board import MS
from tests.gate import figures, read_stats


def row(**changes: Any) -> dict[str, Any]:
    """Figures that are all within their limits."""
    return {"longest_off": 128, "isr_longest": [100] * VECTORS, "min_sp": 0x8FF} | changes


def vectors(**longest: int) -> list[int]:
    return [longest.get(f"v{vector}", 0) for vector in range(VECTORS)]


def test_an_avr_leaves_what_it_took_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATS_DIRECTORY, str(tmp_path))
    for _ in range(2):
        with Avr(packaged("elf")) as avr:
            avr.run(400 * MS)
            took = avr.stats()
    left = read_stats(tmp_path)
    assert len(left) == 2
    assert left[1]["cycles"] == took.cycles
    assert left[1]["min_sp"] == took.min_sp
    assert took.longest_off > 0
    assert all(figure.holds for figure in figures(left))


def test_an_avr_whose_flash_was_overwritten_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATS_DIRECTORY, str(tmp_path))
    with Avr(packaged("elf")) as avr:
        avr.poke_flash(0, bytes(1024))
    assert read_stats(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "beyond"),
    [
        ({}, 0),
        ({"longest_off": 129}, 1),
        ({"isr_longest": vectors(v10=192, v14=32_000, v4=1600)}, 0),
        ({"isr_longest": vectors(v10=193)}, 1),
        ({"isr_longest": vectors(v14=32_001)}, 1),
        ({"isr_longest": vectors(v3=1601)}, 1),
        ({"min_sp": 0x500}, 1),
    ],
)
def test_the_worst_of_all_is_judged(changes: dict[str, Any], beyond: int) -> None:
    assert sum(not figure.holds for figure in figures([row(), row(**changes), row()])) == beyond
