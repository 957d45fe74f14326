# SPDX-License-Identifier: Apache-2.0
"""A port that may not be opened: the text names the owner as it really is, and the command that helps this user."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.errors import BadRigError, NotOurBoardError, PortDeniedError
from rig.links.trouble import denied, is_no_port, why_not_opened


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can give a device to another group")
    path = tmp_path / "ttyACM0"
    path.touch()
    yield path


def text(port: Path, name: str = "board:3f") -> str:
    error = denied(name, str(port))
    assert isinstance(error, PortDeniedError)
    return str(error)


@pytest.mark.parametrize("group", ["dialout", "games"])
def test_the_group_is_the_one_that_the_device_has(group: str, port: Path) -> None:
    shutil.chown(port, group=group)
    port.chmod(0o660)
    assert f"board:3f: permission denied: it belongs to group {group}; join it with: sudo usermod -aG {group} root" in text(port)


def test_a_group_without_a_name_is_a_number(port: Path) -> None:
    os.chown(port, 0, 54321)
    port.chmod(0o660)
    assert "group 54321;" in text(port)


@pytest.mark.parametrize(("group", "mode"), [("dialout", 0o600), ("dialout", 0o640), ("root", 0o660)])
def test_where_no_group_helps_a_udev_rule_does(group: str, mode: int, port: Path) -> None:
    shutil.chown(port, group=group)
    port.chmod(mode)
    said = text(port)
    assert f"it belongs to root, mode {mode:o}, and no group gives access" in said
    assert "launchrig doctor --udev" in said
    assert "usermod" not in said


def test_a_session_older_than_the_membership_is_told_to_begin_anew(port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = next((entry for entry in pwd.getpwall() if entry.pw_gid not in (0, 65534)), None)
    assert user
    os.chown(port, 0, user.pw_gid)
    port.chmod(0o660)
    monkeypatch.setattr(os, "geteuid", lambda: user.pw_uid)
    assert f"{user.pw_name} is in its group" in text(port)
    assert "log out and in again" in text(port)


def test_a_port_that_cannot_even_be_looked_at_is_still_one_line(tmp_path: Path) -> None:
    assert (
        text(tmp_path / "none")
        == "board:3f: permission denied; launchrig doctor --udev prints a udev rule that does it for every user"
    )


# ---------------------------------------------------------------------- what is no port


def test_a_pseudo_terminal_is_a_port_and_what_is_not_there_may_be_one() -> None:
    master, far = os.openpty()
    assert not is_no_port(os.ttyname(far))
    assert not is_no_port("/dev/ttyNONE0")
    os.close(far)
    os.close(master)


def test_the_terminal_that_launchrig_runs_in_is_no_port() -> None:
    """Its holder is the user's shell."""
    master, far = os.openpty()
    tty.setraw(far)
    path = os.ttyname(far)
    ask = f"from rig.links.trouble import is_no_port; print(is_no_port({path!r}))"
    said = [
        subprocess.run([*session, sys.executable, "-c", ask], stdin=far, stdout=subprocess.PIPE, text=True, check=True).stdout
        for session in (["setsid", "--wait"], ["setsid", "--wait", "--ctty"])
    ]
    os.close(far)
    os.close(master)
    assert said == ["False\n", "True\n"]


def test_a_port_whose_device_is_gone_is_still_a_port(tmp_path: Path) -> None:
    """Where /dev is not kept up to date, as in a container; it may come back."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a device file")
    node = tmp_path / "ttyACM0"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(166, 200))
    except PermissionError:
        pytest.skip("not even root may make a device file here")
    error = why_not_opened("board:3f", str(node), OSError(errno.ENXIO, "No such device or address"))
    assert isinstance(error, NotOurBoardError)
    assert str(error) == ("board:3f: cannot be opened: No such device or address; plug the board in, or name another port")


def test_an_error_that_only_its_origin_numbers_is_told_in_the_systems_words(tmp_path: Path) -> None:
    """As pyserial hands on what the terminal's settings met with."""

    def of(number: int) -> Exception:
        try:
            try:
                raise OSError(number, "said twice")
            except OSError as error:
                raise ValueError(f"Could not configure port: {error}") from None
        except ValueError as error:
            return error

    told = why_not_opened("COM3", str(tmp_path / "none"), of(errno.EINVAL))
    assert (type(told), str(told)) == (BadRigError, "COM3: is no serial port; name one such as /dev/ttyACM0")
    assert "COM3: cannot be opened: Input/output error; " in str(why_not_opened("COM3", str(tmp_path / "none"), of(errno.EIO)))
