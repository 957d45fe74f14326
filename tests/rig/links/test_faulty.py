# SPDX-License-Identifier: Apache-2.0
"""A faulty link does to its bytes what it was told, at the wrapped link's time, and the same again from the same seed.

Behind it is an echo: a small firmware in the simulated AVR, or a pseudo-terminal. What any link promises is in
`test_contract.py`, which bytes are hit in `test_faults.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from rig.errors import LinkLostError
from rig.links.faults import Direction, Faults, Kind, Strikes, another
from rig.links.faulty import FaultyLink
from rig.open import open_rig
from rig.wire.messages import BAUD, Boot
from rig.wire.session import Session
from tests.rig.links.test_contract import behind_a_pty, echo_elf, in_the_twin

__all__ = ["echo_elf"]  # the fixture is the contract suite's

BYTE_S = 10 / 115200
ENOUGH_S = 0.1  # of virtual time, for all that is on the wire to come back


@contextmanager
def faulty(elf: Path, faults: Faults, seed: int = 1) -> Iterator[FaultyLink]:
    """A faulty link in front of an echo in the twin."""
    with in_the_twin(elf) as far:
        yield FaultyLink(far.link, faults, seed)


def heard(link: FaultyLink, seconds: float = ENOUGH_S) -> bytes:
    """All that comes within `seconds` of the link's clock."""
    until = link.clock.now() + seconds
    received = b""
    while data := link.read(until):
        received += data
    assert link.clock.now() >= until
    return received


def echoed(link: FaultyLink, pieces: Sequence[bytes]) -> bytes:
    """What comes back of `pieces`, one sent after the other has been heard."""
    return b"".join(heard_after(link, piece) for piece in pieces)


def heard_after(link: FaultyLink, piece: bytes) -> bytes:
    link.write(piece)
    return heard(link, 0.001 + len(piece) * 2.5 * BYTE_S)


