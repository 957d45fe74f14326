# SPDX-License-Identifier: Apache-2.0
"""Real signals on a real process: the run stops, the outputs are off, what was measured is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from controller.signals import SIGNALS
from controller.store.store import Store
from tests.system.conftest import LAUNCHRIG

WHILE_LOADING = """
import signal, sys
from controller.__main__ import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal({number})

sys.meta_path.insert(0, Finder())
sys.argv = ["launchrig", "runs", "list"]
main()
"""


@pytest.mark.parametrize(
    "module", ["rig", "typer", "rig.wire.messages", "controller.history"]
)  # the last one by the command itself
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_while_modules_are_loaded_is_an_abort_like_any_other(number: signal.Signals, module: str, tmp_path: Path) -> None:
    code = WHILE_LOADING.format(module=module, number=int(number))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "launchrig: aborted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_run_in_a_safe_state_with_everything_kept(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [LAUNCHRIG, "demo", "--trials", "20000", "--seed", "1", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with Store.open(tmp_path / "runs.sqlite") as store:
        while not (store.runs() and store.load("last").trials):
            assert process.poll() is None
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 4, stdout + stderr
    assert "outputs off, confirmed" in stdout
    assert f"stopped by {number.name}" in stdout
    with Store.open(tmp_path / "runs.sqlite") as store:
        data = store.load("last")
    assert data.run.status == "aborted by operator"
    assert data.run.safe_state == "confirmed"
    numbers = [trial.number for trial in data.trials]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (tmp_path / "report.html").exists()


def test_a_killed_run_is_kept_and_called_crashed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [LAUNCHRIG, "demo", "--trials", "20000", "--seed", "1", "--out", str(tmp_path)], stdout=subprocess.DEVNULL
    )
    with Store.open(tmp_path / "runs.sqlite") as store:
        while not (store.runs() and len(store.load("last").trials) >= 5):
            assert process.poll() is None
    process.kill()
    process.wait()
    with Store.open(tmp_path / "runs.sqlite") as store:
        data = store.load("last")
    assert data.run.status == "crashed"
    assert [trial.number for trial in data.trials] == list(range(1, len(data.trials) + 1))


def test_a_board_that_dies_in_mid_run_costs_one_trial_and_is_said(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [LAUNCHRIG, "demo", "--trials", "20000", "--seed", "1", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with Store.open(tmp_path / "runs.sqlite") as store:
        while not (store.runs() and len(store.load("last").trials) >= 5):
            assert process.poll() is None
    (board,) = psutil.Process(process.pid).children()
    board.kill()
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 5, stdout + stderr
    assert "NOT CONFIRMED SAFE" in stdout
    assert "Traceback" not in stderr
    with Store.open(tmp_path / "runs.sqlite") as store:
        data = store.load("last")
    assert data.run.status == "aborted by rule"
    assert data.run.safe_state == "not confirmed"
    assert [trial.number for trial in data.trials] == list(range(1, len(data.trials) + 1))
    assert all(trial.verdict != "fault" for trial in data.trials[:-1])
