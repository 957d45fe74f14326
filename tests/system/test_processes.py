# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a run's process, and in whatever moment: outputs off at the twin's pins, and all that was told is in the store."""

from __future__ import annotations

import os
import re
import resource
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.store.records import RunData, Trial
from controller.store.store import Store
from tests.system.conftest import LAUNCHRIG
from tests.system.processes import (
    ENDINGS,
    PATIENCE_S,
    PHASES,
    Pins,
    Round,
    drawn,
    judge,
    judge_unused,
    played,
    press,
    runs_of,
    trials_of,
    twin,
    wait_until,
)

pytestmark = pytest.mark.xdist_group("port")  # at real time

SEED = 3000
MOMENT_S = 0.1  # so that the twin has lived through what was said last

Rounds = Callable[[str], Round]


def phases_of(ending: str) -> list[str]:
    """Before there is a run every signal is alike."""
    return [phase for phase in PHASES if phase != "start" or ending in ("INT", "terminal")]


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """Each ending at a moment in each phase; all at the same time, since they mostly wait."""
    futures: dict[str, Future[Round]] = {}
    with ThreadPoolExecutor(len(ENDINGS)) as pool:
        for n, ending in enumerate(ENDINGS):
            futures[ending] = pool.submit(played, ending, drawn(SEED + n, phases_of(ending)), tmp_path_factory.mktemp(ending))
    return lambda ending: futures[ending].result()


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_and_whenever_a_process_ends_all_is_off_and_kept(ending: str, rounds: Rounds) -> None:
    round_ = rounds(ending)
    for case in round_.cases:
        print(case.ended.moment, case.fell, f"{case.ended.seconds:.2f} s", case.ended.told)
        judge(case)
    for life in round_.unused:
        judge_unused(life)
    if ending == "KILL":
        assert any(case.life and case.life.open_trial() for case in round_.cases), "none fell into a trial"
    assert len([case for case in round_.cases if case.run]) >= len(PHASES) - 1  # all but the one at the start


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_new_run_on_the_same_port_and_store_is_like_any_other(ending: str, rounds: Rounds) -> None:
    round_ = rounds(ending)
    assert round_.last_code == 0
    assert (round_.last_run.run.status, round_.last_run.run.safe_state) == ("complete", "confirmed")
    assert [trial.number for trial in round_.last_run.trials] == [1]


# ---------------------------------------------------------------------- exceptions and closed streams


def test_a_disk_that_fills_up_in_mid_run_leaves_all_off_and_says_so(tmp_path: Path) -> None:
    """The process may write no file beyond where the store stands after two trials."""
    vcd, path = tmp_path / "pins.vcd", tmp_path / "runs.sqlite"
    with twin(vcd) as port:
        process = subprocess.Popen(press(port, path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = ""
        while 2 not in trials_of(said):
            said += process.stdout.readline()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        rest, complained = process.communicate(timeout=PATIENCE_S)
        time.sleep(MOMENT_S)
    assert process.returncode in (2, 5), complained
    assert "outputs off, confirmed" in rest
    assert re.fullmatch(f"launchrig: {path}: .*\n", complained), complained
    with Store.open(path) as store:
        run = store.load("last")
    assert (run.run.status, [trial.number for trial in run.trials]) == ("crashed", list(trials_of(said + rest)))
    assert_off(vcd, run)


@dataclass(frozen=True)
class Streams:
    """Where a run of two presses says what it has to say, and what becomes of it."""

    where: str
    code: int = 0
    complains: str = ""
    status: str = "complete"
    trials: int = 2


STREAMS = {
    "full": Streams(
        ">/dev/full", 2, "outputs off, confirmed\nlaunchrig: input or output: No space left on device\n", "crashed", trials=1
    ),
    "closed": Streams(">&- 2>&- <&-"),
    "unread": Streams("| true"),
}


def piped(streams: Streams, folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    with twin(folder / "pins.vcd") as port:
        command = f"set -o pipefail; {shlex.join(press(port, folder / 'runs.sqlite', 2))} {streams.where}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        time.sleep(MOMENT_S)
    return done


def test_a_run_needs_nobody_who_hears_of_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(len(STREAMS)) as pool:
        done = dict(zip(STREAMS, pool.map(piped, STREAMS.values(), map(tmp_path.joinpath, STREAMS)), strict=True))
    for name, streams in STREAMS.items():
        assert (done[name].returncode, done[name].stderr) == (streams.code, streams.complains), name
        with Store.open(tmp_path / name / "runs.sqlite") as store:
            run = store.load("last")
        assert (run.run.status, run.run.safe_state, len(run.trials)) == (streams.status, "confirmed", streams.trials), name
        assert_off(tmp_path / name / "pins.vcd", run)


def test_a_board_that_vanishes_in_set_up_is_not_confirmed_safe(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with twin(tmp_path / "pins.vcd") as port:
        process = subprocess.Popen(press(port, path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: bool(runs_of(path)))
    assert process.stdout is not None
    said = process.stdout.readline()
    assert re.match("the board is gone: .*; waiting for it", said)
    process.send_signal(signal.SIGINT)
    rest, complained = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, complained) == (4, "")
    assert "NOT CONFIRMED SAFE: cut the power by hand" in rest
    with Store.open(path) as store:
        run = store.load("last")
    assert (run.run.status, run.run.safe_state, run.run.note) == ("aborted by operator", "not confirmed", "stopped by SIGINT")
    assert run.trials == ()


def test_a_demo_whose_terminal_is_closed_is_kept_whole(tmp_path: Path) -> None:
    """With its live bar, which is drawn from a thread of its own."""
    vcd, path = tmp_path / "pins.vcd", tmp_path / "runs.sqlite"
    with twin(vcd) as port:
        command = [LAUNCHRIG, "demo", "--rig", port, "--trials", "1000", "--pace", "1s", "--operator", "none", "--out", tmp_path]
        master, slave = os.openpty()
        process = subprocess.Popen(["setsid", "--ctty", *command], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        wait_until(lambda: any(seen(path)))
        os.close(master)
        code = process.wait(timeout=PATIENCE_S)
        time.sleep(MOMENT_S)
    assert code == 4
    with Store.open(path) as store:
        run = store.load("last")
    assert (run.run.status, run.run.safe_state, run.run.note) == ("aborted by operator", "confirmed", "stopped by SIGHUP")
    assert [trial.number for trial in run.trials] == list(range(1, len(run.trials) + 1))
    assert (tmp_path / "report.html").exists()
    assert_off(vcd, run)


def seen(path: Path) -> tuple[Trial, ...]:
    if not runs_of(path):
        return ()
    with Store.open(path, create=False) as store:
        return store.load("last").trials


def assert_off(vcd: Path, run: RunData) -> None:
    (life,) = (life for life in Pins(vcd).lives() if life.boot_count == run.run.firmware["boot_count"])
    actuated = [trial for trial in run.trials if trial.tick is not None]
    assert len(life.pushes) - len(actuated) in (0, 1), "more is only a trial that could not be stored"
    assert life.pins.on(life.last_heard) == set()
    assert life.readings()[-1].outputs == 0
