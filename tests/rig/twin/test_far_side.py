# SPDX-License-Identifier: Apache-2.0
"""Opening a pseudo-terminal is a board's reset, so no opening may go unseen, however short the port was closed."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from rig.twin.far_side import FarSide


@pytest.fixture
def pty() -> Iterator[tuple[FarSide, str]]:
    master, far = os.openpty()
    path = os.ttyname(far)
    os.close(far)
    side = FarSide(master, path)
    yield side, path
    side.close()
    os.close(master)


def take(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY)


def test_nobody_is_there_at_first(pty: tuple[FarSide, str]) -> None:
    side, _ = pty
    assert not side.look()
    assert not side.is_open


def test_an_opening_is_told_once(pty: tuple[FarSide, str]) -> None:
    side, path = pty
    held = take(path)
    assert (side.look(), side.is_open) == (True, True)
    assert (side.look(), side.is_open) == (False, True)
    os.close(held)
    assert (side.look(), side.is_open) == (False, False)


def test_a_port_that_is_closed_and_opened_between_two_looks_was_opened(pty: tuple[FarSide, str]) -> None:
    side, path = pty
    held = take(path)
    side.look()
    for _ in range(3):
        os.close(held)
        held = take(path)
        assert (side.look(), side.is_open) == (True, True)
    os.close(held)


def test_a_port_that_is_opened_and_closed_between_two_looks_was_opened(pty: tuple[FarSide, str]) -> None:
    side, path = pty
    os.close(take(path))
    assert (side.look(), side.is_open) == (True, False)


def test_a_second_program_that_comes_and_goes_resets_nothing(pty: tuple[FarSide, str]) -> None:
    side, path = pty
    held = take(path)
    side.look()
    os.close(take(path))
    assert (side.look(), side.is_open) == (False, True)
    second = take(path)
    assert not side.look()
    os.close(second)
    os.close(held)
    assert (side.look(), side.is_open) == (False, False)


class SlowHangUp:
    """A port whose closing is told before it has happened."""

    def poll(self, ms: int) -> list[tuple[int, int]]:
        return [(0, select.POLLHUP)] if ms else []


def test_a_closing_that_is_told_early_is_waited_for(pty: tuple[FarSide, str]) -> None:
    side, path = pty
    held = take(path)
    side.look()
    os.close(held)
    side._poll = SlowHangUp()  # type: ignore[assignment]
    assert (side.look(), side.is_open) == (False, False)
    held = take(path)
    assert side.look(), "the next one that opens it resets the board"
    os.close(held)


def test_without_file_events_a_hang_up_tells(pty: tuple[FarSide, str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = pty
    master, far = os.openpty()
    path = os.ttyname(far)
    os.close(far)
    monkeypatch.setattr("rig.twin.far_side.ctypes.CDLL", lambda name: NoEvents())
    side = FarSide(master, path)
    assert side.events < 0
    held = take(path)
    assert (side.look(), side.is_open) == (True, True)
    os.close(held)
    assert (side.look(), side.is_open) == (False, False)
    side.close()
    os.close(master)


class NoEvents:
    """A C library whose system has no file events left."""

    def inotify_init1(self, flags: int) -> int:
        return -1
