# SPDX-License-Identifier: Apache-2.0
"""What the odds file says, as plain data: a pure function of a fit and of the runs behind it.

Equal measurements give equal odds; nothing here knows the time, a run id or a path.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from controller.calibrate.count import Count
from controller.calibrate.fire import Fire
from controller.calibrate.fit import Fit
from controller.errors import RefusedError
from controller.store.records import Run, RunData, is_simulated, raw_sha256

SCHEMA_VERSION = "1.0.0"
DEPENDENCE_TEST = "likelihood ratio of the hazard by presses since the last fire against one probability"
_FIRMWARE_FIELDS = ("version", "build_id", "sha256", "protocol_hash")

Json = dict[str, Any]


class OddsError(RefusedError):
    """The odds cannot be vouched for; the text is one line that says why."""


def build_odds(fit: Fit, runs: Sequence[RunData], *, created_at: datetime, versions: Mapping[str, str]) -> Json:
    """Return the odds as `schema/odds.schema.json` describes them.

    fit: of these very runs, in this order. created_at: aware. versions: of the software that fits, by package name.
    Raises `OddsError` when a run's trials are not those that it was closed with.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "launcher": fit.launcher,
        "created_at": created_at.astimezone(UTC).isoformat(timespec="seconds"),
        "simulated": any(is_simulated(data.run) for data in runs),
        "device": {
            "dut": fit.dut,
            "board_uuid": _common(data.run.firmware.get("board_uuid") for data in runs),
            "drive": fit.drive,
        },
        "conditions": _conditions(fit, runs),
        "fire": _unknown(fit.fire_reason) if fit.fire is None else _fire(fit.fire),
        "count": _unknown(fit.count_reason) if fit.count is None else _count(fit.count),
        "faults": {name: asdict(rate) for name, rate in fit.faults.items()},
        "n_trials": fit.n_trials,
        "excluded": dict(fit.excluded),
        "provenance": {
            "runs": [_origin(data) for data in runs],
            "versions": _version_list(versions),
        },
    }


def _conditions(fit: Fit, runs: Sequence[RunData]) -> Json:
    trials = [trial for data in runs for trial in data.trials]
    fills = [fill for data in runs for fill in data.fills]
    return {
        "pace_s": _common(data.run.settings.get("pace_s") for data in runs),
        "gap_s": _statistics(trial.gap_s for trial in trials),
        "pack_V": _statistics(trial.pack_V for trial in trials if trial.fired),
        "fills": len(fills),
        "loaded": _statistics(float(fill.loaded) for fill in fills),
        "decision": _common(_decision(data.run) for data in runs),
        "hopper": fit.hopper and {"min": fit.hopper[0], "max": fit.hopper[1]},
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


def _count(count: Count) -> Json:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(count).items()}


def _origin(data: RunData) -> Json:
    run: Run = data.run
    measured = raw_sha256(data.trials)
    if run.raw_sha256 not in (None, measured):
        raise OddsError(
            f"run {run.id}: its trials have SHA-256 {measured} but the run was closed with {run.raw_sha256}; "
            f"the store was changed by hand, restore it from a copy"
        )
    return {
        "raw_sha256": measured,
        "rig_url": run.rig_url,
        "seed": run.seed,
        "firmware": {name: run.firmware.get(name) for name in _FIRMWARE_FIELDS},
        "versions": _version_list(run.versions),
    }


def _unknown(reason: str) -> Json:
    return {"value": None, "reason": reason}


def _version_list(versions: Mapping[str, Any]) -> list[Json]:
    return [{"name": name, "version": str(version)} for name, version in sorted(versions.items())]


def _common(values: Iterable[Any]) -> Any:
    """The value that all share, else None."""
    found = list(values)
    return found[0] if found and all(value == found[0] for value in found) else None


def _statistics(values: Iterable[float | None]) -> Json | None:
    found = [value for value in values if value is not None]
    if not found:
        return None
    return {"mean": math.fsum(found) / len(found), "min": min(found), "max": max(found)}
