# SPDX-License-Identifier: Apache-2.0
"""`launchrig twin`: what the twin can be set to, and the twin behind a pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from controller.signals import stop_on_signals
from rig.twin.parameters import TABLE
from rig.twin.pty import PtyTwin


def list_parameters(console: Console) -> None:
    """Every parameter of the roller's twin with unit, default, range, source and tag."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("parameter", "unit", "default", "range", "tag", "meaning", "source"):
        table.add_column(name, overflow="fold")
    for row in TABLE:
        table.add_row(*(escape(str(cell)) for cell in row.shown()))
    console.print(table)
    console.print(
        "Tags: PUB published, MEAS measured, DER derived, SUG suggested, UNV looked for and not verified.", highlight=False
    )


def serve(url: str, seed: int | None, vcd: Path | None, console: Console) -> int:
    """Run the twin at real time behind a pseudo-terminal until a signal; returns the exit code."""
    with stop_on_signals() as stop, PtyTwin(url, seed=seed, vcd=vcd) as twin:
        console.print(f"{twin.path}: a launchrig board, simulated at real time; end it with Ctrl-C", markup=False, highlight=False)
        console.print(f"  for example: launchrig press 3 --rig {twin.path} --operator none", markup=False, highlight=False)
        twin.serve(stop)
    return 0
