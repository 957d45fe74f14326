# SPDX-License-Identifier: Apache-2.0
"""What the odds file says, as plain data: a pure function of a fit and of the runs behind it.

Equal measurements give equal odds; nothing here knows the time, a run id or a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from controller.calibrate.fit import Fit
from controller.errors import RefusedError
from controller.odds import blast, roller
from controller.odds.parts import Json, common, statistics
from controller.store.records import Run, RunData, is_simulated, raw_sha256

SCHEMA_VERSION = "1.1.0"
_FIRMWARE_FIELDS = ("version", "build_id", "sha256", "protocol_hash")


class Own(NamedTuple):
    """What a kind of launcher adds to the common part: to the conditions, and sections of its own, from its own fit."""

    conditions: Callable[[Any, Sequence[RunData]], Json]
    sections: Callable[[Any], Json]


OWN: Mapping[str, Own] = {
    "roller": Own(roller.conditions, roller.sections),
    "blast": Own(blast.conditions, blast.sections),
}


class OddsError(RefusedError):
    """The odds cannot be vouched for; the text is one line that says why."""


def build_odds(fit: Fit, runs: Sequence[RunData], *, created_at: datetime, versions: Mapping[str, str]) -> Json:
    """Return the odds as `schema/odds.schema.json` describes them.

    fit: of these very runs, in this order. created_at: aware. versions: of the software that fits, by package name.
    Raises `OddsError` when a run's trials are not those that it was closed with.
    """
    own = OWN[fit.launcher]
    return {
        "schema_version": SCHEMA_VERSION,
        "launcher": fit.launcher,
        "created_at": created_at.astimezone(UTC).isoformat(timespec="seconds"),
        "simulated": any(is_simulated(data.run) for data in runs),
        "device": {
            "dut": fit.dut,
            "board_uuid": common(data.run.firmware.get("board_uuid") for data in runs),
            "drive": fit.drive,
        },
        "conditions": _conditions(runs) | own.conditions(fit, runs),
        **own.sections(fit),
        "n_trials": fit.n_trials,
        "excluded": dict(fit.excluded),
        "provenance": {
            "runs": [_origin(data) for data in runs],
            "versions": _version_list(versions),
        },
    }


def _conditions(runs: Sequence[RunData]) -> Json:
    trials = [trial for data in runs for trial in data.trials]
    fills = [fill for data in runs for fill in data.fills]
    return {
        "pace_s": common(data.run.settings.get("pace_s") for data in runs),
        "gap_s": statistics(trial.gap_s for trial in trials),
        "pack_V": statistics(trial.pack_V for trial in trials if trial.fired),
        "fills": len(fills),
        "loaded": statistics(float(fill.loaded) for fill in fills),
    }


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


def _version_list(versions: Mapping[str, Any]) -> list[Json]:
    return [{"name": name, "version": str(version)} for name, version in sorted(versions.items())]
