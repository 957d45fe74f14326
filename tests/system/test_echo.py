# SPDX-License-Identifier: Apache-2.0
"""Payload both ways as fast as the window lets it, at two rates (`benches/bench_echo.py` sends a million bytes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.firmware import flash_image, packaged
from tests.system.echoes import built_for, echo


@pytest.fixture(scope="module")
def fast_elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_for(500_000, tmp_path_factory.mktemp("fast"))


def test_the_usual_rate_echoes_everything_in_order_and_sends_nothing_twice() -> None:
    found = echo(20_000)
    assert found.is_same
    assert found.losses == {} and found.rx_overruns == 0
    assert found.baud > 0.5 * 115_200  # the line is at work both ways


def test_a_fast_rate_is_another_build_of_the_same_source_and_loses_nothing_either(fast_elf: Path) -> None:
    ours, fast = flash_image(packaged("elf")), flash_image(fast_elf)
    assert len(ours) == len(fast) and ours != fast
    found = echo(20_000, fast_elf)
    assert found.is_same
    assert found.baud > 115_200
    assert found.rx_overruns == 0
    assert set(found.losses) <= {"gap", "host_resent"}  # an echo that found no room in the board's ring is asked for again
