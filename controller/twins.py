# SPDX-License-Identifier: Apache-2.0
"""`launchrig twin`: what the twin can be set to, and the twin behind a pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from controller.signals import stop_on_signals
from rig.twin.bootloader import MEND, NONE
from rig.twin.parameters import Row, rows_of
from rig.twin.pty import PtyTwin
from rig.twin.twins import TWINS
from rig.twin.url import parse_url


def list_parameters(url: str, console: Console) -> None:
    """Every parameter of the twin that `url` names with unit, default, range, source and tag: two lines each, at any width.

    Raises `BadRigError` when the URL names none.
    """
    said = parse_url(url)
    for row in rows_of(said.twin.parameters):
        unit = "(no unit)" if row.unit == "1" else escape(row.unit)
        console.print(f"[bold]{row.name}[/bold] = {escape(_value(row.default))} {unit}  [dim]{_range(row)}[/dim]  {row.tag}")
        console.print(f"    {row.doc}; source: {row.source}", markup=False, highlight=False)
    console.print(
        "Tags: PUB published, MEAS measured, DER derived, SUG suggested, UNV looked for and not verified.", highlight=False
    )
    console.print(f"Set them in the URL: twin:{said.launcher}?{said.twin.example}", highlight=False, markup=False)


def _value(value: object) -> str:
    """A default as the URL takes it."""
    if not isinstance(value, tuple):
        return str(value)
    return ",".join(":".join(f"{part:g}" for part in each) if isinstance(each, tuple) else f"{each:g}" for each in value)


def _range(row: Row) -> str:
    return ", ".join(row.choices) if row.choices else f"{row.minimum:g} to {row.maximum:g}"


def serve(url: str, seed: int | None, vcd: Path | None, console: Console) -> int:
    """Run the twin at real time behind a pseudo-terminal until a signal; returns the exit code."""
    with stop_on_signals() as stop, PtyTwin(url, seed=seed, vcd=vcd) as twin:
        console.print(f"{twin.path}: a launchrig board, simulated at real time; end it with Ctrl-C", markup=False, highlight=False)
        by_hand = TWINS[parse_url(url).launcher].by_hand
        console.print(f"  for example: launchrig {by_hand} --rig {twin.path} --operator none", markup=False, highlight=False)
        if twin.bootloader == NONE:
            console.print(f"  it has no bootloader and cannot be flashed; for one: {MEND}", markup=False, highlight=False)
        twin.serve(stop)
    return 0
