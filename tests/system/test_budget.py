# SPDX-License-Identifier: Apache-2.0
"""What decides the twin's speed and needs no stopwatch: how long the AVR is awake, and how often the two processes talk."""

from __future__ import annotations

import pytest

from benches.campaigns import run, twin_and_store
from rig.twin.bench import TwinBench

TRIALS = 60


@pytest.mark.parametrize(("launcher", "drive"), [("roller", "button"), ("roller", "direct"), ("blast", "button")])
def test_a_trial_every_3_s_keeps_the_budget(launcher: str, drive: str) -> None:
    with twin_and_store(f"twin:{launcher}?seed=3") as (rig, store):
        bench: TwinBench = rig.link.bench  # type: ignore[attr-defined]
        run(rig, store, TRIALS, drive=drive)
        stats = bench.avr.stats()
        assert stats.awake / (bench.clock.now() * 1000) <= 110
        assert stats.exchanges / TRIALS <= 30
