# SPDX-License-Identifier: Apache-2.0
"""Trials and runs made by hand, for tests that need no rig."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.store.records import Fill, Run, RunData, Trial, place_trial
from rig.trial import TrialRecord

TrialMaker = Callable[..., Trial]
RunMaker = Callable[..., RunData]

_OBSERVED: dict[str, Any] = {
    "number": 1,
    "kind": "press",
    "drive": "button",
    "burst": 1,
    "burst_index": 0,
    "tick": 48_000_000,
    "verdict": "ok",
    "reason": "none",
    "mcu_verdict": "ok",
    "accepted": True,
    "cleared": 2,
    "sticking": 0,
    "roller_ms": 240,
    "hopper": 83,
    "run_ms": 0,
    "duty": 0,
    "pack_V": 4.1875,
    "pack_open_V": 4.6875,
    "peak_A": 0.8125,
    "edges": ((48_000_100, "beam_a", 1), (48_900_000, "beam_a", 0)),
    "bins": (123, 4_194_303),
    "spoiled": "",
    "slot": None,
    "loaded": None,
    "toy": "",
}
_PLACED: dict[str, Any] = {"fill": 1, "since_power_on": 1, "since_lid_close": 1, "since_fire": None, "gap_s": None}
_PLACED |= {"round": None, "insert": None}
_STILL = {"no_run", "rejected", "aborted", "fault", "held"}


def make_trial(**changes: Any) -> Trial:
    """Build one trial, a press unless told otherwise; unless told, cards and roller time go with the verdict."""
    verdict = changes.get("verdict", "ok")
    implied: dict[str, Any] = {} if verdict == "ok" else {"cleared": 0}
    if verdict in _STILL:
        implied["roller_ms"] = 0
    if verdict == "rejected":
        implied["accepted"] = False
    values = _OBSERVED | _PLACED | implied | changes
    record = TrialRecord(**{name: values[name] for name in _OBSERVED})
    return place_trial(record, **{name: values[name] for name in _PLACED})


def make_run(trials: Iterable[Trial], fills: Iterable[Fill] = (), **changes: Any) -> RunData:
    """Wrap trials in a finished run of the twin."""
    values: dict[str, Any] = {
        "id": 1,
        "kind": "demo",
        "dut": "unit 7",
        "rig_url": "twin:roller?seed=7",
        "launcher": "roller",
        "drive": "button",
        "seed": 7,
        "status": "complete",
        "started_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "ended_at": datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC),
        "firmware": {
            "version": "0.1.0",
            "build_id": "0badcafe",
            "sha256": "ab" * 32,
            "protocol_hash": "959bbb31",
            "board_uuid": "6f1d3c1e-0000-4000-8000-000000000001",
            "boot_count": 3,
        },
        "versions": {"python": "3.11", "launchrig": "0.1.0"},
        "settings": {"pace_s": 3.0},
        "counters": {"crc": 0},
        "raw_sha256": None,
        "note": "",
        "safe_state": "confirmed",
    }
    return RunData(Run(**(values | changes)), tuple(fills), tuple(trials), ())


@pytest.fixture
def trial() -> TrialMaker:
    """Make a trial; see `make_trial`."""
    return make_trial


@pytest.fixture
def run_of() -> RunMaker:
    """Make a run; see `make_run`."""
    return make_run
