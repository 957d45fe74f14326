# SPDX-License-Identifier: Apache-2.0
"""Campaigns on the twin for benches: no command line, no report, but the real firmware and the real store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controller.campaigns.plan import Wanted, planned
from controller.run import Outcome, conduct
from controller.signals import StopFlag
from controller.store.records import RunData
from controller.store.store import Store
from rig.open import open_rig
from rig.rig import Rig
from rig.wire.messages import Wiring


@contextmanager
def twin_and_store(url: str) -> Iterator[tuple[Rig, Store]]:
    """A twin and a fresh store, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.sqlite") as store:
        rig = open_rig(url)
        try:
            yield rig, store
        finally:
            rig.close()


def run(rig: Rig, store: Store, trials: int, *, pace_s: float = 3.0, drive: str = "button") -> Outcome:
    """One campaign of `trials`, everything else as `launchrig demo` has it for the machine on the bench."""
    wanted = Wanted("demo", trials, pace_s, drive)
    outcome = conduct(
        *(rig, store, lambda launcher, settings: planned(wanted, launcher, settings, rig)),
        kind="demo",
        dut="bench",
        stop=StopFlag(),
        drive=Wiring[drive],
        on_progress=lambda progress: None,
    )
    assert outcome.status == "complete", outcome.cause
    return outcome


def measured_and_true(url: str, trials: int, *, pace_s: float) -> tuple[RunData, dict[str, Any]]:
    """A campaign as stored, and its truth."""
    with twin_and_store(url) as (rig, store):
        outcome = run(rig, store, trials, pace_s=pace_s)
        data = store.load(outcome.run_id)
        assert rig.truth is not None
        return data, rig.truth([(trial.number, trial.tick) for trial in data.trials], outcome.stretches)
