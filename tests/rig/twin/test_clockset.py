# SPDX-License-Identifier: Apache-2.0
"""`tick0=`: the firmware's clock starts where a run wants it, in every life of the board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.errors import BadRigError
from rig.links.twin import TwinLink
from rig.open import open_rig
from rig.rig import Rig
from rig.twin.avr import CYCLE_HZ
from rig.twin.rig import make_twin
from rig.wire.messages import Boot, GetStatus, Status
from rig.wire.session import Session
from tests.twins import bench_of, launcher_on

TICK0 = (1 << 48) - 3 * CYCLE_HZ
MOD = 1 << 48


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A twin whose clock is 3 s before its wrap when it starts."""
    rig = open_rig(f"twin:roller?seed=1&tick0={TICK0}", seed=None)
    yield rig
    rig.close()


def raw_tick(rig: Rig) -> int:
    """The tick that STATUS tells, as it is on the wire, in a conversation of its own."""
    link, session = rig.link, Session()
    booted = False
    for _ in range(10_000):
        link.write(session.output(link.clock.now()))
        for message in session.receive(link.read(min(session.deadline(), link.clock.now() + 0.05)), link.clock.now()):
            if isinstance(message, Boot) and not booted:
                booted = True
                session.begin(message, message.protocol_hash, 99)
                session.send(GetStatus())
            if isinstance(message, Status):
                return message.tick
    raise AssertionError("no STATUS")


def test_the_clock_starts_at_its_tick_and_keeps_the_timers_low_words(rig: Rig) -> None:
    tick = raw_tick(rig)
    assert 0 <= (tick - TICK0) % MOD < CYCLE_HZ // 2
    plain = open_rig("twin:roller?seed=1", seed=None)
    assert abs((tick - raw_tick(plain)) % 65536 - 32768) > 32768 - 4096  # equal, but for when they were asked
    plain.close()


def test_it_is_set_again_after_every_reset(rig: Rig) -> None:
    assert isinstance(rig.link, TwinLink)
    raw_tick(rig)
    rig.link.clock.sleep(10)
    for power_on in (False, True):
        bench_of(rig).reset(power_on=power_on)
        rig.link.read(rig.link.clock.now())  # what was said before
        assert 0 <= (raw_tick(rig) - TICK0) % MOD < CYCLE_HZ // 2


def test_a_host_sees_one_line_of_ticks_across_the_wrap(rig: Rig) -> None:
    launcher = launcher_on(rig)
    before = launcher.board.status().tick
    launcher.idle(5)
    after = launcher.board.status().tick
    assert TICK0 <= before < MOD <= after
    assert (after - before) / CYCLE_HZ == pytest.approx(5, abs=0.05)


def test_a_firmware_without_the_count_is_named(echo_elf: Path) -> None:
    with pytest.raises(BadRigError, match=r"echo\.elf has no symbol launchrig_overflows"):
        make_twin(f"twin:roller?elf={echo_elf}&tick0=7")


@pytest.mark.parametrize("text", ["-1", "281474976710656", "1e9", "x"])
def test_a_tick_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(BadRigError, match=r"tick0: .* is no whole number from 0 to 2\^48 - 1"):
        make_twin(f"twin:roller?tick0={text}")
