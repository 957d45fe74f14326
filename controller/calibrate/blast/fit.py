# SPDX-License-Identifier: Apache-2.0
"""The blaster's model, fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.calibrate.blast.dependence import Dependence, fit_dependence
from controller.calibrate.blast.hazard import Hazard, fit_hazard
from controller.calibrate.blast.inserts import LOST, Inserts
from controller.calibrate.blast.model import Model, make_model
from controller.calibrate.blast.release import FaultRate, fit_ejected, fit_faults
from controller.calibrate.blast.rivals import FOLDS, Counts, Rivals, compare
from controller.calibrate.blast.table import tabulate
from controller.calibrate.categorical import Categorical
from controller.calibrate.common import MOST_LOST, CalibrationError, Fit
from controller.store.records import RunData


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastFit(Fit):
    """A fitted blaster.

    slots: of the toy. hazard, dependence, rivals, model: all None with `hazard_reason` ``no usable insert``, or how many
    were spoiled; the reason is empty otherwise. ejected: one entry per number of cards loaded, from 1; None without a release.
    """

    slots: int
    hazard: Hazard | None
    dependence: Dependence | None
    rivals: Rivals | None
    model: Model | None
    hazard_reason: str
    ejected: tuple[Categorical | None, ...]
    faults: dict[str, FaultRate]


def fit_blast(runs: Sequence[RunData], drive: str, dut: str) -> BlastFit:
    """Fit hazard, dependence, rivals, ejected and faults to all inserts of the runs, taken in the order given.

    Raises `CalibrationError` when the runs are of different numbers of slots, or do not tell it.
    """
    slots = _slots(runs)
    inserts = tabulate(runs)
    attempted = int(inserts.rule.size)
    lost = int(np.isin(inserts.rule, LOST).sum())
    reason = "" if inserts.at_risk.any() else "no usable insert"
    if lost > MOST_LOST * attempted:
        reason = (
            f"{lost} of {attempted} inserts were spoiled or their cards late, and at which of them the toy released is not known"
        )
    hazard = dependence = rivals = model = None
    if not reason:
        hazard = fit_hazard(inserts, slots)
        dependence = fit_dependence(inserts, slots, [run.run.settings.get("order") for run in runs])
        at_risk, fired = by_fold(inserts, slots)
        rivals = compare(at_risk, fired, hazard.rounds)
        model = make_model(rivals, at_risk.sum(axis=0), fired.sum(axis=0))
    return BlastFit(
        launcher="blast",
        drive=drive,
        dut=dut,
        n_trials=attempted,
        excluded=inserts.excluded(),
        slots=slots,
        hazard=hazard,
        dependence=dependence,
        rivals=rivals,
        model=model,
        hazard_reason=reason,
        ejected=fit_ejected(inserts, slots),
        faults=fit_faults(inserts),
    )


def by_fold(inserts: Inserts, slots: int) -> tuple[Counts, Counts]:
    """Inserts at risk and releases, by fold of the round and place in it; both of shape (FOLDS, slots)."""
    use = inserts.at_risk
    at_risk = np.zeros((FOLDS, slots), dtype=np.int64)
    fired = np.zeros((FOLDS, slots), dtype=np.int64)
    place = (inserts.round[use] % FOLDS, inserts.k[use] - 1)
    np.add.at(at_risk, place, 1)
    np.add.at(fired, place, inserts.fired[use])
    return at_risk, fired


def _slots(runs: Sequence[RunData]) -> int:
    found = {run.run.settings.get("slots") for run in runs}
    if len(found) > 1:
        raise CalibrationError(f"the runs differ in slots ({', '.join(map(str, found))}); fit each by itself")
    (slots,) = found
    if not isinstance(slots, int):
        raise CalibrationError("the run does not tell how many slots the toy has: setting slots is missing")
    return slots
