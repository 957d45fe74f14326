# SPDX-License-Identifier: Apache-2.0
"""The first signal asks, the second acts: real signals on a real process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from controller.signals import ECHO_S, SIGNALS, StopFlag, stop_on_signals
from controller.verdict import Exit
from rig.clock import WallClock

CHILD = """
import time
from controller.signals import stop_on_signals

def panic():
    print("panic", flush=True)
    {panic}

with stop_on_signals() as stop:
    stop.panic = panic
    print("ready", flush=True)
    while not stop():
        time.sleep(0.01)
    print("asked by", stop.by, flush=True)
    while True:
        time.sleep(1.0)
"""


@pytest.fixture
def child(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that tells of its stop flag, and does not stop."""
    code = CHILD.format(panic=getattr(request, "param", "pass"))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert said(process) == "ready"
    yield process
    process.kill()
    process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_the_first_signal_only_asks(number: signal.Signals, child: subprocess.Popen[str]) -> None:
    child.send_signal(number)
    assert said(child) == f"asked by {number.name}"
    assert child.poll() is None


def test_the_second_signal_panics_and_exits_as_aborted(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGTERM)
    assert said(child) == "asked by SIGTERM"
    child.send_signal(signal.SIGINT)
    assert said(child) == "panic"
    assert child.wait(timeout=60) == 4


@pytest.mark.parametrize("child", ["raise OSError('the cable is gone')"], indirect=True)
def test_a_panic_that_fails_still_exits_as_aborted(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGHUP)
    assert said(child) == "asked by SIGHUP"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == Exit.aborted


def test_the_same_signal_twice_at_once_is_one_wish_and_later_a_second_one(child: subprocess.Popen[str]) -> None:
    """As a shell passes a closed terminal on, and the kernel tells it once more when the shell ends."""
    child.send_signal(signal.SIGHUP)
    assert said(child) == "asked by SIGHUP"
    child.send_signal(signal.SIGHUP)
    WallClock().sleep(ECHO_S)
    assert child.poll() is None
    child.send_signal(signal.SIGHUP)
    assert said(child) == "panic"
    assert child.wait(timeout=60) == Exit.aborted


@pytest.mark.parametrize("child", ["stop.safe(); stop.panic()"], indirect=True)
def test_what_is_said_of_the_outputs_is_what_is_known_of_them(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGTERM)
    assert said(child) == "asked by SIGTERM"
    child.send_signal(signal.SIGINT)
    _, complained = child.communicate(timeout=60)
    assert complained == "launchrig: stopped at once, the outputs were off by then, confirmed\n"


def test_a_flag_that_nobody_raised_is_down() -> None:
    flag = StopFlag()
    assert not flag()
    assert flag.by == ""


def test_afterwards_signals_mean_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with stop_on_signals() as flag:
        signal.raise_signal(signal.SIGTERM)
        assert flag()
        assert flag.by == "SIGTERM"
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_signals_are_given_back_when_the_run_raises() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in SIGNALS] == before
