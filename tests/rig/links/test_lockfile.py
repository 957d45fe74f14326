# SPDX-License-Identifier: Apache-2.0
"""A lock file names who holds a port, as others expect it; what the dead left behind holds nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.links.lockfile import Holder, PortLock, holder_of, lock_name, who_has_open

DEVICE = "/dev/ttyNONE7"
NAME = "LCK..ttyNONE7"


@pytest.fixture
def another() -> Iterator[int]:
    """The pid of another process that lives."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def dead() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_the_name_is_that_of_the_device_whatever_it_was_called(tmp_path: Path) -> None:
    assert lock_name("/dev/ttyACM0") == "LCK..ttyACM0"
    assert lock_name("/dev/pts/3") == "LCK..pts_3"
    by_id = tmp_path / "usb-Arduino-if00"
    by_id.symlink_to("/dev/ttyACM0")
    assert lock_name(str(by_id)) == "LCK..ttyACM0"


def test_it_begins_with_the_pid_in_ten_columns_and_goes_on_with_who_what_and_since(tmp_path: Path) -> None:
    lock = PortLock([tmp_path])
    assert lock.take(DEVICE, "run 12") is None
    text = (tmp_path / NAME).read_text(encoding="ascii")
    assert re.fullmatch(r"[ \d]{10} launchrig run 12 since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", text)
    assert int(text[:10]) == os.getpid()
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == [NAME], "no draft is left"


def test_what_it_is_held_for_can_change_and_since_when_does_not(tmp_path: Path) -> None:
    lock = PortLock([tmp_path])
    lock.take(DEVICE, "")
    first = holder_of(DEVICE, [tmp_path])
    lock.say("run 13\nfor a while")
    second = holder_of(DEVICE, [tmp_path])
    assert first and second
    assert (first.pid, first.program, first.what) == (os.getpid(), "launchrig", "")
    assert (second.what, second.since) == ("run 13 for a while", first.since)
    assert str(second) == f"pid {os.getpid()} (launchrig, run 13 for a while) since {first.since}"


def test_it_is_gone_after_its_release_and_another_ones_stays(tmp_path: Path, another: int) -> None:
    lock = PortLock([tmp_path])
    lock.take(DEVICE, "")
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    lock.take(DEVICE, "")
    (tmp_path / NAME).write_text(f"{another:>10} minicom root\n", encoding="ascii")
    lock.say("mine")
    lock.release()
    assert "minicom" in (tmp_path / NAME).read_text(encoding="ascii")


@pytest.mark.parametrize(
    ("line", "program", "what"),
    [("{pid:>10}\n", "", ""), ("{pid:>10} minicom root\n", "minicom", "root"), ("{pid}", "", "")],
    ids=["picocom", "minicom", "bare"],
)
def test_a_living_holder_is_named_and_left_alone(tmp_path: Path, another: int, line: str, program: str, what: str) -> None:
    path = tmp_path / NAME
    path.write_text(line.format(pid=another), encoding="ascii")
    lock = PortLock([tmp_path])
    before = lock.take(DEVICE, "")
    assert before
    assert (before.pid, before.program, before.what) == (another, program, what)
    assert re.fullmatch(r"\d{4}-.*Z", before.since), "a file that does not say so was made at some time"
    assert lock.path is None
    lock.release()
    assert path.read_text(encoding="ascii") == line.format(pid=another)


def of_the_dead(path: Path, another: int) -> None:
    path.write_text(f"{dead():>10} picocom\n", encoding="ascii")


def of_a_pid_used_again(path: Path, another: int) -> None:
    path.write_text(f"{another:>10} picocom\n", encoding="ascii")
    os.utime(path, (time.time() - 3600, time.time() - 3600))  # written when that process had not begun


def garbage(path: Path, another: int) -> None:
    path.write_bytes(b"\xff\x00nonsense" * 100)


def empty(path: Path, another: int) -> None:
    path.touch()


def a_pipe(path: Path, another: int) -> None:
    os.mkfifo(path)


def a_symlink(path: Path, another: int) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    "left", [of_the_dead, of_a_pid_used_again, garbage, empty, a_pipe, a_symlink], ids=lambda left: left.__name__
)
def test_what_holds_nothing_is_taken_over(left, tmp_path: Path, another: int) -> None:
    left(tmp_path / NAME, another)
    assert holder_of(DEVICE, [tmp_path]) is None
    lock = PortLock([tmp_path])
    assert lock.take(DEVICE, "run 1") is None
    found = holder_of(DEVICE, [tmp_path])
    assert found
    assert (found.pid, found.what) == (os.getpid(), "run 1")
    assert not (tmp_path / NAME).is_symlink()


def test_the_next_directory_serves_where_one_cannot_be_written(tmp_path: Path) -> None:
    lock = PortLock([Path("/proc"), tmp_path / "none", tmp_path])
    assert lock.take(DEVICE, "") is None
    assert lock.path == tmp_path / NAME
    lock = PortLock([Path("/proc")])
    assert lock.take(DEVICE, "") is None, "no lock file is no error: the descriptor's lock is what counts"
    assert lock.path is None
    lock.say("run 1")
    lock.release()


TAKE = """
import sys, time
from pathlib import Path
from rig.links.lockfile import PortLock
go, directory, device = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
lock = PortLock([directory])
print("ready", flush=True)
while not go.exists():
    time.sleep(0.0005)
print("other" if lock.take(device, "") else "mine", flush=True)
sys.stdin.read()
"""


def test_of_many_who_want_it_at_the_same_moment_one_gets_it(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    command = [sys.executable, "-c", TAKE, str(tmp_path / "go"), str(tmp_path / "locks"), DEVICE]
    takers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    answers = []
    for taker in takers:
        assert taker.stdout
        assert taker.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    for taker in takers:
        assert taker.stdout
        answers.append(taker.stdout.readline())
    named = holder_of(DEVICE, [tmp_path / "locks"])
    for taker in takers:
        taker.communicate()
    assert named
    assert sorted(answers) == ["mine\n"] + ["other\n"] * 5
    assert answers[[taker.pid for taker in takers].index(named.pid)] == "mine\n"
    assert len(list((tmp_path / "locks").iterdir())) == 1, "no draft is left"


def test_a_process_that_simply_has_the_device_open_is_found_by_its_command() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    device = os.ttyname(slave)
    assert who_has_open(device) is None, "this very process does not count"
    process = subprocess.Popen(["sleep", "601"], stdin=slave)
    try:
        assert who_has_open(device) == Holder(process.pid, "sleep 601")
    finally:
        process.kill()
        process.wait()
        os.close(slave)
        os.close(master)
    assert who_has_open("/dev/ttyNONE7") is None
