# SPDX-License-Identifier: Apache-2.0
"""The whole model of a launcher, fitted to the runs of one device under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.calibrate.count import Count, fit_count
from controller.calibrate.faults import FaultRate, fit_faults
from controller.calibrate.fire import Fire, fit_fire
from controller.calibrate.table import tabulate
from controller.errors import RefusedError
from controller.store.records import RunData, is_simulated

LOST = ("spoiled", "aborted", "fault")
"""Rules whose presses may or may not have fired."""

MOST_LOST = 0.05
"""Share of such presses above which no fire probability is given: what is left need not be like what was lost."""


class CalibrationError(RefusedError):
    """These runs cannot be fitted together; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted launcher.

    fire: None with `fire_reason` ``commanded`` (in ``direct`` drive the rig decides), ``no usable press``, or how many
    were spoiled.
    count: None with `count_reason` ``no countable fire``. Reasons are empty otherwise.
    excluded: presses by rule. largest: most cards seen in one press. hopper: fewest and most cards in the hopper before
    the presses that count for `count`, None when there are none.
    """

    launcher: str
    drive: str
    dut: str
    n_trials: int
    excluded: dict[str, int]
    fire: Fire | None
    fire_reason: str
    count: Count | None
    count_reason: str
    faults: dict[str, FaultRate]
    largest: int
    hopper: tuple[int, int] | None


def calibrate(runs: Sequence[RunData]) -> Fit:
    """Fit fire, count and faults to all presses of one or several runs, taken in the order given.

    The runs must be of one launcher, drive and device, and no run may be given twice: `CalibrationError` otherwise.
    """
    launcher = _the_one("launcher", [run.run.launcher for run in runs])
    drive = _the_one("drive", [run.run.drive for run in runs])
    dut = _the_one("device under test", [run.run.dut for run in runs])
    if len({run.run.id for run in runs}) < len(runs):
        raise CalibrationError("a run is given twice; its presses would count twice")
    hashes = [run.run.raw_sha256 for run in runs if run.run.raw_sha256 and run.trials]
    if len(set(hashes)) < len(hashes):
        raise CalibrationError("two runs hold the same trials to the bit (one seed?); they would count twice, leave one out")
    if len({is_simulated(run.run) for run in runs}) > 1:
        raise CalibrationError("some of the runs are of the twin and some of a board; fit each kind by itself")
    presses = tabulate(runs)
    counted = presses.counted
    hopper = presses.hopper[counted]
    lost = int(np.isin(presses.rule, LOST).sum())
    spoiled = ""
    if lost > MOST_LOST * presses.rule.size:
        spoiled = f"{lost} of {presses.rule.size} presses were spoiled, and which of them fired is not known"
    fire = None if drive == "direct" or spoiled else fit_fire(presses)
    count = fit_count(presses.dealt[counted], presses.largest)
    return Fit(
        launcher=launcher,
        drive=drive,
        dut=dut,
        n_trials=int(presses.rule.size),
        excluded=presses.excluded(),
        fire=fire,
        fire_reason="commanded" if drive == "direct" else "" if fire else spoiled or "no usable press",
        count=count,
        count_reason="" if count else "no countable fire",
        faults=fit_faults(presses),
        largest=presses.largest,
        hopper=(int(hopper.min()), int(hopper.max())) if hopper.size else None,
    )


def _the_one(what: str, found: list[str]) -> str:
    names = list(dict.fromkeys(found))
    if not names:
        raise CalibrationError("no run was given to fit")
    if len(names) > 1:
        raise CalibrationError(f"the runs differ in {what} ({', '.join(names)}); fit each by itself")
    return names[0]
