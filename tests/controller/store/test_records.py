# SPDX-License-Identifier: Apache-2.0
"""A simulated run is known by its rig, or by its board's UUID where a port hides the twin."""

from __future__ import annotations

import uuid

import pytest

from controller.store.records import is_simulated
from rig.twin.parameters import RollerParameters
from rig.twin.plant import RollerPlant
from tests.controller.conftest import make_run

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
