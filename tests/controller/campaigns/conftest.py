# SPDX-License-Identifier: Apache-2.0
"""Campaigns on the twin, as they were stored and as they truly were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.campaigns.plan import Wanted, planned
from controller.campaigns.roller import RollerCampaign
from controller.campaigns.shared import Progress
from controller.run import Outcome, Plan, conduct
from controller.signals import StopFlag
from controller.store.records import Event, RunData, Trial
from controller.store.store import Store
from rig.open import open_rig
from rig.rig import Rig
from rig.wire.messages import Wiring


class Conducted:
    """A campaign that was run on a twin, as the store has it and as it truly was."""

    def __init__(self, rig: Rig, store: Store, outcome: Outcome) -> None:
        self.outcome = outcome
        self.data: RunData = store.load(outcome.run_id)
        assert rig.truth is not None
        told = rig.truth([(trial.number, trial.tick) for trial in self.trials], outcome.stretches)
        self.truth: list[dict[str, Any]] = told["trials"]

    @property
    def trials(self) -> tuple[Trial, ...]:
        return self.data.trials

    def events(self, kind: str) -> list[Event]:
        return [event for event in self.data.events if event.kind == kind]

    def ticks(self, kind: str, **data: int) -> list[int]:
        return [e.tick for e in self.data.events if e.kind == kind and e.data == data and e.tick is not None]


Conduct = Callable[..., Conducted]
Before = Callable[[Rig], Any]


class Conductor:
    """Runs campaigns on twins. A twin stays open until the test is over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rigs: list[Rig] = []

    def run(
        self,
        url: str,
        plan: Callable[[Rig], Plan],
        *,
        drive: Wiring = Wiring.button,
        operator: Callable[[Rig], Any] | None = None,
        before: Before = lambda rig: None,
        stop: StopFlag | None = None,
        on_progress: Callable[[Rig, Progress], None] = lambda rig, progress: None,
        on_notice: Callable[[str], None] = lambda text: None,
    ) -> Conducted:
        """`operator` makes another person of the bench; `before` and `on_progress` do to the rig what they like."""
        rig = open_rig(url)
        self.rigs.append(rig)
        if operator:
            rig.operator = operator(rig)
        before(rig)
        outcome = conduct(
            *(rig, self._store, plan(rig)),
            kind="demo",
            dut="x",
            stop=stop or StopFlag(),
            drive=drive,
            on_progress=lambda progress: on_progress(rig, progress),
            on_notice=on_notice,
        )
        return Conducted(rig, self._store, outcome)


@pytest.fixture
def conductor(tmp_path: Path) -> Iterator[Conductor]:
    """A store, and twins that are closed afterwards."""
    with Store.open(tmp_path / "runs.sqlite") as store:
        made = Conductor(store)
        yield made
        for rig in made.rigs:
            rig.close()


@pytest.fixture
def conducted(conductor: Conductor) -> Conduct:
    """Runs a campaign of presses on the roller launcher of that URL."""

    def run(url: str, trials: int, *, operator: Callable[[Rig], Any] | None = None, **campaign: Any) -> Conducted:
        settings: dict[str, Any] = {"pace_s": 3.0, "fill": 83, "drive": Wiring.button} | campaign
        planned = RollerCampaign(trials, **settings)
        return conductor.run(url, lambda rig: lambda launcher, board: planned, drive=planned.drive, operator=operator)

    return run


HOW = ("operator", "before", "stop", "on_progress", "on_notice")


@pytest.fixture
def blasted(conductor: Conductor) -> Conduct:
    """Runs what is wanted (a demo of inserts, unless it says so) on the blaster of that URL."""

    def run(url: str, trials: int, **wanted: Any) -> Conducted:
        how = {name: wanted.pop(name) for name in HOW if name in wanted}
        asked = Wanted(**({"command": "demo", "trials": trials, "pace_s": 3.0} | wanted))
        return conductor.run(url, lambda rig: lambda launcher, board: planned(asked, launcher, board, rig), **how)

    return run
