# SPDX-License-Identifier: Apache-2.0
"""A port that may not be opened: the text names the owner as it really is, and the command that helps this user."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.errors import PortDeniedError
from rig.links.trouble import denied


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
