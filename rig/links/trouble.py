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

import psutil

from rig.errors import BadRigError, NotOurBoardError, PortBusyError, PortDeniedError, RigError
from rig.links.lockfile import Holder, holder_of, who_has_open

ANOTHER = "or name another port"
UDEV = "launchrig doctor --udev prints a udev rule that does it for every user"
JOIN_GROUP = {"alpine": "sudo addgroup {user} {group}"}
"""How a user joins a group where it is not done as everywhere else, by the ID in /etc/os-release."""


SYSFS = Path("/sys/dev/char")


def is_no_port(device: str) -> bool:
    """Whether `device` is surely no serial port. It is not opened for that, which would reset a board."""
    if os.name != "posix":
        return False
    try:
        found = Path(device).stat()
    except (OSError, ValueError):
        return False  # why it cannot be looked at is told when it is opened
    if not stat.S_ISCHR(found.st_mode):
        return True
    if sys.platform == "linux":
        major, minor = os.major(found.st_rdev), os.minor(found.st_rdev)
        if (major == 4 and minor < 64) or (major == 5 and minor < 3):  # consoles; /dev/tty, /dev/console, /dev/ptmx
            return True
        kind = SYSFS / f"{major}:{minor}" / "subsystem"  # a pseudo-terminal has none, nor has a port that is unplugged
        if kind.exists() and kind.resolve().name != "tty":
            return True
    return psutil.Process().terminal() == os.path.realpath(device)  # whose holders are the user's own shell and we


def no_port(name: str) -> BadRigError:
    """The error for what is no serial port at all."""
    return BadRigError(f"{name}: is no serial port; name one such as /dev/ttyACM0")


def why_not_opened(name: str, device: str, error: Exception) -> RigError:
    """The typed error behind `error`, which opening `device` raised; `name` is what the user calls the port."""
    text, code = str(error), _code(error)
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
    if code in (errno.ENOTTY, errno.EISDIR, errno.EINVAL) or is_no_port(device):
        return no_port(name)
    return NotOurBoardError(f"{name}: cannot be opened: {os.strerror(code) if code else text}; plug the board in, {ANOTHER}")


def _code(error: BaseException) -> int | None:
    """The system's error number behind `error`; pyserial keeps some only in the error that its own was made of."""
    for each in (error, error.__context__):
        found = getattr(each, "errno", None) or next(iter(getattr(each, "args", ())), None)
        if isinstance(found, int):
            return found
    return None


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
