# SPDX-License-Identifier: Apache-2.0
"""The serial link on real pseudo-terminals, and its errors."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator

import pytest

from rig.errors import BadRigError, LinkLostError, NotOurBoardError, PortBusyError
from rig.links.serial import SerialLink


@pytest.fixture
def pair() -> Iterator[tuple[int, SerialLink]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    link = SerialLink(os.ttyname(slave))
    os.close(slave)
    yield master, link
    link.close()


def test_bytes_travel_both_ways(pair: tuple[int, SerialLink]) -> None:
    master, link = pair
    os.write(master, bytes(range(256)))
    received = b""
    while len(received) < 256:
        received += link.read(link.clock.now() + 5)
    assert received == bytes(range(256))
    link.write(b"\0abc\0")
    assert os.read(master, 100) == b"\0abc\0"


def test_a_deadline_returns_nothing_and_loses_nothing(pair: tuple[int, SerialLink]) -> None:
    master, link = pair
    assert link.read(link.clock.now() + 0.01) == b""
    assert link.read(link.clock.now() - 1) == b""
    os.write(master, b"late")
    received = b""
    while len(received) < 4:
        received += link.read(link.clock.now() + 5)
    assert received == b"late"


def test_a_port_that_vanishes_is_a_lost_link(pair: tuple[int, SerialLink]) -> None:
    master, link = pair
    os.close(master)
    with pytest.raises(LinkLostError, match="vanished"):
        for _ in range(3):
            link.read(link.clock.now() + 0.1)


def test_closing_twice_does_no_harm(pair: tuple[int, SerialLink]) -> None:
    _, link = pair
    link.close()
    link.close()


def test_a_second_opener_is_told_that_the_port_is_busy(pair: tuple[int, SerialLink]) -> None:
    _, link = pair
    with pytest.raises(PortBusyError, match="another program"):
        SerialLink(link.url)


def test_a_missing_port_and_a_bad_scheme_are_told_apart() -> None:
    with pytest.raises(NotOurBoardError, match="no such port"):
        SerialLink("/dev/ttyNOSUCH0")
    with pytest.raises(BadRigError, match="not a port"):
        SerialLink("nosuch://host:1")
