# SPDX-License-Identifier: Apache-2.0
"""The roller's model, fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.calibrate.categorical import Categorical
from controller.calibrate.common import MOST_LOST, Fit
from controller.calibrate.roller.count import fit_count
from controller.calibrate.roller.faults import FaultRate, fit_faults
from controller.calibrate.roller.fire import Fire, fit_fire
from controller.calibrate.roller.table import tabulate
from controller.store.records import RunData

LOST = ("spoiled", "aborted", "fault")
"""Rules whose presses may or may not have fired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollerFit(Fit):
    """A fitted roller.

    fire: None with `fire_reason` ``commanded`` (in ``direct`` drive the rig decides), ``no usable press``, or how many
    were spoiled.
    count: None with `count_reason` ``no countable fire``. Reasons are empty otherwise.
    largest: most cards seen in one press. hopper: fewest and most cards in the hopper before the presses that count for
    `count`, None when there are none.
    """

    fire: Fire | None
    fire_reason: str
    count: Categorical | None
    count_reason: str
    faults: dict[str, FaultRate]
    largest: int
    hopper: tuple[int, int] | None


def fit_roller(runs: Sequence[RunData], drive: str, dut: str) -> RollerFit:
    """Fit fire, count and faults to all presses of the runs, taken in the order given."""
    presses = tabulate(runs)
    counted = presses.counted
    hopper = presses.hopper[counted]
    lost = int(np.isin(presses.rule, LOST).sum())
    spoiled = ""
    if lost > MOST_LOST * presses.rule.size:
        spoiled = f"{lost} of {presses.rule.size} presses were spoiled, and which of them fired is not known"
    fire = None if drive == "direct" or spoiled else fit_fire(presses)
    count = fit_count(presses.dealt[counted], presses.largest)
    return RollerFit(
        launcher="roller",
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
