# SPDX-License-Identifier: Apache-2.0
"""What the odds of a blaster say beyond the common part: when it releases, which rival explains that, what flies then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from controller.calibrate.blast.dependence import SLOTS_TEST, Dependence
from controller.calibrate.blast.fit import BlastFit
from controller.calibrate.blast.hazard import SLOT_TEST, Hazard
from controller.calibrate.blast.model import Model
from controller.calibrate.blast.rivals import Rivals
from controller.calibrate.categorical import Categorical
from controller.odds.parts import Json, common, distribution, unknown
from controller.store.records import RunData


def conditions(fit: BlastFit, runs: Sequence[RunData]) -> Json:
    """The blaster's own conditions."""
    settled = [fill.difference for data in runs for fill in data.fills if fill.difference is not None]
    return {
        "order": common(data.run.settings.get("order") for data in runs),
        "resets": sum(trial.kind == "reset" for data in runs for trial in data.trials),
        "ledger": {
            "fills": len(settled),
            "balanced": settled.count(0),
            "uncounted": sum(cards for cards in settled if cards > 0),
            "surplus": -sum(cards for cards in settled if cards < 0),
        },
    }


def sections(fit: BlastFit) -> Json:
    """The blaster's own sections."""
    reason = fit.hazard_reason
    return {
        "slots": fit.slots,
        "hazard": unknown(reason) if fit.hazard is None else _hazard(fit.hazard),
        "dependence": unknown(reason) if fit.dependence is None else _dependence(fit.dependence),
        "rivals": unknown(reason) if fit.rivals is None else _rivals(fit.rivals),
        "model": unknown(reason) if fit.model is None else _model(fit.model),
        "ejected": [_ejected(loaded, counts) for loaded, counts in enumerate(fit.ejected, start=1)],
        "faults": {name: asdict(rate) for name, rate in fit.faults.items()},
    }


def _hazard(hazard: Hazard) -> Json:
    found = asdict(hazard)
    for what, place in (("by_insert", "insert"), ("by_slot", "slot")):
        rows = [
            {place: i, "at_risk": row.pop("n"), "released": row.pop("events"), **row} for i, row in enumerate(found[what], start=1)
        ]
        found[what] = rows
    return found | {"slot_test": {"test": SLOT_TEST, **found["slot_test"]}, "survival": list(found["survival"])}


def _dependence(dependence: Dependence) -> Json:
    found = asdict(dependence)
    return found | {"trigger_slots": {"test": SLOTS_TEST, **found["trigger_slots"]}}


def _rivals(rivals: Rivals) -> Json:
    found = asdict(rivals)
    return found | {"rivals": list(found["rivals"])}


def _model(model: Model) -> Json:
    found = asdict(model)
    hazard = [{"insert": insert, **point} for insert, point in enumerate(found["hazard"], start=1)]
    return found | {"hazard": hazard, "until_release": list(found["until_release"])}


def _ejected(loaded: int, counts: Categorical | None) -> Json:
    cards = f"{loaded} card{'s' if loaded > 1 else ''}"
    return {"loaded": loaded, "count": unknown(f"no release with {cards} loaded") if counts is None else distribution(counts)}
