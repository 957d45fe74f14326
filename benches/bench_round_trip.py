# SPDX-License-Identifier: Apache-2.0
"""The round trip of an empty command through `launchrig twin --pty`, against the time that its bytes need on the wire.

ECHO with no data goes out, ECHOED and REPLY come back. To be run on a machine that has nothing else to do.
"""

from __future__ import annotations

import re
import secrets
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from rig.board import Board
from rig.links.serial import SerialLink
from rig.wire import codec
from rig.wire.frame import Frame, encode
from rig.wire.messages import BAUD, Echo, Echoed, Message, Reply

LAUNCHRIG = Path(sys.executable).with_name("launchrig")
ROUNDS = 1000
OVERHEAD_S = 0.001  # that the median may take beyond the wire
BITS_OF_A_BYTE = 10
IDLE_S = 5.0
IDLE_SHARE = 0.10  # of one processor, that a twin may take which nobody talks to


def wire_s() -> float:
    """Seconds that the three frames take at `BAUD`."""
    messages: tuple[Message, ...] = (Echo(b""), Echoed(b""), Reply(0, 0))
    size = sum(len(encode(Frame(each.TYPE, 1, 2, 3, codec.pack(each)))) for each in messages)
    return size * BITS_OF_A_BYTE / BAUD


@pytest.fixture
def twin() -> Iterator[tuple[str, psutil.Process]]:
    """The port of a twin in a process of its own, and that process."""
    with subprocess.Popen([LAUNCHRIG, "twin", "twin:roller?seed=1", "--pty"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.search(r"/dev/pts/\d+", process.stdout.readline())
        assert found
        yield found.group(), psutil.Process(process.pid)
        process.send_signal(signal.SIGINT)
        process.stdout.close()


def test_an_empty_command_takes_its_wire_time_and_less_than_a_millisecond(
    twin: tuple[str, psutil.Process], benchmark: BenchmarkFixture
) -> None:
    link = SerialLink(twin[0])
    board = Board(
        link,
        lambda message: None,
        nonce=lambda: secrets.randbits(16),
        new_uuid=lambda: uuid.uuid4().bytes,
        stop_asked=lambda: False,
    )
    benchmark.pedantic(board.demand, args=(Echo(b""),), rounds=ROUNDS, warmup_rounds=20)
    link.close()
    stats = benchmark.stats.stats
    benchmark.extra_info |= {"wire_ms": round(wire_s() * 1e3, 3), "beyond_wire_ms": round((stats.median - wire_s()) * 1e3, 3)}
    assert 0.975 * wire_s() <= stats.min, "nothing is faster than the wire, of which the AVR's own rate is 2.1 % off"
    assert stats.median <= wire_s() + OVERHEAD_S


def test_a_twin_that_nobody_talks_to_costs_little(twin: tuple[str, psutil.Process]) -> None:
    processes = [twin[1], *twin[1].children(recursive=True)]
    time.sleep(1)

    def spent() -> float:
        return sum(sum(each.cpu_times()[:2]) for each in processes)

    before = spent()
    time.sleep(IDLE_S)
    assert (spent() - before) / IDLE_S <= IDLE_SHARE
