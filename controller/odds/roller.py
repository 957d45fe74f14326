# SPDX-License-Identifier: Apache-2.0
"""What the odds of a roller say beyond the common part: does a press fire, how many cards come, what goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from controller.calibrate.roller.fire import Fire
from controller.calibrate.roller.fit import RollerFit
from controller.odds.parts import Json, common, distribution, unknown
from controller.store.records import Run, RunData

DEPENDENCE_TEST = "likelihood ratio of the hazard by presses since the last fire against one probability"


def conditions(fit: RollerFit, runs: Sequence[RunData]) -> Json:
    """The roller's own conditions."""
    return {
        "decision": common(_decision(data.run) for data in runs),
        "hopper": fit.hopper and {"min": fit.hopper[0], "max": fit.hopper[1]},
    }


def sections(fit: RollerFit) -> Json:
    """The roller's own sections."""
    return {
        "fire": unknown(fit.fire_reason) if fit.fire is None else _fire(fit.fire),
        "count": unknown(fit.count_reason) if fit.count is None else distribution(fit.count),
        "faults": {name: asdict(rate) for name, rate in fit.faults.items()},
    }


def _decision(run: Run) -> Json | None:
    """The model that gave the run times in `direct` drive."""
    model = run.settings.get("decision")
    return None if model is None else {"model": model, "seed": run.settings.get("decision_seed")}


def _fire(fire: Fire) -> Json:
    found = asdict(fire)
    dependence = found["dependence"]
    by_rule = dependence["log_likelihood"]
    dependence["log_likelihood"] = [{"restart": rule, "value": value} for rule, value in by_rule.items()]
    found["dependence"] = {"test": DEPENDENCE_TEST, **dependence}
    found["hazard"] = list(found["hazard"])
    return found
