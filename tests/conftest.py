# SPDX-License-Identifier: Apache-2.0
"""What the packaged firmware took of the AVR, over every test that ran it, in whatever process: measured, and a gate.

Every AVR of the session is audited and leaves its figures when it is closed (`rig.twin.avr.STATS_DIRECTORY`). At the end the
worst are printed; one beyond its limit fails the session. Only a process that is killed leaves none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from rig.twin.avr import STATS_DIRECTORY
from tests.gate import Figure, figures, read_stats

FIGURES = pytest.StashKey[list[Figure]]()
OWNED = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and STATS_DIRECTORY not in os.environ:  # workers of xdist inherit it
        config.stash[OWNED] = Path(tempfile.mkdtemp(prefix="launchrig-avr-"))
        os.environ[STATS_DIRECTORY] = str(config.stash[OWNED])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    directory = session.config.stash.get(OWNED, None)
    if directory is None:
        return
    found = figures(read_stats(directory))
    session.config.stash[FIGURES] = found
    if session.exitstatus == pytest.ExitCode.OK and not all(figure.holds for figure in found):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for figure in config.stash.get(FIGURES, []):
        if not figure.holds:
            terminalreporter.section("the firmware is beyond a limit", red=True)
        terminalreporter.write_line(str(figure), red=not figure.holds)


def pytest_unconfigure(config: pytest.Config) -> None:
    directory = config.stash.get(OWNED, None)
    if directory is not None:
        os.environ.pop(STATS_DIRECTORY, None)
        shutil.rmtree(directory, ignore_errors=True)
