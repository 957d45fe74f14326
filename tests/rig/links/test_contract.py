# SPDX-License-Identifier: Apache-2.0
"""What every link promises (`rig.links.base.Link`), asked of each of them in the same words.

A new link is one more row of `FAR_SIDES`: how to make it, and what its far side does.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from rig.errors import LinkLostError, RigError
from rig.links.base import Link
from rig.links.faults import Faults
from rig.links.faulty import FaultyLink
from rig.links.serial import SerialLink
from rig.links.twin import TwinLink
from rig.twin.avr import Avr
from rig.twin.bench import TwinBench
from rig.wire.messages import BAUD
from tests.system.edges import ScriptedPlant

GENEROUS_S = 20.0  # of the link's clock; no test waits that long unless it fails


class FarSide:
    """A link with an echo behind it, byte for byte; `vanish` is its end."""

    def __init__(self, link: Link, vanish: Callable[[], None]) -> None:
        self.link = link
        self.vanish = vanish

    def read(self, count: int) -> bytes:
        """`count` bytes, however they are cut into reads."""
        received = b""
        deadline = self.link.clock.now() + GENEROUS_S
        while len(received) < count and self.link.clock.now() < deadline:
            received += self.link.read(deadline)
        return received


@contextmanager
def behind_a_pty(elf: Path) -> Iterator[FarSide]:
    """A thread at the other end of a pseudo-terminal."""
    master, slave = os.openpty()
    tty.setraw(slave)  # kept open, so that the echo outlives a link that lets go
    link = SerialLink(os.ttyname(slave))
    stop, stop_it = os.pipe()

    def answer() -> None:
        with suppress(OSError):  # the link was closed
            while True:
                ready, _, _ = select.select([master, stop], [], [])
                if stop in ready:
                    return
                os.write(master, os.read(master, 4096))

    thread = threading.Thread(target=answer)
    thread.start()

    with ExitStack() as at_the_end:
        at_the_end.callback(os.close, slave)
        at_the_end.callback(link.close)
        gone = ExitStack()
        for end in (master, stop, stop_it):
            gone.callback(os.close, end)
        gone.callback(thread.join)
        gone.callback(os.write, stop_it, b"x")
        at_the_end.push(gone)
        yield FarSide(link, gone.close)


@contextmanager
def in_the_twin(elf: Path) -> Iterator[FarSide]:
    """A small echoing firmware in the simulated AVR."""
    bench = TwinBench(ScriptedPlant(), Avr(elf))
    bench.clock.sleep(0.001)  # a chip that has just got its power hears nothing yet
    try:
        yield FarSide(TwinLink(bench), lambda: os.kill(bench.avr.pid, signal.SIGKILL))
    finally:
        bench.close()


Place = Callable[[Path], AbstractContextManager[FarSide]]


def without_faults(place: Place) -> Place:
    """The link of `place` behind a faulty link that has nothing to do."""

    @contextmanager
    def wrapped(elf: Path) -> Iterator[FarSide]:
        with place(elf) as far:
            yield FarSide(FaultyLink(far.link, Faults(), seed=1), far.vanish)

    return wrapped


FAR_SIDES: dict[str, Place] = {
    "serial": behind_a_pty,
    "twin": in_the_twin,
    "faulty serial": without_faults(behind_a_pty),
    "faulty twin": without_faults(in_the_twin),
}


@pytest.fixture(scope="module")
def echo_elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    elf = tmp_path_factory.mktemp("echo") / "echo.elf"
    subprocess.run(["avr-gcc", "-Os", "-mmcu=atmega328p", "-o", elf, Path(__file__).with_name("echo.c")], check=True)
    return elf


@pytest.fixture(params=FAR_SIDES)
def far(request: pytest.FixtureRequest, echo_elf: Path) -> Iterator[FarSide]:
    with FAR_SIDES[request.param](echo_elf) as far:
        yield far


def frame(data: bytes) -> bytes:
    """As everything on the wire: ended by a zero."""
    return data + b"\0"


def test_every_byte_value_travels_both_ways_in_order(far: FarSide) -> None:
    sent = frame(bytes(range(255, -1, -1)) * 4)
    far.link.write(sent)
    assert far.read(len(sent)) == sent


def test_nothing_arrived_by_the_deadline_is_no_bytes_and_not_before_it(far: FarSide) -> None:
    clock = far.link.clock
    deadline = clock.now() + 0.05
    assert far.link.read(deadline) == b""
    assert clock.now() >= deadline


def test_a_deadline_that_has_passed_does_not_wait(far: FarSide) -> None:
    clock = far.link.clock
    before = clock.now()
    assert far.link.read(before - GENEROUS_S) == b""
    assert far.link.read(before) == b""
    assert clock.now() < before + GENEROUS_S


def test_a_read_returns_with_the_first_bytes_long_before_its_deadline(far: FarSide) -> None:
    clock = far.link.clock
    before = clock.now()
    far.link.write(frame(b"x"))
    assert far.link.read(before + GENEROUS_S)
    assert clock.now() < before + GENEROUS_S / 2


def test_what_a_deadline_cut_off_comes_with_the_next_read(far: FarSide) -> None:
    sent = frame(b"abcdefgh")
    far.link.write(sent)
    received = b""
    until = far.link.clock.now() + GENEROUS_S
    while len(received) < len(sent) and far.link.clock.now() < until:
        received += far.link.read(far.link.clock.now() + 50e-6)  # less than a byte lasts
    assert received == sent


def test_bytes_that_came_while_nobody_read_are_kept(far: FarSide) -> None:
    far.link.write(frame(b"while"))
    far.link.clock.sleep(0.1)
    far.link.write(frame(b"away"))
    assert far.read(11) == frame(b"while") + frame(b"away")


def test_writing_nothing_sends_nothing(far: FarSide) -> None:
    far.link.write(b"")
    assert far.link.read(far.link.clock.now() + 0.02) == b""


def test_reading_from_a_far_side_that_is_gone_is_a_lost_link(far: FarSide) -> None:
    far.vanish()
    with pytest.raises(LinkLostError):
        for _ in range(3):
            far.link.read(far.link.clock.now() + 0.1)


def test_talking_to_a_far_side_that_is_gone_is_a_lost_link(far: FarSide) -> None:
    far.vanish()
    with pytest.raises(LinkLostError):
        for _ in range(3):
            far.link.write(frame(b"anybody?"))
            far.link.read(far.link.clock.now() + 0.1)


def test_closing_twice_does_no_harm(far: FarSide) -> None:
    far.link.close()
    far.link.close()


def test_closing_after_the_far_side_has_gone_does_no_harm(far: FarSide) -> None:
    far.vanish()
    far.link.close()


def test_a_closed_link_is_a_lost_link(far: FarSide) -> None:
    far.link.close()
    with pytest.raises(LinkLostError):
        far.link.read(far.link.clock.now() + 0.1)


def settle(far: FarSide) -> None:
    """A board that was just opened hears nothing yet."""
    far.link.clock.sleep(0.01)


def test_a_link_that_was_opened_again_carries_bytes_again(far: FarSide) -> None:
    for _ in range(2):
        far.link.reopen()
        settle(far)
        far.link.write(frame(b"again"))
        assert far.read(6) == frame(b"again")


def test_what_had_come_before_a_link_was_opened_again_is_gone(far: FarSide) -> None:
    far.link.write(frame(b"before"))
    far.link.clock.sleep(0.1)
    far.link.reopen()
    settle(far)
    far.link.write(frame(b"after"))
    assert far.read(6) == frame(b"after")


def test_opening_again_a_far_side_that_is_gone_is_an_error_each_time(far: FarSide) -> None:
    far.vanish()
    for _ in range(2):
        with pytest.raises(RigError):
            far.link.reopen()
            for _ in range(3):
                far.link.read(far.link.clock.now() + 0.1)


def test_a_link_goes_on_at_the_rate_that_is_set(far: FarSide) -> None:
    far.link.set_baud(BAUD)
    far.link.write(frame(b"as before"))
    assert far.read(10) == frame(b"as before")


def test_a_closed_link_has_no_rate_that_could_be_set_or_carries_no_byte_at_it(far: FarSide) -> None:
    far.link.close()
    with pytest.raises(LinkLostError):
        far.link.set_baud(BAUD)
        far.link.read(far.link.clock.now() + 0.1)


def test_telling_what_a_link_is_for_changes_nothing_on_it(far: FarSide) -> None:
    far.link.held_for("run 12")
    far.link.write(frame(b"x"))
    far.link.held_for("run 13")
    assert far.read(2) == frame(b"x")
    far.link.close()
    far.link.held_for("run 14")


def test_a_port_that_was_closed_can_be_opened_again(echo_elf: Path) -> None:
    for place in (behind_a_pty, without_faults(behind_a_pty)):  # a simulator that was ended is not brought back
        with place(echo_elf) as far:
            far.link.close()
            far.link.reopen()
            far.link.write(frame(b"back"))
            assert far.read(5) == frame(b"back")
