# SPDX-License-Identifier: Apache-2.0
"""A board is found by listening; what is none of ours is told apart, and nothing is ever written to find out."""

from __future__ import annotations

import os
import signal
import subprocess
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

import rig.discover
from rig.discover import DISCOVERY_S, LOOP_S, BoardFinder, BootWatch, Found, find_boards, listen, ours, port_of
from rig.errors import (
    BadRigError,
    NotOurBoardError,
    PortBusyError,
    ProtocolMismatchError,
    ResetLoopError,
    StopAskedError,
)
from rig.firmware import packaged
from rig.links.base import Link
from rig.links.lockfile import holder_of
from rig.links.twin import TwinLink
from rig.open import open_rig
from rig.rig import Rig
from rig.twin.avr import Avr
from rig.twin.bench import TwinBench
from rig.wire import codec
from rig.wire.frame import Frame, encode
from rig.wire.messages import BOOT_EVERY_MS, PROTOCOL_HASH, Boot, ResetFlag
from rig.wire.session import Session
from tests.system.conftest import LAUNCHRIG
from tests.system.edges import ScriptedPlant
from tests.twins import TAME, OtherLink, bench_of

pytestmark = pytest.mark.xdist_group("discover")

RJMP_TO_ITSELF = b"\xff\xcf"


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig(TAME)
    yield rig
    rig.close()


def never() -> bool:
    return False


def boot_of(rig: Rig) -> Boot:
    return listen(rig.link, never)


def framed(boot: Boot) -> bytes:
    return encode(Frame(Boot.TYPE, boot.boot_count & 0xFF, 0, 0, codec.pack(boot)))


# ---------------------------------------------------------------------- listening


def test_a_board_says_who_it_is_and_the_host_says_nothing(twin: Rig) -> None:
    written: list[bytes] = []
    link = OtherLink(twin.link, out=lambda data: written.append(data) or data)
    boot = listen(link, never)
    assert boot.uuid == twin.new_uuid()
    assert twin.link.clock.now() < 1.0, "the first BOOT is enough"
    assert written == []


def test_what_comes_behind_boot_is_kept_for_the_conversation(twin: Rig) -> None:
    session = Session()
    boot = boot_of(twin)
    half = framed(boot)[:9]
    extra = [framed(boot) + half]
    first = OtherLink(twin.link, into=lambda data: extra.pop() if extra else data)
    listen(first, never, session=session)
    assert session.receive(framed(boot)[9:], 0.0) == [boot]
    assert session.losses.bad == 0


def test_the_newest_of_several_boots_is_the_boards_word(twin: Rig) -> None:
    boot = boot_of(twin)
    stale = [framed(replace(boot, boot_count=boot.boot_count - 1)) + framed(boot)]
    assert listen(OtherLink(twin.link, into=lambda data: stale.pop() if stale else data), never) == boot


def test_silence_is_given_three_seconds_and_named(twin: Rig) -> None:
    bench = TwinBench(ScriptedPlant(), Avr(packaged("elf")))
    bench.avr.poke_flash(0, RJMP_TO_ITSELF)
    link = TwinLink(bench)
    try:
        began = link.clock.now()
        with pytest.raises(NotOurBoardError, match=r"listened 3 s and it said nothing; leave elf= away, or build"):
            listen(link, never)
        assert link.clock.now() - began == pytest.approx(DISCOVERY_S, abs=1e-3)
    finally:
        bench.close()


def test_a_board_behind_a_network_is_flashed_where_it_is_plugged_in(twin: Rig) -> None:
    silent = OtherLink(twin.link, into=lambda data: b"")
    with pytest.raises(NotOurBoardError, match=r"on the machine where it is plugged in, with: launchrig flash --port PORT$"):
        listen(silent, never, port="socket://host:4000")


@pytest.mark.parametrize(("faults", "came"), [("drop=1", "nothing came"), ("cut=1", "nothing came"), ("corrupt=1", "bytes came")])
def test_where_faults_swallow_everything_they_are_named_and_no_board_is_flashed(faults: str, came: str) -> None:
    faulty = open_rig(f"faulty+twin:roller?seed=7&{faults}")
    try:
        with pytest.raises(
            NotOurBoardError, match=f"no board is heard: .*{came}.*the faults that were asked for may be why"
        ) as told:
            listen(faulty.link, never, port="/dev/ttyACM9")
        assert "flash" not in str(told.value)
        assert "not a launchrig board" not in str(told.value)
    finally:
        faulty.close()


def test_noise_is_shown_and_told_from_silence(twin: Rig) -> None:
    link = OtherLink(twin.link, into=lambda data: b"\r\nRING\r\n" if data else b"")
    with pytest.raises(NotOurBoardError) as refused:
        listen(link, never, port="/dev/ttyACM9")
    text = str(refused.value)
    assert text.startswith("/dev/ttyACM9: not a launchrig board")
    assert r"none of them a BOOT ('\r\nRING\r\n" in text
    assert "wrong rate or another device" in text
    assert "launchrig flash --port /dev/ttyACM9" in text


