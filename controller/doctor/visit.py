# SPDX-License-Identifier: Apache-2.0
"""`launchrig doctor`: the machine, then each port that may have a board behind it, then each board that answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from rich.console import Console

from controller.doctor.board import CONNECT, examine
from controller.doctor.checks import MACHINE, Check, Status, exit_of, of_error, skipped, warn
from controller.doctor.machine import bootloader, describe, device_of, distribution, machine_checks, port_checks
from controller.doctor.show import Teller, as_json, summary
from controller.signals import StopFlag, stop_on_signals
from rig.discover import Found, find_boards
from rig.errors import BadRigError, NotOurBoardError, RigError
from rig.links.serial import Port, ports
from rig.open import open_rig
from rig.rig import Rig
from rig.udev import known_usb


def doctor(url: str | None, frames: int, json_wanted: bool, console: Console, here: Sequence[Port] | None = None) -> int:
    """Examine the rig `url`, or every port of `here` (default: this machine's); returns the exit code.

    `frames` per rate of the link test, 0 leaves it out. Raises `BadRigError` for a URL that names no rig, and `StopAskedError`.
    """
    release = distribution()
    told = Teller(console)
    checks: list[Check] = []
    seen: list[dict[str, Any]] = []
    machine = machine_checks(release)
    with stop_on_signals() as stop:
        chosen = _one(url, frames, stop) if url is not None else _every(ports() if here is None else here, frames, seen, stop)
        for check in chain(machine, chosen):
            checks.append(check)
            if not json_wanted:
                told(check)
    examined = sum(check.name == CONNECT and check.finding.status is Status.ok for check in checks)
    code = exit_of(checks, examined)
    if json_wanted:
        print(as_json(describe(release), seen, checks, examined, code))
    else:
        console.print(f"\n{summary(checks, examined)}", highlight=False, markup=False)
    return code


def _every(here: Sequence[Port], frames: int, seen: list[dict[str, Any]], stop: StopFlag) -> Iterator[Check]:
    """Every port that may have a board behind it; what was found of each goes into `seen`, too."""
    if not any(port.vid is not None for port in here):
        remedy = "plug the board in with a USB cable that carries data; without a board: launchrig doctor --rig twin:roller"
        yield Check(MACHINE, "ports", warn("no USB serial port is here", remedy))
    before = {port.device: port_checks(port.device) if port.vid is not None else [] for port in here}
    open_to_us = [port.device for port in here if port.vid is not None and not _failed(before[port.device])]
    heard = {each.port: each for each in find_boards(open_to_us, stop_asked=stop)}
    for port in here:
        board = heard.get(port.device)
        seen.append(_described(port, board))
        if port.vid is None:
            yield _left_alone(port, "no USB port")
        elif (port.vid, port.pid) in known_usb() or (board and board.boot):
            yield from before[port.device]
            yield from _behind(port, board, frames, stop)
        else:
            # Many things have a USB serial port; one without the number of an Uno's that says no BOOT is most likely another.
            yield _left_alone(port, "says no BOOT" if board else "may not be opened")


def _failed(checks: Sequence[Check]) -> bool:
    return any(check.finding.status is Status.fail for check in checks)


def _left_alone(port: Port, why: str) -> Check:
    return Check(port.device, CONNECT, skipped(f"{port.description}: {why}", f"launchrig doctor --rig {port.device}"))


def _behind(port: Port, board: Found | None, frames: int, stop: StopFlag) -> Iterator[Check]:
    """What is behind a port that a board may be at, and that was not named by the user."""
    if board is not None and board.boot is not None:
        yield from _opened(port.device, frames, stop)
    elif board is not None and board.error is not None:
        yield Check(port.device, CONNECT, of_error(board.error))
        if isinstance(board.error, NotOurBoardError):
            yield Check(port.device, "bootloader", bootloader(port.device, stop))


def _one(url: str, frames: int, stop: StopFlag) -> Iterator[Check]:
    """The rig that the user has named. Raises `BadRigError` at once, before anything is told."""
    path = device_of(url)
    before = port_checks(path) if path else []
    return iter(before) if _failed(before) else chain(before, _opened(url, frames, stop))


def _opened(url: str, frames: int, stop: StopFlag) -> Iterator[Check]:
    """The rig `url`, opened now and examined later. Raises `BadRigError` for a URL that names no rig."""
    try:
        rig = open_rig(url, operator="none")
    except BadRigError:
        raise
    except RigError as error:
        return iter([Check(url, CONNECT, of_error(error))])
    return _examined(rig, url, frames, stop)


def _examined(rig: Rig, url: str, frames: int, stop: StopFlag) -> Iterator[Check]:
    """All that is found of `rig`, which is closed then."""
    silent = False
    try:
        rig.link.held_for("doctor")
        stop.panic = rig.panic
        for check in examine(rig, rig.url, frames, stop):
            silent = silent or check.finding.data.get("error") == NotOurBoardError.__name__
            yield check
    finally:
        rig.close()
    port = device_of(url)
    if silent and port:
        yield Check(rig.url, "bootloader", bootloader(port, stop))


def _described(port: Port, board: Found | None) -> dict[str, Any]:
    return {
        "device": port.device,
        "description": port.description,
        "usb": None if port.vid is None or port.pid is None else f"{port.vid:04x}:{port.pid:04x}",
        "serial_number": port.serial_number,
        "board": board.uuid or None if board else None,
    }
