# SPDX-License-Identifier: Apache-2.0
"""A campaign over a bad line, and what the plant saw of it: every actuation and every edge of a beam, by cycle."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.campaigns.roller import RollerCampaign
from controller.run import Outcome, conduct
from controller.signals import StopFlag
from controller.store.records import RunData
from controller.store.store import Store
from rig.links.faulty import FaultyLink
from rig.open import open_rig
from rig.twin.avr import CYCLE_HZ
from rig.twin.bench import Plant
from rig.wire.messages import Wiring
from tests.twins import bench_of

BAD_LINE = "corrupt=0.01&drop=0.003&duplicate=0.003&delay=0.002&delay_ms=8"
"""One byte in a hundred another one, and three other faults, each way."""

SPOILED_BY_LINK = ("link", "reset", "ring_full", "samples_missing", "verdicts_differ", "lease", "abort", "fault_latched")
"""Reasons that a line may be to blame for."""

_PINS = {8: "beam_a", 2: "beam_b"}
_MOVES = {"button": "launch", "direct": "roller"}
_AT_MOST_LATE = CYCLE_HZ // 10_000  # beam B's tick is read a little after its pin moved
_EPOCH_CYCLES = CYCLE_HZ // 4  # the host knows tick 0 to within the delay of a frame, resent some times


class WatchedPlant:
    """A plant like `plant` of which it is kept when it was actuated, and every edge of a beam that really came."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._levels = dict.fromkeys(_PINS, 1)
        self.on: dict[str, list[int]] = {"launch": [], "roller": []}
        self.edges: list[tuple[int, int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plant, name)

    def _keep(self, cycle: int, plan: Any) -> Any:
        if plan is not None:
            self.edges = [edge for edge in self.edges if edge[0] <= cycle] + [e for e in plan.edges if e[1] in _PINS]
        return plan

    def output(self, cycle: int, signal: Any, value: float) -> Any:
        if value and signal in self.on:
            self.on[signal].append(cycle)
        return self._keep(cycle, self._plant.output(cycle, signal, value))

    def open_lid(self, cycle: int) -> Any:
        return self._keep(cycle, self._plant.open_lid(cycle))

    def close_lid(self, cycle: int) -> Any:
        return self._keep(cycle, self._plant.close_lid(cycle))

    def clear_mouth(self, cycle: int) -> Any:
        cards, plan = self._plant.clear_mouth(cycle)
        return cards, self._keep(cycle, plan)

    def moved(self, until: int) -> dict[str, list[tuple[int, int]]]:
        """(cycle, 1 = blocked) of every change of a beam up to cycle `until`."""
        found: dict[str, list[tuple[int, int]]] = {name: [] for name in _PINS.values()}
        levels = dict(self._levels)
        for cycle, pin, level in sorted(self.edges):
            if cycle <= until and levels[pin] != level:
                levels[pin] = level
                found[_PINS[pin]].append((cycle, 1 - level))
        return found


@dataclass
class Lossy:
    """A campaign that was run, compared with what the plant saw. Every list of faults is empty when all is well."""

    outcome: Outcome
    data: RunData
    actuations: list[int]
    moved: dict[str, list[tuple[int, int]]]
    counts: dict[str, Any]
    virtual_s: float
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_actuations()
        # What moved in a gap nobody has seen, and a board that nobody heard for too long says how much it had to drop.
        if len(self.outcome.stretches) == 1 and not self.data.run.counters.get("ring_full"):
            for name, moved in self.moved.items():
                self._check_edges(name, moved)

    @property
    def spoiled(self) -> list[tuple[int, str]]:
        """(number, reason) of trials that the line spoiled."""
        return [(t.number, t.reason) for t in self.data.trials if t.spoiled or t.reason in SPOILED_BY_LINK]

    def _check_numbers(self) -> None:
        numbers = [trial.number for trial in self.data.trials]
        if numbers != list(range(1, len(numbers) + 1)):
            self.wrong.append(f"numbers of the trials: {numbers}")

    def _check_actuations(self) -> None:
        """Each actuation belongs to one trial; only one that was lost in mid-trial may not know of its own."""
        left = list(self.actuations)
        for trial in self.data.trials:
            if trial.tick is None:
                if trial.verdict not in ("rejected", "aborted", "fault"):
                    self.wrong.append(f"trial {trial.number} is {trial.verdict} without an actuation")
            elif trial.drive == "button" or trial.run_ms:  # a commanded run of no time moves nothing
                epoch_s = [each.epoch_s for each in self.outcome.stretches if each.first_tick <= trial.tick][-1]
                at = round(epoch_s * CYCLE_HZ) + trial.tick
                near = [cycle for cycle in left if abs(cycle - at) < _EPOCH_CYCLES]
                if len(near) != 1:
                    self.wrong.append(f"trial {trial.number} tells of an actuation where {len(near)} were")
                left = [cycle for cycle in left if cycle not in near]
        untold = sum(trial.tick is None and trial.spoiled in ("link", "reset") for trial in self.data.trials)
        if len(left) > untold:
            self.wrong.append(f"{len(left)} actuations belong to no trial, and only {untold} trials were lost before they told")

    def _check_edges(self, name: str, moved: Sequence[tuple[int, int]]) -> None:
        told = [(tick, level) for trial in self.data.trials for tick, channel, level in trial.edges if channel == name]
        told += [(event.tick or 0, event.data["level"]) for event in self.data.events if event.kind == name]
        told.sort()
        if [level for _, level in told] != [level for _, level in moved]:
            self.wrong.append(f"{name}: {len(moved)} edges, {len(told)} told, or their levels differ")
        offsets = Counter(cycle - tick for (cycle, _), (tick, _) in zip(moved, told, strict=False))
        if offsets and max(offsets) - min(offsets) > (0 if name == "beam_a" else _AT_MOST_LATE):
            self.wrong.append(f"{name}: edges lie {min(offsets)} to {max(offsets)} cycles from their ticks")


def over_a_bad_line(url: str, trials: int, *, drive: str = "button", pace_s: float = 1.0) -> Lossy:
    """Run a campaign of `trials` presses on the rig `faulty+...` of that URL, and compare."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.sqlite") as store:
        rig = open_rig(url)
        try:
            assert isinstance(rig.link, FaultyLink)
            bench = bench_of(rig)
            plant = WatchedPlant(bench.plant)
            bench.plant = plant
            decision = "hazard" if drive == "direct" else None
            campaign = RollerCampaign(trials, pace_s, 83, Wiring[drive], decision=decision, decision_seed=rig.seed)
            outcome = conduct(
                *(rig, store, lambda launcher, settings: campaign),
                kind="demo",
                dut="x",
                stop=StopFlag(),
                drive=campaign.drive,
                on_progress=lambda progress: None,
            )
            return Lossy(
                outcome,
                store.load(outcome.run_id),
                plant.on[_MOVES[drive]],
                plant.moved(bench.avr.cycle),
                rig.link.counts,
                bench.clock.now(),
            )
        finally:
            rig.close()
