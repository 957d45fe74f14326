# SPDX-License-Identifier: Apache-2.0
"""`launchrig bench`: what a board is set up for, and the setting of it. The board keeps it in its EEPROM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from controller.signals import stop_on_signals
from controller.verdict import Exit
from rig import __version__
from rig.errors import RefusedRequestError, RigError, RigFaultError, StopAskedError
from rig.links.faults import PREFIX
from rig.open import TWIN, open_rig
from rig.selfcheck import Bench
from rig.wire.messages import Cause, Launcher, Wiring
from rig.wired import WIRED

SAVE_S = 0.2
"""The board writes a byte of its EEPROM in 3.4 ms, beside its other work; six of them may have changed."""

DECIDES = {Wiring.button: "the toy decides", Wiring.direct: "the rig runs the roller"}


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What was asked for; None leaves a setting as it is, and all three None only tells."""

    rig: str
    launcher: Launcher | None
    slots: int | None
    wiring: Wiring | None
    json_wanted: bool

    @property
    def sets(self) -> bool:
        """Whether anything is to be set."""
        return any(each is not None for each in (self.launcher, self.slots, self.wiring))


def changes(now: Mapping[str, int], request: BenchRequest) -> dict[str, int]:
    """The settings to write, in order, given those of `now`: what does not differ is not written.

    A wiring that the launcher does not have goes with it. Raises `RefusedRequestError` for what does not go together.
    """
    if not request.sets:
        return {}
    launcher = Launcher(now["launcher"]) if request.launcher is None else request.launcher
    wired = WIRED[launcher]
    if request.slots is not None and not wired.slotted:
        raise RefusedRequestError(f"--slots: {wired.name} has no slots; leave it away, or add --launcher blast")
    wanted = {
        "wiring": int(wired.wiring(request.wiring, Wiring(now["wiring"]))),
        "slots": now["slots"] if request.slots is None else request.slots,
        "launcher": int(launcher),  # last, so that the rest fits it whenever this is cut short
    }
    return {name: value for name, value in wanted.items() if now[name] != value}


def set_up(opened: Bench, request: BenchRequest) -> tuple[dict[str, int], list[str]]:
    """Store on the board what `request` asks for. Returns its settings as read back, and the names of those written.

    Nothing is energised. Raises `RigFaultError` while a fault is latched, and when the board does not keep what it was told.
    """
    board = opened.board
    written = changes(board.settings(), request)
    if request.sets and (cause := Cause(board.status().cause)):
        raise RigFaultError(
            f"the board has latched {cause.name} and nothing was set; docs/faults.md says what to do, a self-test clears it"
        )
    for name, value in written.items():
        board.set(name, value)
    if written:
        opened.serve(SAVE_S)
    found = board.settings()
    for name, value in written.items():
        if found[name] != value:
            raise RigFaultError(f"{name}: the board was told {value} and says {found[name]}; flash it again")
    return found, list(written)


def bench(request: BenchRequest, console: Console) -> int:
    """Tell what the board is set up for, after setting it if that was asked for; returns the exit code.

    Raises `RefusedRequestError` for what cannot be set, and a `RigError` when the board does not answer or refuses.
    """
    inner = request.rig.removeprefix(PREFIX)
    if request.sets and inner.startswith(TWIN):
        raise RefusedRequestError(
            f"{request.rig}: what is set in a twin ends with it, and this command's twin ends here; "
            f"its URL says what is on the bench, as in twin:roller or twin:blast?slots=4"
        )
    with stop_on_signals() as stop:
        rig = open_rig(request.rig, operator="none")
        try:
            rig.link.held_for("bench")
            stop.panic = rig.panic
            opened = Bench(rig, stop)
            try:
                settings, written = set_up(opened, request)
            except (RigError, StopAskedError) as error:
                if opened.safe_state():
                    raise
                raise RigFaultError(f"{error}; NOT CONFIRMED SAFE: cut the power by hand") from error
            safe = opened.safe_state()
        finally:
            rig.close()
    told = described(settings)
    if request.json_wanted:
        print(_as_json(rig.url, opened.board.boot.uuid, told, written, safe))
    else:
        _tell(console, rig.url, told, written, request.sets)
        console.print("outputs off, confirmed" if safe else "NOT CONFIRMED SAFE: cut the power by hand", highlight=False)
    return Exit.passed if safe else Exit.rig_fault


def described(settings: Mapping[str, int]) -> dict[str, Any]:
    """What a board with `settings` is set up for: names, and None for the slots of a launcher that has none."""
    launcher = Launcher(settings["launcher"])
    slots = settings["slots"] if WIRED[launcher].slotted else None
    return {"launcher": launcher.name, "slots": slots, "wiring": Wiring(settings["wiring"]).name}


def words(told: Mapping[str, Any]) -> dict[str, str]:
    """The same for a person, by setting."""
    wired = WIRED[Launcher[told["launcher"]]]
    wiring = Wiring[told["wiring"]]
    said = {"launcher": wired.name}
    if told["slots"] is not None:
        said["slots"] = f"{told['slots']} slots wired (how many the toy has is not verified)"
    fits = wiring in wired.wirings
    said["wiring"] = f"wiring {wiring.name}, {f'so {DECIDES[wiring]}' if fits else f'in which {wired.name} makes no trial'}"
    return said


def _tell(console: Console, where: str, told: Mapping[str, Any], written: list[str], asked: bool) -> None:
    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    say(where)
    for name, text in words(told).items():
        say(f"  {name:<9} {text}{' (stored now, read back)' if name in written else ''}")
    if asked and not written:
        say("it was set up like this already: nothing was written")


def _as_json(where: str, uuid: bytes, told: Mapping[str, Any], written: list[str], safe: bool) -> str:
    found = {
        "launchrig": __version__,
        "rig": where,
        "board": uuid.hex(),
        **told,
        "stored": written,
        "outputs_off": safe,
        "exit_code": int(Exit.passed if safe else Exit.rig_fault),
    }
    return json.dumps(found, indent=1, allow_nan=False)
