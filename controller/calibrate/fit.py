# SPDX-License-Identifier: Apache-2.0
"""The whole model of a launcher, fitted to the runs of one device under test: what may be fitted together, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from controller.calibrate.blast.fit import fit_blast
from controller.calibrate.common import CalibrationError, Fit
from controller.calibrate.roller.fit import fit_roller
from controller.store.records import RunData, is_simulated

__all__ = ["FITS", "CalibrationError", "Fit", "calibrate"]

FITS: Mapping[str, Callable[[Sequence[RunData], str, str], Fit]] = {"roller": fit_roller, "blast": fit_blast}
"""How each kind of launcher is fitted: from its runs, their drive and their device under test."""


def calibrate(runs: Sequence[RunData]) -> Fit:
    """Fit the launcher's model to all trials of one or several runs, taken in the order given.

    The runs must be of one launcher, drive and device, and no run may be given twice: `CalibrationError` otherwise.
    """
    launcher = _the_one("launcher", [run.run.launcher for run in runs])
    drive = _the_one("drive", [run.run.drive for run in runs])
    dut = _the_one("device under test", [run.run.dut for run in runs])
    if len({run.run.id for run in runs}) < len(runs):
        raise CalibrationError("a run is given twice; its trials would count twice")
    hashes = [run.run.raw_sha256 for run in runs if run.run.raw_sha256 and run.trials]
    if len(set(hashes)) < len(hashes):
        raise CalibrationError("two runs hold the same trials to the bit (one seed?); they would count twice, leave one out")
    if len({is_simulated(run.run) for run in runs}) > 1:
        raise CalibrationError("some of the runs are of the twin and some of a board; fit each kind by itself")
    if launcher not in FITS:
        raise CalibrationError(f"launcher {launcher}: no model is known for it, only for {' and '.join(FITS)}")
    return FITS[launcher](runs, drive, dut)


def _the_one(what: str, found: list[str]) -> str:
    names = list(dict.fromkeys(found))
    if not names:
        raise CalibrationError("no run was given to fit")
    if len(names) > 1:
        raise CalibrationError(f"the runs differ in {what} ({', '.join(names)}); fit each by itself")
    return names[0]
