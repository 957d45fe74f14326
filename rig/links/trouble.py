# SPDX-License-Identifier: Apache-2.0
"""From what went wrong when a port was opened to the typed error, with who or what is in the way and the command that mends it."""

from __future__ import annotations

import errno
import os
import platform
import stat
import sys
from contextlib import suppress
from pathlib import Path

from rig.errors import BadRigError, NotOurBoardError, PortBusyError, PortDeniedError, RigError
from rig.links.lockfile import Holder, holder_of, who_has_open

ANOTHER = "or name another port with --rig"
UDEV = "launchrig doctor --udev prints a udev rule that does it for every user"
JOIN_GROUP = {"alpine": "sudo addgroup {user} {group}"}
"""How a user joins a group where it is not done as everywhere else, by the ID in /etc/os-release."""


def why_not_opened(name: str, device: str, error: Exception) -> RigError:
    """The typed error behind `error`, which opening `device` raised; `name` is what the user calls the port."""
    text, code = str(error), getattr(error, "errno", None)
    if "://" in device:
        return NotOurBoardError(f"{name}: cannot be reached ({text}); see that the port's server runs there, {ANOTHER}")
    if code in (errno.EACCES, errno.EPERM) or "PermissionError" in text:
        if sys.platform == "win32":  # which says so of a port that is taken, and of nothing else
            return PortBusyError(f"{name}: another program has the port open; close it, such as a serial monitor, {ANOTHER}")
        return denied(name, device)
    if code in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EBUSY) or "exclusively lock" in text:
        return busy(name, device)
    if code == errno.ENOENT or "FileNotFoundError" in text:
        return NotOurBoardError(f"{name}: no such port; plug the board in, {ANOTHER}")
    if code in (errno.ENOTTY, errno.EISDIR) or "(25," in text:
        return BadRigError(f"{name}: is no serial port; name one such as /dev/ttyACM0")
    return NotOurBoardError(f"{name}: cannot be opened: {text}")


def busy(name: str, device: str, holder: Holder | None = None) -> PortBusyError:
    """Somebody else has the port: `holder`, or whoever is found to hold `device`."""
    holder = holder or holder_of(device) or who_has_open(device)
    if holder is None:
        return PortBusyError(f"{name}: another program has the port open; find it with: sudo fuser -v {device}, and end it")
    return PortBusyError(f"{name}: held by {holder}; end it with: kill {holder.pid}, {ANOTHER}")


def denied(name: str, device: str) -> PortDeniedError:
    """The user may not open the port: who owns it, and what to do about it for this user on this system."""
    said = f"{name}: permission denied"
    try:
        import grp
        import pwd

        found = Path(device).stat()
        user = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, OSError, KeyError):
        return PortDeniedError(f"{said}; {UDEV}")
    try:
        group = grp.getgrgid(found.st_gid).gr_name
    except KeyError:
        group = str(found.st_gid)
    for_group = stat.S_IRGRP | stat.S_IWGRP
    if found.st_gid == 0 or found.st_mode & for_group != for_group:
        mode = stat.S_IMODE(found.st_mode)
        owner = str(found.st_uid)
        with suppress(KeyError):
            owner = pwd.getpwuid(found.st_uid).pw_name
        return PortDeniedError(f"{said}: it belongs to {owner}, mode {mode:o}, and no group gives access; {UDEV}")
    if found.st_gid in os.getgrouplist(user, pwd.getpwnam(user).pw_gid):
        return PortDeniedError(f"{said}: {user} is in its group {group}, but this session is older; log out and in again")
    join = JOIN_GROUP.get(_system(), "sudo usermod -aG {group} {user}").format(group=group, user=user)
    return PortDeniedError(f"{said}: it belongs to group {group}; join it with: {join}, then log out and in again ({UDEV})")


def _system() -> str:
    """This system's ID, as in /etc/os-release; empty where there is none."""
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""
