# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a port is one clear line that names it and what mends it, and exit code 5; real processes throughout."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from controller import cli
from controller.store.store import Store
from rig.firmware import packaged
from rig.twin.pty import PtyTwin
from rig.wire.messages import PROTOCOL_HASH
from tests.bridges import bridged
from tests.system.conftest import LAUNCHRIG
from tests.twins import TAME

pytestmark = pytest.mark.xdist_group("port")  # at real time

TWIN = f"{TAME}&bootloader=none"
NOBODY = 65534
LAUNCH_S = 120.0  # far more than any of this takes on a slow machine


@contextmanager
def twin_behind_a_pty(url: str = TWIN, *, on_turn: Callable[[PtyTwin], None] = lambda twin: None) -> Iterator[str]:
    """The port of a twin at real time; `on_turn` is called every millisecond or so from where the twin runs."""
    end = threading.Event()
    with PtyTwin(url) as twin:

        def stop() -> bool:
            on_turn(twin)
            return end.is_set()

        thread = threading.Thread(target=twin.serve, args=(stop,))
        thread.start()
        try:
            yield twin.path
        finally:
            end.set()
            thread.join()


def arguments(port: str, tmp_path: Path, count: int = 1) -> list[str]:
    return ["press", str(count), "--rig", port, "--operator", "none", "--store", str(tmp_path / "runs.sqlite")]


def press(port: str, tmp_path: Path, count: int = 1) -> list[str]:
    return [str(LAUNCHRIG), *arguments(port, tmp_path, count)]


def refused(command: list[str], code: int = 5) -> str:
    """The one line with which `command` fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LAUNCH_S)
    assert done.returncode == code, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stdout
    return done.stderr.rstrip("\n").removeprefix("launchrig: ")


def refused_here(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The same of a command that needs no process of its own."""
    assert cli.run(words) == 5
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1, said.err
    return said.err.rstrip("\n").removeprefix("launchrig: ")


# ---------------------------------------------------------------------- two programs, no permission


def test_the_second_of_two_runs_on_one_port_is_told_of_the_first(tmp_path: Path) -> None:
    with twin_behind_a_pty(TWIN.replace("p_fire=1", "p_fire=0")) as port:  # a hopper that never empties
        first = subprocess.Popen([*press(port, tmp_path, 1000), "--pace", "1s"], stdout=subprocess.PIPE, text=True)
        try:
            assert first.stdout
            assert first.stdout.readline().startswith("1: ")  # it runs
            (tmp_path / "second").mkdir()
            line = refused(press(port, tmp_path / "second"))
            assert re.match(
                rf"{port}: held by pid {first.pid} \(launchrig, run 1\) since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ; "
                rf"end it with: kill {first.pid}",
                line,
            )
            assert first.stdout.readline().startswith("2: "), "the first goes on undisturbed"
        finally:
            first.terminate()  # as the line says
            assert first.stdout
            rest = first.stdout.read()
            assert first.wait(timeout=LAUNCH_S) == 4
            first.stdout.close()
        assert "outputs off, confirmed" in rest
        done = subprocess.run(press(port, tmp_path), capture_output=True, text=True, check=False, timeout=LAUNCH_S)
        assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(tmp_path / "runs.sqlite") as store:
        assert store.load("last").run.id == 2, "the one that was refused left no run"


