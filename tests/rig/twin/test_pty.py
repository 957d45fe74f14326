# SPDX-License-Identifier: Apache-2.0
"""The pseudo-terminal is a port as a board has one: opening resets, bytes have a rate, a bootloader is there to be talked to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rig.errors import BadRigError
from rig.flash import Listener
from rig.links.serial import SerialLink
from rig.twin import bootloader, pty
from rig.twin.pty import BRIDGE_BYTES, PtyTwin

PATIENCE_S = 60
BYTES_PER_S = 11_800  # 115200, as fast as the AVR makes it
KERNEL_BYTES = 70_000  # that a pseudo-terminal holds between its sides, and some
FLOOD_BYTES = 90_000


@pytest.fixture
def served() -> Iterator[Callable[[str], PtyTwin]]:
    """Starts a twin that is served by a thread until the test is over."""
    with ExitStack() as stack:

        def start(url: str) -> PtyTwin:
            twin = stack.enter_context(PtyTwin(url))
            over = threading.Event()
            thread = threading.Thread(target=twin.serve, args=(over.is_set,))
            stack.callback(thread.join)
            stack.callback(over.set)
            thread.start()
            return twin

        yield start


class Hurried:
    """A clock by which 10 ms pass from look to look."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        self._now += 0.01
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


def heard(link: SerialLink, enough: Callable[[bytes], bool], patience_s: float = PATIENCE_S) -> bytes:
    """What comes until it is enough."""
    data, until = b"", link.clock.now() + patience_s
    while not enough(data) and link.clock.now() < until:
        data += link.read(link.clock.now() + 0.1)
    return data


def test_every_opening_is_a_reset_however_short_the_port_was_closed(served: Callable[[str], PtyTwin]) -> None:
    link = SerialLink(served("twin:roller?seed=1").path)
    for _ in range(5):
        assert bootloader_answers(link), "it listens for a second after a reset"
        link.reopen()
    link.close()


def bootloader_answers(link: SerialLink) -> bool:
    """What is sent before a board is through with its reset is lost, so ask again until somebody answers, who may be another."""
    for _ in range(PATIENCE_S * 5):
        link.write(b"0 ")
        if answer := heard(link, lambda data: len(data) >= 2, 0.2):
            return answer.startswith(b"\x14\x10")
    return False


def test_what_a_program_left_behind_is_not_heard_by_the_board_that_the_next_one_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pty, "IDLE_S", 0.0)
    told: list[bytes] = []
    with PtyTwin("twin:roller?seed=1", clock=Hurried()) as twin:
        monkeypatch.setattr(twin, "_put_in", told.append)
        first = os.open(twin.path, os.O_RDWR | os.O_NOCTTY)
        os.write(first, b"\x55" * 3000)  # ended in the middle of writing, before the twin has come to read it
        os.close(first)
        second = os.open(twin.path, os.O_RDWR | os.O_NOCTTY)
        twin.serve(lambda: twin._parts.bench.clock.now() > 0.5)
        os.write(second, b"0 ")
        twin.serve(lambda: twin._parts.bench.clock.now() > 1.0)
        os.close(second)
    assert b"".join(told) == b"0 "


def test_at_the_wrong_rate_both_sides_hear_rubbish(served: Callable[[str], PtyTwin]) -> None:
    link = SerialLink(served("twin:roller?seed=1&bootloader=none").path, 57_600)
    listener = Listener()
    listener.feed(heard(link, lambda data: len(data) > 100))
    assert listener.heard.count > 100
    assert listener.heard.protocol is None
    link.set_baud(115_200)
    listener = Listener()
    listener.feed(heard(link, lambda data: len(data) > 100))
    assert listener.heard.ours is not None
    link.close()


def test_a_flood_waits_on_the_far_side_as_at_a_wire(served: Callable[[str], PtyTwin]) -> None:
    port = os.open(served("twin:roller?seed=1&bootloader=none").path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    begun, sent = time.monotonic(), 0
    while sent < FLOOD_BYTES and time.monotonic() < begun + PATIENCE_S:
        try:
            sent += os.write(port, b"\x55" * 256)
        except BlockingIOError:
            time.sleep(0.001)
    allowed = KERNEL_BYTES + BRIDGE_BYTES + (time.monotonic() - begun) * BYTES_PER_S
    os.close(port)
    assert FLOOD_BYTES <= sent <= allowed, "no faster than the wire, and nothing stops for good"


@pytest.mark.parametrize("url", ["twin:roller?seed=1", "twin:blast?seed=1"])
def test_there_it_reloads_itself_when_it_is_idle_and_empty(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pty, "IDLE_S", 0.0)  # as fast as it goes: it looks at the clock as often as it can
    with PtyTwin(f"{url}&bootloader=none", clock=Hurried()) as twin:
        bench, plant = twin._parts.bench, twin._parts.plant
        bench.take_out()
        assert plant.is_empty
        twin.serve(lambda: not plant.is_empty)
        assert 15 <= bench.clock.now() < 30, "5 s of rest, 10 s until hands are in"
        assert bench.take_out() == twin._parts.twin.fill(twin._parts.parameters)


def test_the_bootloader_is_there_where_the_machine_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with PtyTwin("twin:roller?seed=1") as twin:
        assert twin.bootloader == "optiboot"
    with PtyTwin("twin:roller?seed=1&bootloader=none") as twin:
        assert twin.bootloader == "none"
    monkeypatch.setattr(bootloader, "HOME", tmp_path)
    with PtyTwin("twin:roller?seed=1") as twin:
        assert twin.bootloader == "none"
    with pytest.raises(BadRigError, match="apt-get install"):
        PtyTwin("twin:roller?seed=1&bootloader=optiboot")
