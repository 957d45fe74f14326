# SPDX-License-Identifier: Apache-2.0
"""Progress is a live bar on a terminal and a few plain lines anywhere else."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from controller.campaigns.shared import Progress
from controller.campaigns.words import WORDS
from controller.progress import PLAIN_LINES, shown
from rig.wire.messages import Launcher
from tests.controller.conftest import make_trial


class SteppedClock:
    """A second for each look, so that the rate is known."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def now(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds


def told(
    total: int,
    *,
    terminal: bool = False,
    verdicts: dict[int, str] | None = None,
    width: int = 200,
    launcher: Launcher = Launcher.roller,
) -> str:
    out, clock = StringIO(), SteppedClock()
    console = Console(file=out, force_terminal=terminal, width=width, color_system=None)
    with shown(console, total, clock) as update:
        for done in range(1, total + 1):
            clock.sleep(0.5)
            trial = make_trial(number=done, verdict=(verdicts or {}).get(done, "ok"))
            update(Progress(trial, done, total, 2 * done, WORDS[launcher]))
    return out.getvalue()


def test_a_long_run_tells_ten_plain_lines_and_no_control_codes() -> None:
    text = told(1000)
    assert len(text.splitlines()) == PLAIN_LINES
    assert "\x1b" not in text and "\r" not in text
    assert [line.split(" presses")[0] for line in text.splitlines()] == [f"{n} of 1000" for n in range(100, 1001, 100)]


@pytest.mark.parametrize("total", [1, 3, 7, 10, 19, 25, 101])
def test_the_last_line_is_always_the_end(total: int) -> None:
    lines = told(total).splitlines()
    assert 1 <= len(lines) < 2 * PLAIN_LINES + 1
    assert lines[-1].startswith(f"{total} of {total} presses, {2 * total} cards")
    assert lines[-1].endswith("0 s left")


def test_a_line_tells_the_rate_and_the_time_left() -> None:
    assert told(100).splitlines()[0] == "10 of 100 presses, 20 cards; 2/s, 45 s left"


def test_troubles_are_counted_from_the_beginning_and_named() -> None:
    lines = told(20, verdicts={1: "jam", 2: "slip", 3: "slip", 4: "no_run", 11: "rejected", 12: "fault", 20: "empty"}).splitlines()
    assert "(jam 1, slip 1)" in lines[0]
    assert "(jam 1, slip 2)" in lines[1]
    assert "(jam 1, slip 2, empty 1, rejected 1, fault 1)" in lines[-1]
    assert "no_run" not in "".join(lines), "a normal zero is no trouble"


def test_a_blaster_is_told_of_in_its_own_words() -> None:
    lines = told(20, verdicts={1: "held", 2: "partial", 3: "latch_fault", 4: "slip"}, launcher=Launcher.blast).splitlines()
    assert lines[-1].startswith("20 of 20 inserts and resets, 40 cards (partial 1, latch_fault 1); ")
    bar = told(20, terminal=True, launcher=Launcher.blast)
    assert "20/20" in [line for line in bar.splitlines() if "inserts and resets" in line][-1]


def test_a_plain_line_is_never_broken() -> None:
    narrow = told(10, width=20)
    assert narrow.splitlines()[-1].startswith("10 of 10 presses, 20 cards")


def test_a_terminal_has_a_bar_that_ends_full() -> None:
    text = told(40, terminal=True, verdicts={3: "jam"})
    assert "\x1b[" in text
    last = [line for line in text.splitlines() if "presses" in line][-1]
    assert "40/40" in last
    assert "80 cards (jam 1)" in last
    assert "of 40 presses" not in text
