# SPDX-License-Identifier: Apache-2.0
"""What decides the twin's speed and needs no stopwatch: how long the AVR is awake, and how often the two processes talk."""

from __future__ import annotations

import pytest

from benches.campaigns import run, twin_and_store
from rig.twin.bench import TwinBench

PRESSES = 60


@pytest.mark.parametrize("drive", ["button", "direct"])
def test_a_press_every_3_s_keeps_the_budget(drive: str) -> None:
    with twin_and_store("twin:roller?seed=3") as (rig, store):
        bench: TwinBench = rig.link.bench  # type: ignore[attr-defined]
        run(rig, store, PRESSES, drive=drive)
        stats = bench.avr.stats()
        assert stats.awake / (bench.clock.now() * 1000) <= 110
        assert stats.exchanges / PRESSES <= 30