@pytest.fixture
def as_nobody() -> Iterator[tuple[list[str], Path]]:
    """What runs a command without any right, and a folder where it may write."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become somebody else")
    folder = Path(tempfile.mkdtemp(prefix="launchrig-nobody-"))
    folder.chmod(0o777)
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    prefix = ["env", f"HOME={folder}", *become]  # in this order: setpriv reaches an interpreter in a home that is closed to nobody
    probe = subprocess.run([*prefix, LAUNCHRIG, "--version"], capture_output=True, text=True, check=False)
    if probe.returncode:
        shutil.rmtree(folder)
        pytest.skip(f"nobody may not run {LAUNCHRIG}: {probe.stderr}")
    yield prefix, folder
    shutil.rmtree(folder)


def test_a_port_without_permission_names_its_group_and_the_command(as_nobody: tuple[list[str], Path]) -> None:
    prefix, folder = as_nobody
    with twin_behind_a_pty() as port:
        shutil.chown(port, user="root", group="dialout")
        Path(port).chmod(0o660)
        line = refused([*prefix, *press(port, folder)])
    assert line.startswith(
        f"{port}: permission denied: it belongs to group dialout; join it with: sudo usermod -aG dialout nobody, "
        "then log out and in again"
    )


# ---------------------------------------------------------------------- what is no board of ours


def answer_the_same(heard: bytes) -> bytes:
    return heard


def answer_like_a_modem(heard: bytes) -> bytes:
    """As one that is rung up all the time."""
    return b"\r\nOK\r\n" if heard.startswith(b"AT") else b"" if heard else b"\r\nRING\r\n"


@contextmanager
def device(answer: Callable[[bytes], bytes], heard: list[bytes]) -> Iterator[str]:
    """A pseudo-terminal with a device behind it, which is asked for what it says every 0.2 s and whenever it hears something."""
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    os.set_blocking(master, False)
    end = threading.Event()

    def serve() -> None:
        while not end.wait(0.02 if not select.select([master], [], [], 0.2)[0] else 0.0):
            with suppress(OSError):  # nobody has it open
                data = b""
                with suppress(BlockingIOError):
                    data = os.read(master, 4096)
                    heard.append(data)
                os.write(master, answer(data))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield path
    finally:
        end.set()
        thread.join()
        os.close(master)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (answer_the_same, "it said nothing"),
        (answer_like_a_modem, r"RING.*the wrong rate or another device"),
    ],
    ids=["echo", "modem"],
)
def test_a_device_that_is_not_ours_is_left_in_peace(
    answer: Callable[[bytes], bytes], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[bytes] = []
    with device(answer, heard) as port:
        line = refused_here(arguments(port, tmp_path), capsys)
    assert re.search(f"not a launchrig board: listened 3 s and .*{says}", line), line
    assert f"launchrig flash --port {port}" in line
    assert b"".join(heard) == b"", "whatever it is, nothing was written to it"


def test_a_loopback_is_no_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pseudo-terminal whose ends `cat` ties together, as a plug that ties TX to RX."""
    master, slave = os.openpty()
    tty.setraw(slave)
    port = os.ttyname(slave)
    plug = subprocess.Popen(["cat"], stdin=master, stdout=master)
    os.close(slave)
    try:
        assert "not a launchrig board" in refused_here(arguments(port, tmp_path), capsys)
    finally:
        plug.kill()
        plug.wait()
        os.close(master)


LDI, LDI_MASK = 0xE000, 0xF000
NEAR = 12  # words within which the four bytes of a constant are loaded


def loads(word: int) -> int | None:
    """The byte that an AVR instruction loads into a register; None for other instructions."""
    return (word >> 4 & 0xF0) | (word & 0x0F) if word & LDI_MASK == LDI else None


def with_another_protocol(elf: bytes) -> bytes:
    """The firmware with another protocol hash in its BOOT: one `ldi` changed."""
    words = [int.from_bytes(elf[at : at + 2], "little") for at in range(0, len(elf) - 1, 2)]
    wanted = list(PROTOCOL_HASH.to_bytes(4, "little"))
    places = []
    for at, word in enumerate(words):
        if loads(word) == wanted[0]:
            loaded = [value for each in words[at : at + NEAR] if (value := loads(each)) is not None]
            if loaded[:4] == wanted:
                places.append(at)
    assert len(places) == 1, f"the firmware loads its protocol hash in {len(places)} places"
    changed = bytearray(elf)
    changed[2 * places[0]] ^= 0x01  # the lowest bit of the byte that is loaded
    return bytes(changed)


def test_firmware_with_another_protocol_is_named_with_the_command_that_flashes_the_right_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elf = tmp_path / "other.elf"
    elf.write_bytes(with_another_protocol(packaged("elf").read_bytes()))
    with twin_behind_a_pty(f"{TWIN}&elf={elf}") as port:
        line = refused_here(arguments(port, tmp_path), capsys)
    assert f"speaks protocol {PROTOCOL_HASH ^ 1:08x}" in line
    assert f"this host {PROTOCOL_HASH:08x}" in line
    assert f"launchrig flash --port {port}" in line


class ResetLine:
    """Pulls the reset of a twin every `period_s` of its time."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next_s = period_s

    def __call__(self, twin: PtyTwin) -> None:
        bench = twin._parts.bench
        if bench.clock.now() >= self._next_s:
            bench.reset()
            self._next_s = bench.clock.now() + self._period_s


def test_a_board_that_resets_for_ever_ends_soon_with_a_remedy(tmp_path: Path) -> None:
    with twin_behind_a_pty(on_turn=ResetLine(0.4)) as port:
        done = subprocess.run(press(port, tmp_path), capture_output=True, text=True, check=False, timeout=LAUNCH_S)
    said = done.stdout + done.stderr
    assert done.returncode == 5, said
    assert "Traceback" not in said
    last = [line for line in said.splitlines() if re.search(r"resets again and again: \d times within .* reset line", line)]
    assert len(last) == 1, said


# ---------------------------------------------------------------------- across a network


@pytest.mark.parametrize("scheme", ["socket", "rfc2217"])
def test_a_board_across_a_network_is_pressed_like_any_other(scheme: str, tmp_path: Path) -> None:
    with twin_behind_a_pty() as port, bridged(port, scheme) as (url, _):
        done = subprocess.run(press(url, tmp_path), capture_output=True, text=True, check=False, timeout=LAUNCH_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outputs off, confirmed" in done.stdout
    with Store.open(tmp_path / "runs.sqlite") as store:
        assert [trial.verdict for trial in store.load("last").trials] == ["ok"]