def test_another_protocol_is_refused_and_both_are_named(twin: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.discover, "PROTOCOL_HASH", 0x0BADF00D)
    with pytest.raises(ProtocolMismatchError) as refused:
        listen(twin.link, never, port="COM3")
    for part in ("COM3: the board speaks", f"{PROTOCOL_HASH:08x}", "0badf00d", "launchrig flash --port COM3"):
        assert part in str(refused.value)


def test_a_boot_of_another_shape_is_another_protocol_and_not_noise(twin: Rig) -> None:
    longer = encode(Frame(Boot.TYPE, 1, 0, 0, codec.pack(boot_of(twin)) + b"\x01"))
    with pytest.raises(ProtocolMismatchError, match="whole frames came"):
        listen(OtherLink(twin.link, into=lambda data: longer if data else b""), never)


def test_the_end_can_be_asked_for_while_listening(twin: Rig) -> None:
    asked = iter([False, False, True])
    with pytest.raises(StopAskedError):
        listen(OtherLink(twin.link, into=lambda data: b""), lambda: next(asked))
    assert twin.link.clock.now() < DISCOVERY_S / 2


# ---------------------------------------------------------------------- a board that resets for ever


class Restless:
    """A link to a board whose reset line is pulled every `period_s`."""

    def __init__(self, rig: Rig, period_s: float) -> None:
        self._rig, self._period_s = rig, period_s
        self.clock = rig.link.clock
        self._next_s = self.clock.now() + period_s

    def read(self, deadline: float) -> bytes:
        data = self._rig.link.read(min(deadline, self._next_s))
        if self.clock.now() >= self._next_s:
            bench_of(self._rig).reset()
            self._next_s += self._period_s
        return data


def restless(rig: Rig, period_s: float) -> Link:
    return Restless(rig, period_s)  # type: ignore[return-value]


@pytest.mark.parametrize("period_s", [0.4, 1.8], ids=["at once", "after its bootloader"])
def test_a_board_that_resets_for_ever_is_told_with_its_count_and_the_remedy(twin: Rig, period_s: float) -> None:
    with pytest.raises(ResetLoopError) as refused:
        listen(restless(twin, period_s), never, linger_s=2.0, port="/dev/ttyACM0")
    text = str(refused.value)
    assert text.startswith(f"/dev/ttyACM0: the board resets again and again: 2 times within {period_s} s, boot ")
    for remedy in ("cause external", "opens the port again and again"):
        assert remedy in text


def test_one_reset_which_opening_the_port_makes_is_none(twin: Rig) -> None:
    before = boot_of(twin)
    stale = [framed(before)]
    bench_of(twin).reset()
    link = OtherLink(twin.link, into=lambda data: stale.pop() if stale else data)
    assert listen(link, never, linger_s=2.0).boot_count == before.boot_count + 1


def test_a_board_that_idles_repeats_itself_and_that_is_no_reset(twin: Rig) -> None:
    began = twin.link.clock.now()
    boot = listen(twin.link, never, linger_s=10 * BOOT_EVERY_MS / 1000)
    assert boot.boot_count == boot_of(twin).boot_count
    assert twin.link.clock.now() > began + 10 * BOOT_EVERY_MS / 1000


def test_resets_far_apart_are_no_loop_and_those_before_a_good_while_are_forgotten(twin: Rig) -> None:
    boot = boot_of(twin)
    watch = BootWatch()
    for n in range(10):
        watch.note(replace(boot, boot_count=n), n * (LOOP_S + 0.1))
    watch = BootWatch()
    for n in range(10):
        watch.note(replace(boot, boot_count=n), n * 0.1)
        watch.settled()
    watch = BootWatch(most=3)
    for n in range(4):
        watch.note(replace(boot, boot_count=n), n * 0.1)
    with pytest.raises(ResetLoopError, match=r"4 times within 0\.3 s, boot 4 now"):
        watch.note(replace(boot, boot_count=4), 0.4)


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (0, ["cause not told", "Optiboot", "supply", "opens the port"]),
        (ResetFlag.watchdog, ["cause watchdog", "Optiboot"]),
        (ResetFlag.brown_out, ["cause brown-out", "stronger supply"]),
        (ResetFlag.external | ResetFlag.watchdog, ["watchdog and external", "Optiboot", "reset line"]),
    ],
)
def test_the_cause_that_the_board_tells_picks_the_remedy(twin: Rig, cause: int, says: list[str]) -> None:
    watch = BootWatch(most=0)
    boot = replace(boot_of(twin), reset_cause=cause)
    watch.note(boot, 0.0)
    with pytest.raises(ResetLoopError) as refused:
        watch.note(replace(boot, boot_count=boot.boot_count + 1), 0.1)
    assert all(part in str(refused.value) for part in says)


def test_a_board_of_ours_is_passed_on(twin: Rig) -> None:
    boot = boot_of(twin)
    assert ours(boot) is boot


# ---------------------------------------------------------------------- finding, on real pseudo-terminals


