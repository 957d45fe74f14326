# SPDX-License-Identifier: Apache-2.0
"""The twin behind a pseudo-terminal is a board like any other: found by listening, pressed, left in a safe state."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import cli
from controller.store.store import Store
from tests.system.conftest import LAUNCHRIG

pytestmark = pytest.mark.xdist_group("port")  # at real time


@pytest.fixture
def port() -> Iterator[str]:
    process = subprocess.Popen(
        [LAUNCHRIG, "twin", "twin:roller?seed=1&brain=iid&p_fire=1&jam=0&stick=0&slip=0", "--pty"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    path = re.search(r"/dev/pts/\d+", process.stdout.readline())
    assert path
    yield path.group()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    process.stdout.close()


def test_presses_over_a_real_port_are_stored_like_any_other(port: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [LAUNCHRIG, "press", "2", "--pace", "2s", "--rig", port, "--operator", "none", "--store", str(tmp_path / "runs.sqlite")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outputs off, confirmed" in done.stdout
    with Store.open(tmp_path / "runs.sqlite") as store:
        data = store.load("last")
    assert data.run.rig_url == port
    assert [trial.verdict for trial in data.trials] == ["ok", "ok"]
    odds = tmp_path / "odds.json"
    assert cli.run(["calibrate", "last", "--store", str(tmp_path / "runs.sqlite"), "-o", str(odds)]) == 0
    assert json.loads(odds.read_text(encoding="utf-8"))["simulated"] is True, "a port hides no twin"


def test_reopening_the_port_resets_the_board(port: str, tmp_path: Path) -> None:
    counts = []
    for _ in range(2):
        done = subprocess.run(
            [LAUNCHRIG, "press", "1", "--rig", port, "--operator", "none", "--store", str(tmp_path / "runs.sqlite")],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        with Store.open(tmp_path / "runs.sqlite") as store:
            counts.append(store.load("last").run.firmware["boot_count"])
    assert counts[1] == counts[0] + 1


def test_a_port_that_says_something_else_is_no_board_of_ours(tmp_path: Path) -> None:
    done = subprocess.run(
        [LAUNCHRIG, "press", "1", "--rig", "loop://", "--store", str(tmp_path / "runs.sqlite")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "names no rig" in done.stderr
