# SPDX-License-Identifier: Apache-2.0
"""`launchrig flash`: the real avrdude programs the bootloader of a twin, and every way to fail has a way back."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from intelhex import IntelHex

from controller import cli
from controller.flashing import the_only
from rig.errors import BadRigError, NotOurBoardError
from rig.firmware import packaged
from rig.image import read_image
from rig.links.serial import Port, SerialLink
from rig.wire.messages import PROTOCOL_HASH
from tests.images import of_another_protocol
from tests.system.conftest import LAUNCHRIG

pytestmark = pytest.mark.xdist_group("port")  # at real time

CRASH = bytes.fromhex("0c94ff7f")  # jmp to where there is no flash
PATIENCE_S = 120
STARTED: list[subprocess.Popen[str]] = []


class Twin:
    """`launchrig twin --pty` in a process of its own."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen([LAUNCHRIG, "twin", url, "--pty"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        found = re.search(r"/dev/pts/\d+", self.process.stdout.readline())
        assert found
        self.port = found.group()

    def end(self) -> int:
        assert self.process.stdout
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    made = Twin("twin:roller?seed=1")
    yield made
    assert made.end() == 0


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where avrdude's words go."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/launchrig/log/flash.log"


def flash(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, output, and the one line of error if there is any."""
    done = subprocess.run(
        [LAUNCHRIG, "flash", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env=env or dict(os.environ),
    )
    assert done.stderr.count("\n") <= 1, done.stderr
    assert "TIOCM" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def mended(port: str) -> str:
    """Flash the packaged firmware as every error advises; what the board then says."""
    code, said, error = flash("--port", port)
    assert code == 0, said + error
    return said.splitlines()[-1]


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> Iterator[None]:
    yield
    while STARTED:
        with STARTED.pop() as process:
            process.terminate()  # it ends its avrdude


def begun(port: str, log: Path) -> subprocess.Popen[str]:
    """A `launchrig flash` that has come to the middle of writing."""
    process = subprocess.Popen([LAUNCHRIG, "flash", "--port", port], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(process)
    until = time.monotonic() + PATIENCE_S
    while not (log.exists() and re.search(r"writing \d{4,} bytes", log.read_text(encoding="utf-8"))):
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.02)
    return process


def hex_of(data: bytes, path: Path) -> Path:
    image = IntelHex()
    image.puts(0, data)
    image.write_hex_file(str(path))
    return path


def test_the_packaged_firmware_is_written_verified_and_says_boot(twin: Twin, log: Path) -> None:
    build = read_image(packaged("hex")).build_id
    said = mended(twin.port)
    assert re.fullmatch(
        rf"{twin.port}: launchrig firmware \d+\.\d+\.\d+, build {build:08x}, board UUID [0-9a-f]{{32}}, boot \d+", said
    )
    assert "bytes of flash verified" in log.read_text(encoding="utf-8")


def test_without_a_place_for_the_log_the_board_is_programmed_all_the_same(twin: Twin) -> None:
    nowhere = {**os.environ, "XDG_STATE_HOME": "/proc/s", "HOME": "/proc/nohome"}
    code, said, error = flash("--port", twin.port, env=nowhere)
    assert code == 0, error
    assert "/proc/s/launchrig/log/flash.log: cannot be written (No such file or directory); avrdude's words are not kept\n" in said
    assert said.splitlines()[-1].startswith(f"{twin.port}: launchrig firmware")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_writing_ends_avrdude_and_says_what_is_left(number: signal.Signals, twin: Twin, log: Path) -> None:
    process = begun(twin.port, log)
    (avrdude,) = psutil.Process(process.pid).children()
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4
    assert "interrupted while writing: the board's application is incomplete and holds still, its bootloader is intact" in error
    assert error.endswith(f"finish it with: launchrig flash --port {twin.port}\n")
    assert not avrdude.is_running()


def test_a_half_written_board_is_silent_and_flashing_again_mends_it(twin: Twin, log: Path) -> None:
    process = begun(twin.port, log)
    (avrdude,) = psutil.Process(process.pid).children()
    assert avrdude.name() == "avrdude"
    avrdude.kill()
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 5
    assert "avrdude ended early (signal 9) while writing: the board's application is incomplete and holds still" in error
    assert f"launchrig flash --port {twin.port}; avrdude's words are in {log}" in error
    link = SerialLink(twin.port)
    assert link.read(link.clock.now() + 3) == b"", "it holds still"
    link.close()
    assert "launchrig firmware" in mended(twin.port)


def test_a_program_that_is_not_ours_is_written_only_when_the_user_insists(twin: Twin, log: Path, tmp_path: Path) -> None:
    other = hex_of(CRASH, tmp_path / "other.hex")
    code, said, error = flash("--port", twin.port, "--hex", str(other))
    assert (code, said) == (2, "")
    assert f"{other}: is not the firmware of this launchrig: in the simulator it says nothing; nothing was written" in error
    assert "--foreign" in error
    assert not log.exists(), "avrdude was not called"
    code, said, error = flash("--port", twin.port, "--hex", str(other), "--foreign")
    assert code == 5
    assert "other.hex was written and verified, and within 6 s the board said nothing" in error
    assert error.rstrip().endswith(f"write the right firmware with: launchrig flash --port {twin.port}")


def test_without_the_simulator_it_is_written_untried_and_the_board_is_the_judge(twin: Twin, log: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    avrdude = shutil.which("avrdude")
    assert avrdude
    (tmp_path / "bin/avrdude").symlink_to(avrdude)
    other = hex_of(of_another_protocol(read_image(packaged("hex")).data), tmp_path / "other.hex")
    code, said, error = flash("--port", twin.port, "--hex", str(other), env={**os.environ, "PATH": str(tmp_path / "bin")})
    assert code == 5
    assert f"{other}: not tried in the simulator first: the twin needs a C compiler" in said
    assert f"the board runs firmware of protocol {PROTOCOL_HASH ^ 1:08x}, where this launchrig has {PROTOCOL_HASH:08x}" in error
    assert "launchrig firmware" in mended(twin.port)


def test_a_port_that_is_held_is_left_alone_and_its_holder_named(twin: Twin, log: Path) -> None:
    link = SerialLink(twin.port)
    link.held_for("run 12")
    code, _, error = flash("--port", twin.port)
    link.close()
    assert code == 5
    assert f"pid {os.getpid()}" in error and "run 12" in error
    assert not log.exists()


def test_others_see_who_flashes(twin: Twin, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = begun(twin.port, log)
    assert cli.run(["press", "1", "--rig", twin.port, "--operator", "none", "--store", str(log.parent / "runs.sqlite")]) == 5
    error = capsys.readouterr().err
    assert f"pid {process.pid}" in error and "flash" in error
    assert process.wait(timeout=PATIENCE_S) == 0, "and it was not disturbed"
    process.communicate()


def test_a_port_that_vanishes_while_writing(log: Path) -> None:
    twin = Twin("twin:roller?seed=2")
    process = begun(twin.port, log)
    twin.process.kill()
    twin.process.wait()
    _, error = process.communicate(timeout=PATIENCE_S)
    assert twin.process.stdout
    twin.process.stdout.close()
    assert process.returncode == 5
    assert "(the port vanished) while writing: the board's application is incomplete and holds still" in error
    assert "plug the board in again" in error


def test_an_old_bootloader_is_found_by_its_rate(log: Path) -> None:
    twin = Twin("twin:roller?seed=3&bootloader=atmegaboot")
    code, said, error = flash("--port", twin.port)
    assert twin.end() == 0
    assert code == 0, error
    assert f"{twin.port}: no answer at 115200 bit/s; trying 57600, the rate of an old bootloader" in said
    assert "launchrig firmware" in said


@pytest.mark.parametrize("echoes", [False, True])
def test_a_port_where_no_bootloader_answers(echoes: bool, log: Path) -> None:
    master, far = os.openpty()
    tty.setraw(far)
    os.set_blocking(master, False)

    over = threading.Event()

    def speak() -> None:
        while not over.is_set():
            try:
                data = os.read(master, 256)
                if echoes:
                    os.write(master, data)
            except OSError:  # nobody has it open, or nothing came
                over.wait(0.01)

    thread = threading.Thread(target=speak)
    thread.start()
    port = os.ttyname(far)
    os.close(far)
    try:
        code, said, error = flash("--port", port)
    finally:
        over.set()
        thread.join()
        os.close(master)
    assert code == 5, error
    assert "trying 57600" in said
    reason = "not in sync: resp=0x30" if echoes else "programmer is not responding|not in sync"
    assert re.search(rf"{port}: no bootloader answers \(.*({reason}).*\); nothing was written", error)
    assert "is the board held in reset" in error
    assert f"launchrig flash --port {port}" in error


def test_a_twin_without_bootloader_says_that_it_cannot_be_flashed() -> None:
    process = subprocess.Popen([LAUNCHRIG, "twin", "twin:roller?bootloader=none", "--pty"], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    assert "cannot be flashed" in lines[2]


def test_bad_input_is_one_line_and_touches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.hex"
    bad.write_text(":00000001FF\nrubbish\n", encoding="ascii")
    for arguments, code, said in (
        (["--hex", str(bad)], 2, "line 2"),
        (["--hex", str(tmp_path / "nothing.hex")], 2, "cannot be read"),
        (["--hex", str(packaged("elf"))], 2, "no Intel hex file"),
        (["--port", "/dev/nothere"], 5, "no such port"),
        (["--port", str(tmp_path)], 2, "no serial port"),
        (["--port", "/dev/null"], 2, "/dev/null: is no serial port"),
        (["--port", "twin:roller"], 2, "a serial port of this machine"),
        (["--port", ""], 2, "'': a board is flashed over a serial port of this machine"),
        (["--port", "-P"], 2, "a serial port of this machine"),
    ):
        assert cli.run(["flash", *arguments]) == code
        error = capsys.readouterr().err
        assert said in error
        assert "--rig" not in error
        assert error.count("\n") == 1


def test_without_a_port_the_only_usb_port_is_taken_and_several_are_listed() -> None:
    motherboard = Port("/dev/ttyS0", "n/a", None, None, None)
    uno = Port("/dev/ttyACM0", "Arduino Uno", 0x2341, 0x0043, "1")
    clone = Port("/dev/ttyUSB1", "USB2.0-Serial", 0x1A86, 0x7523, None)
    assert the_only([motherboard, uno]) == "/dev/ttyACM0"
    for none in ([], [motherboard]):
        with pytest.raises(NotOurBoardError, match=r"^no USB serial port here: plug the board in, or name its port with --port$"):
            the_only(none)
    with pytest.raises(BadRigError, match="/dev/ttyACM0, /dev/ttyUSB1; name the board's, as in: launchrig flash --port /dev/tty"):
        the_only([uno, motherboard, clone])