@contextmanager
def boards(*seeds: int) -> Iterator[list[str]]:
    """Ports of as many twins, at real time."""
    with ExitStack() as ends:
        processes, paths = [], []
        for seed in seeds:
            command = [LAUNCHRIG, "twin", f"twin:roller?seed={seed}&bootloader=none", "--pty"]
            processes.append(ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
        for process in processes:
            ends.callback(process.send_signal, signal.SIGINT)
            assert process.stdout
            paths.append(process.stdout.readline().partition(":")[0])
        yield paths


@pytest.fixture(scope="module")
def pair() -> Iterator[list[str]]:
    with boards(1, 2) as paths:
        yield paths


@pytest.fixture
def silent() -> Iterator[tuple[int, str]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    yield master, path
    os.close(master)


def test_every_port_is_listened_to_at_once_and_each_says_what_it_is(pair: list[str], silent: tuple[int, str]) -> None:
    master, path = silent
    held, slave = os.openpty()
    busy = os.ttyname(slave)
    holder = subprocess.Popen(["sleep", "603"], stdin=slave)
    os.close(slave)
    try:
        found = find_boards([*pair, path, busy, "/dev/ttyNOSUCH0"])
    finally:
        holder.kill()
        holder.wait()
        os.close(held)
    assert [each.port for each in found] == [*pair, path, busy, "/dev/ttyNOSUCH0"]
    assert all(each.boot and not each.error for each in found[:2])
    assert found[0].uuid != found[1].uuid
    assert [type(each.error) for each in found[2:]] == [NotOurBoardError, PortBusyError, NotOurBoardError]
    assert f"launchrig flash --port {path}" in str(found[2].error)
    assert f"pid {holder.pid}" in str(found[3].error)
    os.set_blocking(master, False)
    with pytest.raises(OSError, match=r".*"):  # nothing was written, not even by looking
        os.read(master, 1)
    assert find_boards([]) == []


def uuids(ports: list[str]) -> list[str]:
    return [each.uuid for each in find_boards(ports)]


def dashed(uuid: str) -> str:
    return "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])).upper()


def test_a_board_is_found_by_how_its_uuid_begins(pair: list[str], silent: tuple[int, str]) -> None:
    first, second = uuids(pair)
    assert port_of(first[:8], pair) == pair[0]
    assert port_of(dashed(second), pair) == pair[1]
    assert port_of("", [silent[1], pair[1]]) == pair[1], "the only one there is"


def test_several_that_fit_are_named(pair: list[str]) -> None:
    with pytest.raises(BadRigError) as refused:
        port_of("", pair)
    assert all(part in str(refused.value) for part in [*pair, *uuids(pair), "2 boards fit"])


def test_none_that_fits_says_what_each_port_is(pair: list[str], silent: tuple[int, str]) -> None:
    (uuid,) = uuids(pair[:1])
    missing = f"{int(uuid[0], 16) ^ 8:x}"
    with pytest.raises(NotOurBoardError) as refused:
        port_of(missing, [pair[0], silent[1]])
    text = str(refused.value)
    assert f"no board whose UUID begins with {missing} at 2 ports" in text
    assert f"{pair[0]} ({uuid})" in text
    assert f"{silent[1]} (not a launchrig board: listened 3 s and it said nothing)" in text
    assert "launchrig doctor" in text
    with pytest.raises(NotOurBoardError, match=f"no board of ours at 1 port: {silent[1]} "):
        port_of("", [silent[1]])
    with pytest.raises(NotOurBoardError, match="this machine has no serial port; plug the board in"):
        port_of("", [])


@pytest.mark.parametrize("prefix", ["xyz", "0x1f", "1" * 33, "12 34"])
def test_what_is_no_uuid_is_refused(prefix: str) -> None:
    with pytest.raises(BadRigError, match="names no board"):
        BoardFinder(prefix)


def test_a_stranger_is_not_opened_again_while_it_stays(
    pair: list[str], silent: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[list[str]] = []
    real: Callable[..., list[Found]] = find_boards

    def noting(ports: list[str], **options: Callable[[], bool]) -> list[Found]:
        looked.append(ports)
        return real(ports, **options)

    monkeypatch.setattr(rig.discover, "find_boards", noting)
    find = BoardFinder(uuids(pair)[0])
    assert find([silent[1], *pair]) == pair[0]
    with pytest.raises(NotOurBoardError, match="no board whose UUID"):
        find([silent[1], pair[1]])  # unplugged
    assert find([silent[1], *pair]) == pair[0]  # and back
    assert looked == [[silent[1], *pair], [], [pair[0]]]
    with pytest.raises(NotOurBoardError):
        find([pair[1]])
    find([silent[1], *pair])
    assert looked[-1] == [silent[1], pair[0]], "what was gone meanwhile may be another"


def test_the_end_asked_for_ends_every_listener(silent: tuple[int, str]) -> None:
    asked = iter([False, False, True, True])
    with pytest.raises(StopAskedError):
        find_boards([silent[1]], seconds=600.0, stop_asked=lambda: next(asked))


def test_listening_lets_go_of_the_port(pair: list[str]) -> None:
    find_boards(pair)
    assert [holder_of(port) for port in pair] == [None, None]
    assert all(each.boot for each in find_boards(pair))
