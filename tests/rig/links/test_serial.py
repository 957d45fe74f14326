# SPDX-License-Identifier: Apache-2.0
"""What only a serial link can say and do: whose fault it is that a port does not open, replugs, rates, ports over a network.

What every link promises is in `test_contract.py`.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rig.errors import BadRigError, LinkLostError, NotOurBoardError, PortBusyError
from rig.links.lockfile import holder_of
from rig.links.serial import SerialLink, ports
from tests.bridges import bridged

GENEROUS_S = 20.0


class Pty:
    """A pseudo-terminal whose far side is the test."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)

    def unplug(self) -> None:
        with suppress(OSError):
            os.close(self.master)


@pytest.fixture
def pty() -> Iterator[Pty]:
    pty = Pty()
    yield pty
    pty.unplug()


@pytest.fixture
def link(pty: Pty) -> Iterator[SerialLink]:
    link = SerialLink(pty.path)
    yield link
    link.close()


def lose(link: SerialLink) -> LinkLostError:
    with pytest.raises(LinkLostError) as lost:
        for _ in range(3):
            link.read(link.clock.now() + 0.1)
    return lost.value


def open_here(path: str) -> list[str]:
    """Descriptors of this process that `path` was opened by."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(entry.readlink())
            if target.removesuffix(" (deleted)") == path:
                found.append(target)
    return found


# ---------------------------------------------------------------------- who is in the way


def test_a_second_opener_is_told_who_holds_the_port_what_for_and_how_to_end_it(link: SerialLink) -> None:
    link.held_for("run 12")
    with pytest.raises(PortBusyError) as busy:
        SerialLink(link.url)
    text = str(busy.value)
    assert text.startswith(f"{link.url}: held by pid {os.getpid()} (launchrig, run 12) since 20")
    assert f"kill {os.getpid()}" in text
    link.write(b"still here")


def test_a_symlink_is_the_same_port(link: SerialLink, tmp_path: Path) -> None:
    by_id = tmp_path / "usb-Arduino-if00"
    by_id.symlink_to(link.url)
    with pytest.raises(PortBusyError, match=f"{by_id}: held by pid"):
        SerialLink(str(by_id))


def test_a_program_without_a_lock_file_is_named_by_its_command(pty: Pty) -> None:
    slave = os.open(pty.path, os.O_RDWR | os.O_NOCTTY)
    process = subprocess.Popen(["sleep", "602"], stdin=slave)
    os.close(slave)
    try:
        with pytest.raises(PortBusyError, match=rf"held by pid {process.pid} \(sleep 602\); end it with: kill {process.pid}"):
            SerialLink(pty.path)
    finally:
        process.kill()
        process.wait()
    SerialLink(pty.path).close()


def test_a_holder_that_cannot_be_found_is_left_to_fuser(pty: Pty) -> None:
    slave = os.open(pty.path, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(slave, fcntl.LOCK_EX)  # our own descriptors do not count, so nobody is found
    with pytest.raises(PortBusyError, match=f"another program has the port open; find it with: sudo fuser -v {pty.path}"):
        SerialLink(pty.path)
    os.close(slave)


def test_a_closed_link_holds_nothing(link: SerialLink) -> None:
    assert holder_of(link.url)
    link.close()
    assert holder_of(link.url) is None
    assert open_here(link.url) == []
    again = SerialLink(link.url)
    again.close()


def test_what_is_no_port_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotOurBoardError, match=r"/dev/ttyNOSUCH0: no such port; plug the board in"):
        SerialLink("/dev/ttyNOSUCH0")
    with pytest.raises(BadRigError, match="not a port"):
        SerialLink("nosuch://host:1")
    file = tmp_path / "file"
    file.touch()
    by_link = tmp_path / "ttyACM0"
    by_link.symlink_to("/dev/null")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (file, tmp_path, pipe, by_link):
        with pytest.raises(BadRigError, match=f"^{re.escape(str(path))}: is no serial port; name one such as /dev/ttyACM0$"):
            SerialLink(str(path))


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/random", "/dev/ptmx"])
def test_nobody_is_to_be_ended_for_what_is_no_port(device: str) -> None:
    """Each is held by somebody here; that is said of a port only."""
    with Path(device).open("rb") as stream:
        holder = subprocess.Popen(["sleep", "603"], stdin=stream)
        try:
            with pytest.raises(BadRigError, match="^" + device + ": is no serial port; name one such as /dev/ttyACM0$"):
                SerialLink(device)
        finally:
            holder.kill()
            holder.wait()


def test_a_terminal_and_a_socket_in_a_folder_are_no_ports() -> None:
    with pytest.raises(BadRigError, match=r"^/dev/tty: is no serial port"):
        SerialLink("/dev/tty")
    with tempfile.TemporaryDirectory() as where, socket.socket(socket.AF_UNIX) as made:  # a short path, as it needs one
        made.bind(f"{where}/s")
        with pytest.raises(BadRigError, match="is no serial port"):
            SerialLink(f"{where}/s")


def test_the_machines_ports_are_devices_in_order() -> None:
    found = [port.device for port in ports()]
    assert found == sorted(found)
    assert all(Path(device).is_char_device() for device in found)


# ---------------------------------------------------------------------- gone and back


def test_a_port_that_vanishes_is_let_go_at_once(pty: Pty, link: SerialLink) -> None:
    assert open_here(pty.path)
    pty.unplug()
    assert str(lose(link)) == f"{link.url}: the port vanished while reading; plug the board in again and look at its cable"
    assert open_here(pty.path) == []
    assert holder_of(pty.path) is None
    with pytest.raises(LinkLostError, match="closed"):
        link.write(b"x")


def test_writing_to_a_port_that_vanished_lets_it_go_too(pty: Pty, link: SerialLink) -> None:
    pty.unplug()
    with pytest.raises(LinkLostError, match="vanished while writing"):
        link.write(b"x")
    assert open_here(pty.path) == []


def test_a_port_that_takes_nothing_is_lost_and_not_said_to_have_vanished(pty: Pty, link: SerialLink) -> None:
    with pytest.raises(LinkLostError, match=f"^{link.url}: the port takes nothing for 2 s; "):
        while True:  # nobody reads at the other end
            link.write(bytes(65536))


def test_a_replugged_port_is_taken_again_and_still_says_what_for(pty: Pty, tmp_path: Path) -> None:
    plug = tmp_path / "port"
    plug.symlink_to(pty.path)
    link = SerialLink(str(plug))
    link.held_for("run 12")
    pty.unplug()
    lose(link)
    plug.unlink()
    for _ in range(2):
        with pytest.raises(NotOurBoardError, match="no such port"):
            link.reopen()
    back = Pty()
    plug.symlink_to(back.path)
    link.reopen()
    os.write(back.master, b"hello")
    assert link.read(link.clock.now() + GENEROUS_S) == b"hello"
    holder = holder_of(back.path)
    assert holder
    assert holder.what == "run 12"
    link.close()
    back.unplug()


def test_an_open_port_can_be_reopened(pty: Pty, link: SerialLink) -> None:
    link.reopen()
    os.write(pty.master, b"hello")
    assert link.read(link.clock.now() + GENEROUS_S) == b"hello"
    assert len(open_here(pty.path)) == 1
    link.close()
    link.reopen()
    assert len(open_here(pty.path)) == 1


def test_a_board_that_comes_back_under_another_name_is_followed(pty: Pty) -> None:
    back = Pty()
    names = [pty.path, "", back.path]

    def find() -> str:
        name = names.pop(0)
        if not name:
            raise NotOurBoardError("no board whose UUID begins with 3f")
        return name

    link = SerialLink("board:3f", find=find)
    assert link.path == pty.path
    pty.unplug()
    assert f"board:3f ({pty.path})" in str(lose(link))
    with pytest.raises(NotOurBoardError, match="begins with 3f"):
        link.reopen()
    link.reopen()
    assert (link.url, link.path) == ("board:3f", back.path)
    link.close()
    back.unplug()


# ---------------------------------------------------------------------- the line


TCGETS2 = 0x802C542A  # as <asm-generic/ioctls.h> has it for x86 and Arm; termios knows no rates beyond a table of old


def rate_of(link: SerialLink) -> int:
    """The rate that the kernel has for the port, bit/s."""
    settings = fcntl.ioctl(link._port.fileno(), TCGETS2, bytes(44))
    return int(struct.unpack_from("I", settings, 40)[0])


def test_the_rate_follows_and_reopening_brings_back_the_first(link: SerialLink) -> None:
    assert rate_of(link) == 115200
    link.set_baud(500000)
    assert rate_of(link) == 500000
    link.set_baud(250000)  # not in the table of old
    assert rate_of(link) == 250000
    link.reopen()
    assert rate_of(link) == 115200


def test_what_arrived_before_the_rate_changed_is_lost(pty: Pty, link: SerialLink) -> None:
    os.write(pty.master, b"old")
    assert select.select([link._port.fileno()], [], [], GENEROUS_S)[0]
    link.set_baud(57600)
    os.write(pty.master, b"new")
    assert link.read(link.clock.now() + GENEROUS_S) == b"new"


def test_a_rate_that_cannot_be_is_refused_and_the_link_lives(pty: Pty, link: SerialLink) -> None:
    with pytest.raises(BadRigError, match="-1 bit/s"):
        link.set_baud(-1)
    os.write(pty.master, b"alive")
    assert link.read(link.clock.now() + GENEROUS_S) == b"alive"


def test_a_pseudo_terminal_refuses_low_latency_and_that_is_told(link: SerialLink) -> None:
    assert link.low_latency is False


# ---------------------------------------------------------------------- over a network


@pytest.fixture
def echo(pty: Pty) -> Iterator[str]:
    """A port that echoes."""

    def answer() -> None:
        with suppress(OSError):  # the end of the pseudo-terminal
            while True:
                ready, _, _ = select.select([pty.master, stop], [], [])
                if stop in ready:
                    return
                with suppress(OSError):  # nobody has it open
                    os.write(pty.master, os.read(pty.master, 4096))

    stop, stop_it = os.pipe()
    thread = threading.Thread(target=answer)
    thread.start()
    keep = os.open(pty.path, os.O_RDWR | os.O_NOCTTY)  # or there would be a hang-up between two openings
    yield pty.path
    os.write(stop_it, b"x")
    thread.join()
    for end in (keep, stop, stop_it):
        os.close(end)


@pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial's
@pytest.mark.parametrize("scheme", ["socket", "rfc2217"])
def test_a_port_across_a_network_is_a_link_like_any_other(scheme: str, echo: str) -> None:
    with bridged(echo, scheme) as (url, hang_up):
        link = SerialLink(url)
        try:
            assert link.low_latency is None
            for _ in range(2):
                sent = bytes(range(256)) * 8
                link.write(sent)
                received = b""
                until = link.clock.now() + GENEROUS_S
                while len(received) < len(sent) and link.clock.now() < until:
                    received += link.read(until)
                assert received == sent
                deadline = link.clock.now() + 0.02
                assert link.read(deadline) == b""
                assert link.clock.now() >= deadline
                link.held_for("run 1")
                link.set_baud(57600)
                hang_up()
                assert "vanished" in str(lose(link))
                link.reopen()
        finally:
            link.close()
    with pytest.raises(NotOurBoardError, match="cannot be reached"):
        link.reopen()


def test_termios_is_left_raw(link: SerialLink) -> None:
    """No byte of a frame may mean anything to the terminal in between."""
    iflag, oflag, _, lflag, *_ = termios.tcgetattr(link._port.fileno())
    assert not iflag & (termios.IXON | termios.ICRNL | termios.INLCR | termios.ISTRIP)
    assert not oflag & termios.OPOST
    assert not lflag & (termios.ICANON | termios.ECHO | termios.ISIG)
