# SPDX-License-Identifier: Apache-2.0
"""The machine: what is installed, who the user is, and whether this user can use a port.

What depends on the system is gathered here and judged by functions of it, by a table of distributions.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from controller.doctor.checks import MACHINE, Check, Finding, fail, of_error, ok, warn
from controller.versions import versions
from rig import __version__
from rig.errors import RigError
from rig.flash import flash_command
from rig.links.lockfile import Holder, holder_of, who_has_open
from rig.links.trouble import busy, denied, is_no_port
from rig.selfcheck import bootloader_at
from rig.udev import INSTALL

UDEV_DATABASE = Path("/run/udev/data")
IGNORED = ("ID_MM_DEVICE_IGNORE=1", "ID_MM_PORT_IGNORE=1")

INSTALLERS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "arch": "sudo pacman -S",
    "opensuse": "sudo zypper install",
    "suse": "sudo zypper install",
    "alpine": "sudo apk add",
}
"""How a package is installed, by the ID of the distribution or of what it is like, in /etc/os-release."""


def distribution() -> dict[str, str]:
    """What /etc/os-release says; empty where there is none."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def install_command(package: str, release: dict[str, str]) -> str:
    """The command that installs `package` on the distribution `release`, or on the one that it is made from."""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    # openSUSE's flavours call themselves opensuse-leap, sled and the like
    found = next((INSTALLERS[name] for each in names if (name := each.partition("-")[0]) in INSTALLERS), None)
    return f"{found} {package}" if found else f"install the package {package}"


def user_and_groups() -> tuple[str, list[str]]:
    """The user of this process and the groups that it runs with; none where the system has none."""
    process = psutil.Process()
    try:
        import grp
    except ImportError:
        return process.username(), []
    names = {number: str(number) for number in (os.getegid(), *os.getgroups())}
    names |= {entry.gr_gid: entry.gr_name for entry in grp.getgrall() if entry.gr_gid in names}
    return process.username(), sorted(names.values())


# ---------------------------------------------------------------------- the checks


def permission(path: str) -> Finding:
    """Whether this process may read and write the device file `path`, and the command that makes it so."""
    found = Path(path).stat()
    group = _group_name(found.st_gid)
    facts = {"group": group, "mode": f"{stat.S_IMODE(found.st_mode):04o}"}
    if os.access(path, os.R_OK | os.W_OK):
        return ok(f"may be read and written (group {group}, mode {facts['mode']})", **facts)
    finding = of_error(denied(path, path))
    return fail(finding.found, finding.remedy, **finding.data, **facts)


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def modem_manager_runs() -> bool:
    """Whether a ModemManager is running on this machine."""
    return any(process.info["name"] == "ModemManager" for process in psutil.process_iter(["name"]))


def is_ignored(path: str, database: Path = UDEV_DATABASE) -> bool:
    """Whether udev has told ModemManager to leave the device file `path` alone."""
    try:
        number = Path(path).stat().st_rdev
        said = (database / f"c{os.major(number)}:{os.minor(number)}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(line.partition(":")[2] in IGNORED for line in said.splitlines())


def modem_manager(runs: bool, ignored: bool) -> Finding:
    """Whether ModemManager may send its AT commands to the port."""
    if not runs:
        return ok("ModemManager does not run")
    if ignored:
        return ok("ModemManager runs and is told to leave this port alone")
    return warn(
        "ModemManager runs and may open this port and send AT commands for seconds after it is plugged in",
        f"install the udev rule, then plug the board in again: {INSTALL}",
    )


def machine_checks(release: dict[str, str]) -> list[Check]:
    """What a rig needs of this machine."""
    return [
        Check(MACHINE, name, finding)
        for name, finding in (
            ("launchrig", ok(f"{__version__}, Python {platform.python_version()}")),
            ("avrdude", _avrdude(shutil.which("avrdude"), release)),
            ("simulator", _simulator()),
        )
    ]


def _avrdude(path: str | None, release: dict[str, str]) -> Finding:
    if path:
        return ok(path)
    return warn("not installed: no board can be flashed", install_command("avrdude", release))


def _simulator() -> Finding:
    from rig.firmware import packaged
    from rig.twin.build import avrtwin_path

    try:
        packaged("elf")
        return ok(str(avrtwin_path()))
    except RigError as error:
        found = of_error(error)
        return warn(found.found, found.remedy)


def describe(release: dict[str, str]) -> dict[str, Any]:
    """The machine, for programs."""
    user, groups = user_and_groups()
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "distribution": release.get("PRETTY_NAME"),
        "versions": versions(),
        "executable": sys.executable,
        "user": user,
        "groups": groups,
    }


def device_of(url: str) -> str:
    """The port of this machine that a rig's URL names; empty for a twin, a network address and a board by its UUID."""
    path = url.removeprefix("faulty+").partition("?")[0]
    return path if path.startswith("/") or path.upper().startswith("COM") else ""


def bootloader(port: str, stop_asked: Callable[[], bool]) -> Finding:
    """Whether a bootloader is behind `port`, where no firmware of ours says BOOT."""
    flash = flash_command(port)
    try:
        found = bootloader_at(port, stop_asked)
    except RigError as error:
        return of_error(error)
    if found is None:
        remedy = f"press the board's reset button and run: {flash}; a board without a bootloader needs a programmer"
        return warn("none answers at 115200 or at 57600 baud: no Uno, or one that is held in reset", remedy, baud=None)
    said = f"{found.name} answers at {found.baud} baud (part {found.signature or 'unknown'}): a board without our firmware"
    return warn(said, flash, baud=found.baud, signature=found.signature)


def port_checks(path: str) -> list[Check]:
    """What stands between this user and the port `path`; nothing for what is no serial port."""
    if not Path(path).is_char_device() or is_no_port(path):
        return []
    holder = holder_of(path) or who_has_open(path)
    return [
        Check(path, "permission", permission(path)),
        Check(path, "holder", _held(path, holder) if holder else ok("nobody else has it open")),
        Check(path, "modem_manager", modem_manager(modem_manager_runs(), is_ignored(path))),
    ]


def _held(path: str, holder: Holder) -> Finding:
    finding = of_error(busy(path, path, holder))
    return fail(finding.found.removeprefix(f"{path}: "), finding.remedy, **finding.data, pid=holder.pid)
