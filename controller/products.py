# SPDX-License-Identifier: Apache-2.0
"""What is made of stored runs: odds, report, CSV. Pure functions of what the store holds, and the files they go to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from controller.calibrate.fit import calibrate
from controller.files import refuse_place, write_whole
from controller.odds.build import build_odds
from controller.odds.write import write_odds
from controller.report.html import render
from controller.store.records import RunData
from controller.store.store import load_runs
from controller.versions import versions


def odds_of(runs: Sequence[RunData]) -> dict[str, Any]:
    """Odds fitted to `runs`. Raises `CalibrationError` or `OddsError` when they cannot be fitted or vouched for."""
    return build_odds(calibrate(runs), runs, created_at=datetime.now(UTC), versions=versions())


def make_odds(store_name: str, refs: Sequence[str], out: Path, console: Console) -> None:
    """Calibrate the runs and write their odds to `out`."""
    refuse_place(out)
    runs = load_runs(store_name, refs)
    odds = odds_of(runs)
    write_odds(out, odds)
    console.print(f"{out}: odds from {odds['n_trials']} trials", highlight=False, markup=False)


def make_report(store_name: str, ref: str, out: Path, console: Console) -> None:
    """Write the report page of one run to `out`."""
    (data,) = load_runs(store_name, [ref])
    refuse_place(out)
    write_whole(out, render(data, odds_of([data])))
    console.print(f"{out}: report on run {data.run.id}", highlight=False, markup=False)
