# SPDX-License-Identifier: Apache-2.0
"""The first signal asks, the second acts: real signals on a real process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

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


def send_again(child: subprocess.Popen[str], number: signal.Signals) -> None:
    """A signal that comes too late to be an echo of the first."""
    WallClock().sleep(ECHO_S)
    child.send_signal(number)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_later_second_signal_whichever_panics_and_exits_as_aborted(number: signal.Signals, child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGTERM)
    assert said(child) == "asked by SIGTERM"
    send_again(child, number)
    assert said(child) == "panic"
    assert child.wait(timeout=60) == 4


@pytest.mark.parametrize("child", ["raise OSError('the cable is gone')"], indirect=True)
def test_a_panic_that_fails_still_exits_as_aborted(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGHUP)
    assert said(child) == "asked by SIGHUP"
    send_again(child, signal.SIGTERM)
    assert child.wait(timeout=60) == Exit.aborted


class StandingClock(WallClock):
    """A clock that goes on only by sleeping on it."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


@pytest.mark.parametrize("numbers", list(product(SIGNALS, repeat=2)), ids=lambda numbers: " ".join(each.name for each in numbers))
def test_any_signals_within_the_echo_are_one_wish(numbers: tuple[signal.Signals, signal.Signals]) -> None:
    """As a service manager sends TERM and HUP together, and a shell passes a closed terminal on. A panic ends this process."""
    clock = StandingClock()
    flag = StopFlag(clock)
    flag.panic = lambda: pytest.fail("one wish was taken for two")
    first, second = numbers
    flag._handle(first, None)
    for _ in range(3):
        clock.sleep(0.9 * ECHO_S / 3)
        flag._handle(second, None)
    assert flag.by == first.name


def test_an_echo_changes_nothing_and_a_later_signal_is_the_second_wish(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGHUP)
    assert said(child) == "asked by SIGHUP"
    child.send_signal(signal.SIGTERM)
    WallClock().sleep(ECHO_S)
    assert child.poll() is None
    child.send_signal(signal.SIGHUP)
    assert said(child) == "panic"
    assert child.wait(timeout=60) == Exit.aborted


@pytest.mark.parametrize("child", ["stop.safe(); stop.panic()"], indirect=True)
def test_what_is_said_of_the_outputs_is_what_is_known_of_them(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGTERM)
    assert said(child) == "asked by SIGTERM"
    send_again(child, signal.SIGINT)
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
