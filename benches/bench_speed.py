# SPDX-License-Identifier: Apache-2.0
"""How fast the whole chain runs in virtual time: firmware, plant, link, host and durable commit, a trial every 3 s.

Each figure stands in `extra_info`: times real time, the split of wall time, and the budget of `docs/twin.md`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.campaigns import run, twin_and_store
from rig.twin.avr import Avr
from rig.twin.bench import TwinBench

TRIALS = 400
PLANT_CALLS = ("output", "open_lid", "close_lid", "take_out", "load", "clear_mouth", "clean", "start")
STORE_CALLS = ("add_trial", "add_event", "add_fill", "close_fill")


class Stopwatch:
    """Adds up the wall time spent in some methods of an object."""

    def __init__(self, target: object, names: tuple[str, ...]) -> None:
        self.seconds = 0.0
        for name in names:
            setattr(target, name, self._timed(getattr(target, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - begun

        return timed


@pytest.mark.parametrize(("launcher", "drive"), [("roller", "button"), ("roller", "direct"), ("blast", "button")])
def test_times_real_time(benchmark: BenchmarkFixture, launcher: str, drive: str) -> None:
    found: dict[str, float] = {}

    def campaign() -> None:
        with twin_and_store(f"twin:{launcher}?seed=3") as (rig, store):
            bench: TwinBench = rig.link.bench  # type: ignore[attr-defined]
            avr: Avr = bench.avr
            plant, commits, exchanges = (
                Stopwatch(bench.plant, PLANT_CALLS),
                Stopwatch(store, STORE_CALLS),
                Stopwatch(avr, ("run",)),
            )
            begun = time.perf_counter()
            run(rig, store, TRIALS, drive=drive)
            wall_s = time.perf_counter() - begun
            virtual_s, stats = bench.clock.now(), avr.stats()
            cpu = psutil.Process(avr.pid).cpu_times()
            found.update(
                times_real_time=virtual_s / wall_s,
                wall_ms_per_trial=wall_s / TRIALS * 1e3,
                avr_ms_per_trial=exchanges.seconds / TRIALS * 1e3,
                avr_cpu_ms_per_trial=(cpu.user + cpu.system) / TRIALS * 1e3,
                plant_ms_per_trial=plant.seconds / TRIALS * 1e3,
                store_ms_per_trial=commits.seconds / TRIALS * 1e3,
                link_and_host_ms_per_trial=(wall_s - exchanges.seconds - plant.seconds - commits.seconds) / TRIALS * 1e3,
                awake_cycles_per_ms=stats.awake / (virtual_s * 1000),
                exchanges_per_trial=stats.exchanges / TRIALS,
            )

    benchmark.pedantic(campaign, rounds=3, warmup_rounds=0)
    benchmark.extra_info.update({name: round(value, 2) for name, value in found.items()})
    print(f"\n{launcher}, {drive}: " + ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