def cut_up(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def some_bytes(length: int) -> bytes:
    return random.Random(9).randbytes(length)


def seed_that_hits(faults: Faults, direction: Direction, kind: Kind, place: int) -> int:
    """A seed with which the byte `place`, and none of a hundred behind it, is hit."""
    for seed in count():
        strikes = Strikes(faults, seed, direction)
        before, what = strikes.advance(place + 1)
        if before == place and kind in what and strikes.advance(100) == (100, {}):
            return seed
    raise AssertionError


def as_predicted(data: bytes, faults: Faults, seed: int, direction: Direction) -> bytes:
    """What lossy, changing and doubling faults make of `data`, worked out byte by byte."""
    strikes = Strikes(faults, seed, direction)
    result = b""
    for byte in data:
        _, what = strikes.advance(1)
        if "drop" in what:
            continue
        if "corrupt" in what:
            byte = another(byte, what["corrupt"])
        result += bytes([byte]) * (2 if "duplicate" in what else 1)
    return result


# ---------------------------------------------------------------------- what is done to bytes


LOSSY = Faults(corrupt=0.05, drop=0.03, duplicate=0.04)


def test_bytes_are_dropped_changed_and_doubled_as_the_seed_says_both_ways(echo_elf: Path) -> None:
    sent = some_bytes(3000)
    with faulty(echo_elf, LOSSY, seed=4) as link:
        received = echoed(link, cut_up(sent, 100))
    at_the_board = as_predicted(sent, LOSSY, 4, "to_mcu")
    assert received == as_predicted(at_the_board, LOSSY, 4, "to_host")
    assert received != at_the_board != sent


@pytest.mark.parametrize("direction", ["to_mcu", "to_host"])
def test_what_was_done_is_counted(echo_elf: Path, direction: Direction) -> None:
    sent = some_bytes(2000)
    with faulty(echo_elf, Faults(drop=0.03, duplicate=0.05, direction=direction)) as link:
        received = echoed(link, cut_up(sent, 100))
        counts = link.counts[direction]
        (other,) = (link.counts[each] for each in link.counts if each != direction)
    assert counts.dropped > 20 and counts.duplicated > 40
    assert len(received) == len(sent) - counts.dropped + counts.duplicated
    assert counts.bytes == len(sent)
    assert (other.dropped, other.duplicated) == (0, 0)

    with faulty(echo_elf, Faults(corrupt=0.05, direction=direction)) as link:
        received = echoed(link, cut_up(sent, 100))
        assert len(received) == len(sent)
        assert sum(a != b for a, b in zip(sent, received, strict=True)) == link.counts[direction].corrupted > 50


def test_how_bytes_are_cut_into_writes_and_reads_changes_nothing(echo_elf: Path) -> None:
    sent = some_bytes(600)
    heard_of = []
    for size in (1, 7, 120):
        with faulty(echo_elf, LOSSY, seed=2) as link:
            heard_of.append(echoed(link, cut_up(sent, size)))
    assert heard_of[0] == heard_of[1] == heard_of[2]


def test_a_port_is_hit_as_the_twin_is(echo_elf: Path) -> None:
    sent = some_bytes(2000)
    at_the_board = as_predicted(sent, LOSSY, 3, "to_mcu")
    expected = as_predicted(at_the_board, LOSSY, 3, "to_host")
    with behind_a_pty(echo_elf) as far:
        link = FaultyLink(far.link, LOSSY, 3)
        received = b""
        for piece in cut_up(sent, 300):
            link.write(piece)
            received += link.read(link.clock.now() + 0.01)
        until = link.clock.now() + 20.0
        while len(received) < len(expected) and link.clock.now() < until:
            received += link.read(link.clock.now() + 0.1)
    assert received == expected


@dataclass(frozen=True)
class Story:
    """All that a host could see of a link, with the moments."""

    heard: tuple[tuple[float, bytes], ...]
    counts: str


def story(elf: Path, seed: int) -> Story:
    faults = Faults(
        corrupt=0.01, drop=0.01, duplicate=0.01, delay=0.02, delay_ms=7, cut=0.003, cut_ms=9, reset=0.002, unplug=0.002, unplug_ms=5
    )
    seen: list[tuple[float, bytes]] = []
    with faulty(elf, faults, seed) as link:
        for piece in cut_up(some_bytes(3000), 25):
            try:
                link.write(piece)
                until = link.clock.now() + 0.006
                while data := link.read(until):
                    seen.append((link.clock.now(), data))
            except LinkLostError as error:
                seen.append((link.clock.now(), str(error).encode()))
                link.clock.sleep(0.006)
                link.reopen()
        counts = str(link.counts)
    return Story(tuple(seen), counts)


def test_a_seed_makes_the_same_faults_to_the_bit_and_to_the_cycle(echo_elf: Path) -> None:
    once, again, other = story(echo_elf, 1), story(echo_elf, 1), story(echo_elf, 2)
    assert once == again
    assert once != other
    for name in ("delays", "cuts", "resets", "unplugs"):  # the story has everything in it
        assert f"{name}=0" not in once.counts.partition("to_host")[0]


# ---------------------------------------------------------------------- time


def test_a_read_that_gets_only_dropped_bytes_waits_until_its_deadline(echo_elf: Path) -> None:
    with faulty(echo_elf, Faults(drop=1, direction="to_host")) as link:
        link.write(b"abc\0")
        deadline = link.clock.now() + 0.05
        assert link.read(deadline) == b""
        assert link.clock.now() >= deadline
        assert link.counts["to_host"].dropped == 4


def test_delays_lose_nothing_and_keep_the_order(echo_elf: Path) -> None:
    sent = some_bytes(2000)
    with faulty(echo_elf, Faults(delay=0.05, delay_ms=30)) as link:
        received = b""
        for piece in cut_up(sent, 40):
            link.write(piece)
            received += link.read(link.clock.now() + 0.01)
        received += heard(link, 0.2)
        assert link.counts["to_mcu"].delays > 50 < link.counts["to_host"].delays
    assert received == sent


def arrival(elf: Path, faults: Faults, seed: int, *, asleep_s: float = 0.0) -> float:
    """How long after it was sent the one byte comes back, in seconds of the link's clock."""
    with faulty(elf, faults, seed) as link:
        sent_at = link.clock.now()
        link.write(b"\0")
        if asleep_s:
            link.clock.sleep(asleep_s)
            sent_at += asleep_s
        assert link.read(sent_at + 5.0) == b"\0"
        return link.clock.now() - sent_at


@pytest.mark.parametrize("direction", ["to_mcu", "to_host"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_late_byte_comes_when_it_is_due_and_never_before(echo_elf: Path, direction: Direction, seed: int) -> None:
    faults = Faults(delay=1, delay_ms=1000, direction=direction)
    _, what = Strikes(faults, seed, direction).advance(1)
    late = arrival(echo_elf, faults, seed) - arrival(echo_elf, Faults(), seed)
    assert late >= what["delay"] - 1e-6
    assert late == pytest.approx(what["delay"], abs=1e-5)  # the firmware may be in another place of its loop


def test_a_late_byte_reaches_the_board_while_the_host_sleeps(echo_elf: Path) -> None:
    faults = Faults(delay=1, delay_ms=1000, direction="to_mcu")
    assert arrival(echo_elf, faults, 1, asleep_s=1.1) == 0.0


def test_a_late_byte_to_the_board_is_on_time_although_others_arrive_meanwhile(echo_elf: Path) -> None:
    faults = Faults(delay=0.01, delay_ms=50, direction="to_mcu")
    seed = seed_that_hits(faults, "to_mcu", "delay", 3)
    with faulty(echo_elf, faults, seed) as link:
        link.write(b"ab\0")
        link.write(b"cd\0")
        until = link.clock.now() + 1.0
        assert link.read(until) == b"ab\0"
        assert link.read(until) == b"cd\0"


def test_a_cut_line_is_dead_both_ways_and_comes_back(echo_elf: Path) -> None:
    faults = Faults(cut=0.01, cut_ms=50, direction="to_mcu")
    with faulty(echo_elf, faults, seed_that_hits(faults, "to_mcu", "cut", 6)) as link:
        assert heard_after(link, b"ab\0") == b"ab\0"
        link.write(b"on\0")
        link.write(b"x\0")  # the x cuts; the echo of the bytes before it is lost, too
        cut_at = link.clock.now()
        assert link.read(cut_at + 0.04) == b""
        link.write(b"nobody hears this\0")
        assert link.read(cut_at + 0.05) == b""
        assert heard_after(link, b"again\0") == b"again\0"
        counts = link.counts["to_mcu"]
        assert (counts.cuts, counts.lost) == (1, 2 + 18)
        assert link.counts["to_host"].lost == 3


def test_faults_wait_until_they_are_asked_for(echo_elf: Path) -> None:
    with faulty(echo_elf, Faults(drop=1, from_s=1)) as link:
        assert heard_after(link, b"clean\0") == b"clean\0"
        link.clock.sleep(1.0)
        assert heard_after(link, b"gone\0") == b""
        assert link.counts["to_mcu"].bytes == 5


# ---------------------------------------------------------------------- the far side lost, and had again


def test_a_pulled_plug_is_a_lost_link_until_it_is_back_and_opened_again(echo_elf: Path) -> None:
    faults = Faults(unplug=0.01, unplug_ms=200, direction="to_mcu")
    with faulty(echo_elf, faults, seed_that_hits(faults, "to_mcu", "unplug", 3)) as link:
        assert heard_after(link, b"ab\0") == b"ab\0"
        pulled_at = link.clock.now()
        with pytest.raises(LinkLostError, match="vanished"):
            link.write(b"xyz\0")
        for _ in range(2):
            with pytest.raises(LinkLostError):
                link.write(b"a\0")
            with pytest.raises(LinkLostError):
                link.read(link.clock.now() + 1.0)
            with pytest.raises(LinkLostError):
                link.set_baud(BAUD)
            with pytest.raises(LinkLostError, match=r"0\.200 s more"):
                link.reopen()
        assert link.clock.now() == pulled_at
        link.clock.sleep(0.19)
        with pytest.raises(LinkLostError, match=r"0\.010 s more"):
            link.reopen()
        link.clock.sleep(0.011)
        with pytest.raises(LinkLostError):  # it is back, and nobody has opened it
            link.write(b"a\0")
        link.reopen()
        link.clock.sleep(0.01)
        assert heard_after(link, b"back\0") == b"back\0"
        assert link.counts["to_mcu"].unplugs == 1
        assert link.counts["to_mcu"].lost == 1


def test_what_came_before_the_plug_was_pulled_is_still_heard(echo_elf: Path) -> None:
    faults = Faults(unplug=0.01, direction="to_host")
    with faulty(echo_elf, faults, seed_that_hits(faults, "to_host", "unplug", 2)) as link:
        link.write(b"abcd\0")
        assert link.read(link.clock.now() + 1.0) == b"ab"
        with pytest.raises(LinkLostError):
            link.read(link.clock.now() + 1.0)


def test_a_plug_pulled_at_the_first_byte_of_a_read_is_told_by_that_read(echo_elf: Path) -> None:
    faults = Faults(unplug=1, direction="to_host")
    with faulty(echo_elf, faults) as link:
        link.write(b"abcd\0")
        with pytest.raises(LinkLostError):
            link.read(link.clock.now() + 1.0)


def test_a_reset_resets_the_board_and_takes_what_was_on_its_way(echo_elf: Path) -> None:
    faults = Faults(reset=0.01, direction="to_host")
    with in_the_twin(echo_elf) as far:
        link = FaultyLink(far.link, faults, seed_that_hits(faults, "to_host", "reset", 2))
        link.write(b"abcd\0")
        assert heard(link) == b"ab"
        assert link.counts["to_host"].resets == 1
        assert heard_after(link, b"fresh\0") == b"fresh\0"


def test_every_reset_is_a_boot_of_the_real_firmware() -> None:
    rig = open_rig("faulty+twin:roller?seed=3&reset=0.008&direction=to_host")
    try:
        assert isinstance(rig.link, FaultyLink)
        counts = rig.link.counts["to_host"]
        seen: list[tuple[int, int]] = []
        session = Session()
        until = rig.link.clock.now() + 20.0
        while rig.link.clock.now() < until:
            heard = session.receive(rig.link.read(until), rig.link.clock.now())
            seen += [(message.boot_count, counts.resets) for message in heard if isinstance(message, Boot)]
        assert len({resets for _, resets in seen}) > 5
        assert len({boot_count - resets for boot_count, resets in seen}) == 1
    finally:
        rig.close()


def test_opening_again_loses_what_is_under_way_and_faults_go_on(echo_elf: Path) -> None:
    faults = Faults(delay=1, delay_ms=50, drop=0.01, direction="to_mcu")
    with faulty(echo_elf, faults) as link:
        link.write(b"late\0")
        link.reopen()
        link.clock.sleep(0.1)
        assert heard(link) == b""
        assert link.counts["to_mcu"].lost == 5
        assert heard_after(link, b"\0") + heard(link) == b"\0"
        assert link.counts["to_mcu"].delays == 6


def test_another_rate_loses_what_is_under_way(echo_elf: Path) -> None:
    with faulty(echo_elf, Faults(delay=1, delay_ms=50)) as link:
        link.write(b"late\0")
        link.set_baud(BAUD)
        assert heard(link) == b""


def test_a_closed_link_has_nothing_left_to_hand_out(echo_elf: Path) -> None:
    with faulty(echo_elf, Faults(delay=1, delay_ms=50, direction="to_host")) as link:
        link.write(b"late\0")
        assert link.read(link.clock.now() + 0.001) == b""
        link.clock.sleep(0.1)
        link.close()
        with pytest.raises(LinkLostError):
            link.read(link.clock.now() + 1.0)
