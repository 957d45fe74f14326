# SPDX-License-Identifier: Apache-2.0
"""What only a serial link can say: whose fault it is that a port does not open. The rest is in `test_contract.py`."""

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


def test_a_port_that_vanishes_is_said_to_have_vanished(pair: tuple[int, SerialLink]) -> None:
    master, link = pair
    os.close(master)
    with pytest.raises(LinkLostError, match="vanished"):
        for _ in range(3):
            link.read(link.clock.now() + 0.1)


def test_a_second_opener_is_told_that_the_port_is_busy(pair: tuple[int, SerialLink]) -> None:
    _, link = pair
    with pytest.raises(PortBusyError, match="another program"):
        SerialLink(link.url)


def test_a_missing_port_and_a_bad_scheme_are_told_apart() -> None:
    with pytest.raises(NotOurBoardError, match="no such port"):
        SerialLink("/dev/ttyNOSUCH0")
    with pytest.raises(BadRigError, match="not a port"):
        SerialLink("nosuch://host:1")
