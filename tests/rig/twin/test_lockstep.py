# SPDX-License-Identifier: Apache-2.0
"""A twin's two processes share a processor, and two twins do not while another is free."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.twin.lockstep import OneProcessor


@pytest.fixture
def child() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_both_are_bound_to_one_processor_and_this_one_is_let_go_again(child: int, tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    bound = OneProcessor(child, tmp_path)
    try:
        assert len(os.sched_getaffinity(child)) == 1
        assert os.sched_getaffinity(0) == os.sched_getaffinity(child)
    finally:
        bound.release()
    bound.release()
    assert os.sched_getaffinity(0) == before


def test_a_processor_that_is_taken_is_left_alone(child: int, tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    first = OneProcessor(child, tmp_path)
    second = OneProcessor(child, tmp_path)  # this process may run on the first one's only
    try:
        assert second._lock is None
    finally:
        second.release()
        first.release()
    assert os.sched_getaffinity(0) == before


def test_a_cache_that_cannot_be_used_binds_nothing(child: int, tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    OneProcessor(child, tmp_path / "none").release()
    assert os.sched_getaffinity(0) == os.sched_getaffinity(child) == before
