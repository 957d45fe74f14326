# SPDX-License-Identifier: Apache-2.0
"""The firmware's core in C++: under sanitizers on the host, and its framing on an AVR."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from rig.twin.avr import CYCLE_HZ, Avr

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def built() -> Path:
    """The directory with both programs, up to date."""
    (HERE / "build").mkdir(exist_ok=True)
    with (HERE / "build" / "lock").open("w") as lock:  # parallel test workers build one after the other
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "-s", f"PYTHON={sys.executable}"], cwd=HERE, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return HERE / "build"


def test_the_core_passes_its_tests_under_sanitizers(built: Path) -> None:
    ran = subprocess.run([built / "core_tests", "--no-colors"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]


def test_every_golden_frame_passes_on_the_avr(built: Path) -> None:
    said = b""
    with Avr(built / "avr_vectors.elf") as avr:
        while not said.endswith(b"\0") and avr.cycle < 10 * CYCLE_HZ:
            said += avr.run(10 * CYCLE_HZ).tx
    assert said == b"PASS\n\0"
