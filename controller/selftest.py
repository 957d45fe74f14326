# SPDX-License-Identifier: Apache-2.0
"""`launchrig selftest`: every output and sensor of a bench at safe levels, a line each, and the exit code they come to."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from controller.doctor.checks import Check, Finding, Status
from controller.doctor.show import Teller
from controller.signals import StopFlag, stop_on_signals
from controller.verdict import Exit
from rig import __version__
from rig.errors import RigError, StopAskedError
from rig.exercise import Exercise, Outcome, Row
from rig.open import open_rig
from rig.operator import ConsoleOperator
from rig.rig import Rig
from rig.selfcheck import Bench
from rig.wire.messages import Launcher, Wiring
from rig.wired import WIRED

NAME_WIDTH = 18


@dataclass(frozen=True, slots=True)
class SelftestRequest:
    """What was asked for; drive: None for the wiring that the board has stored."""

    rig: str
    drive: Wiring | None
    operator: str
    press: bool
    json_wanted: bool


def exit_of(rows: list[Row], fault: str, safe: bool) -> Exit:
    """The exit code of a self-test that was not stopped; `fault` is what ended it early."""
    outcomes = {each.outcome for each in rows}
    if fault or not safe:
        return Exit.rig_fault
    if Outcome.fail in outcomes:
        return Exit.failed
    return Exit.passed if outcomes == {Outcome.ok} else Exit.inconclusive


def selftest(request: SelftestRequest, console: Console) -> int:
    """Exercise the bench; returns the exit code. Raises a `RigError` when no board answers."""
    with stop_on_signals() as stop:
        rig = open_rig(request.rig, operator=request.operator)
        try:
            if request.json_wanted and isinstance(rig.operator, ConsoleOperator):
                rig.operator = ConsoleOperator(_ask_aside, _tell_aside)
            return _exercised(rig, request, stop, console)
        finally:
            rig.close()


def _exercised(rig: Rig, request: SelftestRequest, stop: StopFlag, console: Console) -> int:
    rig.link.held_for("selftest")
    stop.panic = rig.panic
    bench = Bench(rig, stop)
    launcher = Launcher(bench.board.boot.launcher)
    wired = WIRED[launcher]
    drive = wired.wiring(request.drive, Wiring(bench.board.boot.wiring))
    slots: int | None = None
    rows: list[Row] = []
    fault, stopped, told = "", False, Teller(console, NAME_WIDTH)
    try:
        exercise = Exercise(bench, drive, press=request.press)
        slots = exercise.slots
        for row in exercise.steps():
            rows.append(row)
            if not request.json_wanted:
                told(_line(rig.url, row))
    except StopAskedError:
        stopped = True
    except RigError as error:
        fault = str(error)
    finally:
        safe = bench.safe_state()
    code = Exit.aborted if stopped else exit_of(rows, fault, safe)
    names = {row.name for row in rows}
    missing = {} if stopped or fault or slots is None else wired.left_out(slots)
    left_out = {name: why for name, why in missing.items() if name not in names}
    if request.json_wanted:
        on_bench = {"launcher": launcher.name, "slots": slots if wired.slotted else None, "wiring": drive.name}
        print(_as_json(rig, on_bench, rows, left_out, fault, safe, code))
    else:
        _tell_end(console, rows, left_out, fault, safe, stopped)
    return code


def _line(where: str, row: Row) -> Check:
    remedy = f"expected: {row.expects}" if row.outcome is Outcome.fail else ""
    found = row.saw if row.outcome is Outcome.skipped else f"{row.did}: {row.saw}"
    return Check(where, row.name, Finding(Status(row.outcome.value), found, remedy))


def _tell_end(console: Console, rows: list[Row], left_out: dict[str, str], fault: str, safe: bool, stopped: bool) -> None:
    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    say("")
    for name, why in left_out.items():
        say(f"not part of this: {name}: {why}")
    say("outputs off, confirmed" if safe else "NOT CONFIRMED SAFE: cut the power by hand")
    if fault:
        say(f"ended early: {fault}")
    counts = ", ".join(f"{sum(row.outcome is outcome for row in rows)} {outcome.value}" for outcome in Outcome)
    say(f"{counts}{'; stopped before its end' if stopped else ''}")


def _as_json(
    rig: Rig, on_bench: dict[str, Any], rows: list[Row], left_out: dict[str, str], fault: str, safe: bool, code: Exit
) -> str:
    found: dict[str, Any] = {
        "launchrig": __version__,
        "rig": rig.url,
        **on_bench,
        "rows": [asdict(row) for row in rows],
        "left_out": [{"name": name, "why": why} for name, why in left_out.items()],
        "fault": fault,
        "outputs_off": safe,
        "exit_code": int(code),
    }
    return json.dumps(found, indent=1, allow_nan=False)


def _ask_aside(question: str) -> str:
    """Ask where it does not get between the lines of the JSON."""
    print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise EOFError
    return answer.rstrip("\n")


def _tell_aside(line: str) -> None:
    print(line, file=sys.stderr)
