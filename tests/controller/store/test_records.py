# SPDX-License-Identifier: Apache-2.0
"""What the records say by themselves: whether a run is simulated, whether a trial fired, what a run's hash is of."""

from __future__ import annotations

import uuid

import pytest

from controller.store.records import RAW_FIELDS, is_simulated, raw_sha256
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.plant import RollerPlant
from tests.controller.conftest import make_run, make_trial

TWINS = [RollerPlant(RollerParameters(), seed).board_uuid.hex() for seed in range(20)]
BOARDS = [uuid.UUID(int=n, version=4).hex for n in range(0, 2**128, 2**123)]


@pytest.mark.parametrize("url", ["/dev/pts/3", "rfc2217://bench:2217"])
def test_a_board_with_a_twins_uuid_is_simulated_whatever_the_port(url: str) -> None:
    assert all(is_simulated(make_run([], rig_url=url, firmware={"board_uuid": each}).run) for each in TWINS)


def test_a_board_of_silicon_is_not_simulated() -> None:
    assert not any(is_simulated(make_run([], rig_url="/dev/ttyACM0", firmware={"board_uuid": each}).run) for each in BOARDS)


def test_a_twin_by_its_url_is_simulated_whoever_it_says_to_be() -> None:
    assert all(is_simulated(make_run([], firmware={"board_uuid": each}).run) for each in BOARDS)


def test_a_run_that_knows_no_board_is_not_simulated() -> None:
    assert not is_simulated(make_run([], rig_url="/dev/ttyACM0", firmware={}).run)


def test_a_twins_uuid_is_a_version_8_uuid() -> None:
    assert {(uuid.UUID(each).version, uuid.UUID(each).variant) for each in TWINS} == {(8, uuid.RFC_4122)}


@pytest.mark.parametrize(
    ("kind", "verdict", "fires"),
    [
        *(("press", verdict, True) for verdict in ("ok", "slip", "jam", "empty")),
        *(("press", verdict, False) for verdict in ("no_run", "rejected", "aborted", "fault")),
        *(("insert", verdict, True) for verdict in ("blast", "partial", "latch_fault", "jam")),
        *(("insert", verdict, False) for verdict in ("held", "rejected", "aborted", "fault")),
        *(("reset", verdict, False) for verdict in ("ok", "held", "partial", "latch_fault", "jam", "fault")),
    ],
)
def test_a_fire_is_what_the_launcher_decided_and_a_reset_is_none(kind: str, verdict: str, fires: bool) -> None:
    assert make_trial(kind=kind, verdict=verdict, roller_ms=80).fired is fires
    assert not make_trial(kind=kind, verdict=verdict, roller_ms=0).fired


def test_the_hash_of_a_blasters_run_is_of_its_own_fields_too() -> None:
    insert = {"kind": "insert", "verdict": "held", "slot": 3, "loaded": 2, "toy": "awake", "round": 7, "insert": 2}
    changed = [
        insert,
        insert | {"slot": 2},
        insert | {"loaded": 1},
        insert | {"toy": ""},
        insert | {"round": 8},
        insert | {"insert": 1},
    ]
    assert len({raw_sha256([make_trial(**each)]) for each in changed}) == len(changed)
    assert RAW_FIELDS["insert"] == RAW_FIELDS["reset"] == (*RAW_FIELDS["press"], "slot", "loaded", "toy", "round", "insert")
