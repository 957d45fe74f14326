# SPDX-License-Identifier: Apache-2.0
"""A rig's URL opens what it names, says all that is needed to open the same again, or is refused in one line."""

from __future__ import annotations

import os
import socket
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rig.errors import BadRigError, NotOurBoardError
from rig.links.faulty import FaultyLink
from rig.links.serial import SerialLink
from rig.open import open_rig
from rig.requests import PressRequest
from rig.rig import Rig
from tests.twins import TAME, bench_of, launcher_on


@contextmanager
def rig_of(url: str, seed: int | None = None) -> Iterator[Rig]:
    rig = open_rig(url, seed=seed)
    try:
        yield rig
    finally:
        rig.close()


@pytest.fixture
def port() -> Iterator[str]:
    master, slave = os.openpty()
    tty.setraw(slave)
    yield os.ttyname(slave)
    os.close(slave)
    os.close(master)


def test_faults_take_their_seed_from_the_twin() -> None:
    with rig_of("faulty+twin:roller?seed=7&corrupt=0.01") as rig:
        assert rig.url == "faulty+twin:roller?seed=7&corrupt=0.01&fault_seed=7"
        assert isinstance(rig.link, FaultyLink)
        assert rig.link.faults.corrupt == 0.01
        assert bench_of(rig).avr.cycle == 0


def test_the_url_of_a_rig_opens_the_same_rig() -> None:
    with rig_of("faulty+twin:roller?drop=0.25&jam=0.5") as rig:
        url, seed = rig.url, rig.seed
    assert url == f"faulty+twin:roller?seed={seed}&jam=0.5&drop=0.25&fault_seed={seed}"
    with rig_of(url) as again:
        assert (again.url, again.seed) == (url, seed)


def test_a_seed_of_the_faults_is_kept() -> None:
    with rig_of("faulty+twin:roller?drop=0.25&fault_seed=3", seed=8) as rig:
        assert rig.url == "faulty+twin:roller?seed=8&drop=0.25&fault_seed=3"


def test_two_ports_whose_faults_nobody_seeded_do_not_fail_alike(port: str) -> None:
    seen = set()
    for _ in range(2):
        with rig_of(f"faulty+{port}?drop=0.25") as rig:
            base, _, seed = rig.url.rpartition("=")
            assert base == f"faulty+{port}?drop=0.25&fault_seed"
            seen.add(seed)
    assert len(seen) == 2


def test_hands_preload_and_truth_go_past_the_faults() -> None:
    with rig_of(f"faulty+{TAME}&delay=0.001&delay_ms=2") as rig:
        rig.preload(30)
        launcher = launcher_on(rig)
        launcher.prepare()
        trial = launcher.perform(PressRequest(number=1, burst=1, index=0, tick=launcher.tick_now(), hopper=30))
        assert trial.cleared > 0
        launcher.safe_state()
        assert rig.operator.count_out(rig.link.clock.sleep) == 30 - trial.cleared
        assert rig.truth is not None


def test_a_port_has_the_rate_that_its_url_says(port: str) -> None:
    with rig_of(f"{port}?baud=500000") as rig:
        assert isinstance(rig.link, SerialLink)
        assert rig.url == f"{port}?baud=500000"
        assert rig.link.url == port
    with rig_of(f"faulty+{port}?drop=0.5&baud=9600&fault_seed=1") as rig:
        assert rig.url == f"faulty+{port}?baud=9600&drop=0.5&fault_seed=1"


def test_a_network_port_keeps_its_own_parameters() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"socket://127.0.0.1:{server.getsockname()[1]}"
        with rig_of(f"faulty+{address}?logging=error&drop=1&baud=9600") as rig:
            assert isinstance(rig.link, FaultyLink)
            assert isinstance(rig.link.inner, SerialLink)
            assert rig.link.inner.url == f"{address}?logging=error"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("faulty+", "names no rig; write for example .*faulty\\+twin:roller"),
        ("faulty+", r"^'faulty\+' names no rig"),
        ("faulty+?drop=0.1", r"^'faulty\+\?drop=0.1' names no rig"),
        ("faulty+foo?drop=0.1", "'foo' names no rig"),
        ("/dev/a\tb", r"^'/dev/a\\tb' names no rig"),
        ("socket://localhost:99999999", "a network port is a number from 0 to 65535, and 99999999 is none"),
        ("faulty+rfc2217://localhost:65536?drop=0.1", "from 0 to 65535, and 65536 is none"),
        ("socket://localhost:４０００", "names no rig"),
        ("faulty+twin:roller?corrupt=０.１", "corrupt: '０.１' is not a number"),
        ("faulty+twin:roller?cut_ms=1_0", "cut_ms: '1_0' is not a number"),
        ("twin:roller?sequence_length=1_0", "sequence_length: '1_0' is not a whole number"),
        ("twin:roller?sequence=2,٦", "sequence: '2,٦' is not whole numbers"),
        ("twin:roller?run_ms=1_45:1", "run_ms: '1_45:1' is not ms:weight pairs"),
        ("twin:roller?jam=%200.1", "jam: ' 0.1' is not a number"),
        ("faulty+twin:blaster", "'twin:blaster' is no twin"),
        ("faulty+twin:roller?jamm=1", "did you mean jam"),
        ("faulty+twin:roller?dropp=1", "did you mean drop"),
        ("faulty+twin:roller?drop=1.5", "drop: 1.5 is not within 0 to 1"),
        ("faulty+/dev/ttyACM0?drop=nan", "drop: 'nan' is not a number"),
        ("/dev/ttyACM0?drop=0.1", "drop: a port has no such parameter, only baud"),
        ("/dev/ttyACM0?baud=fast", "baud: 'fast' is no whole number from 300 to 2000000 bit/s"),
        ("/dev/ttyACM0?baud=", "baud: '' is no whole number"),
        ("COM3?baud=0", "baud: '0' is no whole number"),
        ("board:?baud=9600&baud=9600", "baud is given twice"),
        ("board:xyz", "board:xyz names no board"),
        ("faulty+board:xyz?drop=0.1", "board:xyz names no board"),
    ],
)
def test_a_bad_url_is_refused_in_one_line(url: str, says: str) -> None:
    with pytest.raises(BadRigError, match=says) as raised:
        open_rig(url)
    assert "\n" not in str(raised.value)


def test_a_missing_port_behind_faults_is_still_a_missing_port() -> None:
    with pytest.raises(NotOurBoardError, match="/dev/ttyNONE0"):
        open_rig("faulty+/dev/ttyNONE0?drop=0.1")
