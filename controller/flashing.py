# SPDX-License-Identifier: Apache-2.0
"""`launchrig flash`: which board, which image, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_log_path
from rich.console import Console

from rig.errors import BadRigError, NotOurBoardError, TwinUnavailableError
from rig.firmware import packaged
from rig.flash import demand_local, flash, flash_command, refuse_foreign
from rig.image import read_image
from rig.links.serial import Port, SerialLink, ports
from rig.twin.rehearsal import rehearse
from rig.wire.messages import BAUD, Boot, BootFlag

MEND_FILE = "leave --hex out to write the right one, or add --foreign to write this one all the same"
MEND_PACKAGED = "build the right one with: ./dev firmware"


def the_only(found: Sequence[Port]) -> str:
    """The one USB port among `found`: another may lead to whatever hangs on the motherboard, and is taken only when it is named.

    Raises `NotOurBoardError` when there is none, `BadRigError` that lists them when there are several.
    """
    devices = [each.device for each in found if each.vid is not None]
    if not devices:
        raise NotOurBoardError("no USB serial port here: plug the board in, or name its port with --port")
    if len(devices) > 1:
        raise BadRigError(f"several USB serial ports: {', '.join(devices)}; name the board's, as in: {flash_command(devices[0])}")
    return devices[0]


def told(boot: Boot) -> str:
    """What the board says of itself, in one line."""
    named = "none yet, the first run gives it one" if boot.flags & BootFlag.uuid_blank else boot.uuid.hex()
    return (
        f"launchrig firmware {boot.version_major}.{boot.version_minor}.{boot.version_patch}, build {boot.build_id:08x}, "
        f"board UUID {named}, boot {boot.boot_count}"
    )


def flash_board(port: str | None, hex_file: Path | None, foreign: bool, console: Console) -> None:
    """Program the board at `port` (None: the only USB port) with `hex_file` (None: the packaged firmware).

    A file that is no firmware of this launchrig is written only when `foreign` says so. Raises a `RigError`.
    """

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    if port is not None:
        demand_local(port)
    image = read_image(hex_file or packaged("hex"))
    mend = MEND_FILE if hex_file else MEND_PACKAGED
    port = the_only(ports()) if port is None else port
    baud = BAUD
    try:
        tried = rehearse(image.data)
    except TwinUnavailableError as error:
        say(f"{image.path}: not tried in the simulator first: {error}")
    else:
        baud = tried.baud
        if not foreign:
            refuse_foreign(image, tried.heard, mend)
    log = user_log_path("launchrig") / "flash.log"
    boot = flash(port, image, baud, say, SerialLink, log)
    say(f"{port}: {told(boot)}")
