# SPDX-License-Identifier: Apache-2.0
"""What options and arguments of the command may hold; those that several commands share, with their help."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from controller import durations
from controller.errors import RefusedError
from rig.brains import MODELS
from rig.slots import MOST_SLOTS

MAX_TRIALS = 10_000_000
MAX_CARDS = 200


def whole_number(low: int, high: int, unit: str = "") -> object:
    """A parser of whole numbers from `low` to `high`, of that unit."""

    def parse(text: str | int) -> int:
        try:
            value = int(str(text))
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise typer.BadParameter(f"{text!r} is not a whole number{unit and f' of {unit}'} from {low} to {high}")
        return value

    return parse


def _pace(text: str | float) -> float:
    try:
        value = durations.parse_s(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not 0.2 <= value <= 3600:
        raise typer.BadParameter(f"{text!r} is outside 200ms to 1h")
    return value


def _dut(text: str) -> str:
    if not text.strip() or len(text) > 200 or not text.isprintable():
        raise typer.BadParameter("a name of 1 to 200 printable characters is needed, without line breaks")
    return text


def a_drive(text: str) -> str:
    """`button` or `direct`."""
    if text not in ("button", "direct"):
        raise typer.BadParameter(f"{text!r} is neither button (the toy decides) nor direct (the rig runs the roller)")
    return text


def a_launcher(text: str) -> str:
    """`roller` or `blast`."""
    if text not in ("roller", "blast"):
        raise typer.BadParameter(f"{text!r} is neither roller nor blast")
    return text


def _brain(text: str) -> str:
    if text not in MODELS:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(MODELS)}")
    return text


def _burst(text: str) -> str:
    if not all(part == "fire" or (part.isascii() and part.isdecimal() and 1 <= int(part) <= 100) for part in text.split(",")):
        raise typer.BadParameter(f"{text!r} is no list of burst sizes; write for example 1 or 1,2,4 or 1,fire")
    return text


def _order(text: str) -> str:
    from controller.campaigns.orders import parse_order

    try:
        parse_order(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return text


RigOption = Annotated[
    str,
    typer.Option(
        "--rig",
        help="twin:roller?seed=7, twin:blast, /dev/ttyACM0, COM3, board:UUID, rfc2217://host:port, socket://host:port; "
        "or faulty+ any.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", parser=whole_number(0, 2**63 - 1), help="Seed of the twin; sets the one in its URL."),
]
DriveOption = Annotated[
    str, typer.Option("--drive", parser=a_drive, help="button: the toy decides; direct: the rig runs the roller.")
]
PaceOption = Annotated[
    float, typer.Option("--pace", parser=_pace, help="Time from press to press, or from insert to insert, such as 3s or 500ms.")
]
FillOption = Annotated[
    int | None,
    typer.Option(
        "--fill",
        parser=whole_number(1, MAX_CARDS, "cards"),
        help="Cards in one load of the hopper, default 83; of a blaster's loader, default one for each slot.",
    ),
]
DutOption = Annotated[str, typer.Option("--dut", parser=_dut, help="Name or serial number of the device under test.")]
BurstOption = Annotated[
    str | None,
    typer.Option(
        "--burst",
        parser=_burst,
        help="Presses, or inserts, owed by one game event, sizes in turn; fire: until one fires. Default 1,2,4; for a blaster 1.",
    ),
]
OrderOption = Annotated[
    str | None,
    typer.Option(
        "--order", parser=_order, help="Blaster: order of the slots: random (default), sequential, fixed, or such as fixed:3,1,2."
    ),
]
SlotsOption = Annotated[
    int | None,
    typer.Option(
        "--slots",
        parser=whole_number(1, MOST_SLOTS, "slots"),
        help="Blaster: refuse a bench that has another number of slots wired.",
    ),
]
BrainOption = Annotated[
    str | None,
    typer.Option("--brain", parser=_brain, help="direct: the model that decides (iid, hazard, sequence); default the rig's."),
]
OperatorOption = Annotated[str, typer.Option("--operator", help="auto, console or none: who reloads and clears the mouth.")]
VcdOption = Annotated[Path | None, typer.Option("--vcd", help="Write the twin's pins and beams for GTKWave or PulseView.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="Path or URL of the store; default $LAUNCHRIG_STORE, else ./runs.sqlite.")
]


def new_console() -> Console:
    """A terminal's own width; elsewhere wide enough that no table breaks a line."""
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else 240)


def store_name(option: str | None) -> str:
    """The store that `--store`, or else the environment, names."""
    return option or os.environ.get("LAUNCHRIG_STORE") or "runs.sqlite"


def a_run(text: str) -> str:
    """The id of a run, or `last`."""
    if text != "last" and not (text.isascii() and text.isdecimal() and len(text) < 18):
        raise typer.BadParameter(f"{text!r} is no run: a run is a number from `launchrig runs list`, or last")
    return text


def refuse_beside(option: str, context: typer.Context, fitting: set[str]) -> None:
    """Refuse whatever was given beside `option` that would do nothing; `fitting` are names of parameters."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in fitting:
            raise RefusedError(f"{context.command.name}: {parameter.opts[0]} does nothing beside {option}; leave one of them away")


RunArgument = Annotated[str, typer.Argument(metavar="RUN", parser=a_run, help="Run id, or last.")]
