# SPDX-License-Identifier: Apache-2.0
"""`launchrig demo`: run, store, calibrate, export, report, and on the twin compare with what really happened.

The truth is asked for last, when everything measured is on disk; nothing that is measured ever depends on it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from controller.campaigns.plan import Wanted, planned
from controller.campaigns.shared import Campaign, Progress
from controller.campaigns.words import line_of
from controller.errors import RefusedError
from controller.export_csv import trials_csv
from controller.files import refuse_place, write_whole
from controller.progress import shown
from controller.recovered import recovered_table
from controller.run import Outcome, conduct
from controller.signals import StopFlag, stop_on_signals
from controller.store.records import RunData
from controller.store.store import Store, StoreError
from controller.verdict import Exit, told_nothing
from rig.board import Stretch
from rig.open import open_rig
from rig.rig import Rig
from rig.wire.messages import Wiring


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """What was asked for on the command line, already checked as far as it can be without the machine: on which rig, with whom at
    the bench, and what to do there."""

    wanted: Wanted
    rig: str
    seed: int | None
    dut: str
    out: Path
    operator: str
    vcd: Path | None


MUCH_UNCOUNTED = 0.1  # of the cards loaded
PRODUCTS = ("odds.json", "report.html", "trials.csv", "truth.json")


@contextmanager
def opened(request: DemoRequest) -> Iterator[Rig]:
    """The rig that the request names; closed afterwards."""
    if request.vcd:
        refuse_place(request.vcd)
    rig = open_rig(request.rig, seed=request.seed, operator=request.operator, vcd=request.vcd)
    try:
        yield rig
    finally:
        rig.close()


def measure(
    request: DemoRequest,
    rig: Rig,
    store: Store,
    console: Console,
    stop: StopFlag,
    on_progress: Callable[[Progress], None],
    on_planned: Callable[[Campaign], None] = lambda campaign: None,
) -> Outcome:
    """Make the run, say how it ended and whether the outputs are off. Raises `RefusedError` for a trial that the bench refused."""

    def say_safe(safe: bool) -> None:
        line = "outputs off, confirmed" if safe else "NOT CONFIRMED SAFE: cut the power by hand"
        try:
            console.print(line)
        except OSError:  # such as a full disk
            print(line, file=sys.stderr)

    def notice(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    outcome = conduct(
        rig,
        store,
        lambda launcher, settings: planned(request.wanted, launcher, settings, rig),
        kind=request.wanted.command,
        dut=request.dut,
        stop=stop,
        drive=Wiring[request.wanted.drive],
        on_progress=on_progress,
        on_safe=say_safe,
        on_notice=notice,
        on_planned=on_planned,
    )
    if outcome.exit_code is Exit.usage:
        raise RefusedError(outcome.cause)
    if outcome.status == "complete" and outcome.exit_code is Exit.inconclusive:
        console.print(f"inconclusive: {told_nothing(store.load(outcome.run_id))}", highlight=False, markup=False)
    if outcome.cause:
        console.print(f"run {outcome.run_id} ended early: {outcome.cause}", highlight=False, markup=False)
    return outcome


def demo(request: DemoRequest, console: Console) -> int:
    """The whole main job; returns the exit code. Files go to `request.out`, which may hold earlier runs."""
    out = request.out
    make_folder(out)
    if request.vcd and request.vcd.resolve() in {(out / name).resolve() for name in (*PRODUCTS, "runs.sqlite")}:
        raise RefusedError(f"--vcd {request.vcd}: is a file that the demo itself writes; name another one")
    with stop_on_signals() as stop, opened(request) as rig, Store.open(out / "runs.sqlite") as store:
        with shown(console, request.wanted.trials) as progress:
            outcome = measure(request, rig, store, console, stop, progress, partial(_say_plan, rig.url, out, console))
        data = store.load(outcome.run_id)
        _say_ledger(data, console)
        try:
            odds = _write_products(data, out)
            truth = _write_truth(rig, data, outcome.stretches, out)
        except RefusedError as error:
            again = f"launchrig report {outcome.run_id} --store {out / 'runs.sqlite'}"
            raise RefusedError(f"{error}. Run {outcome.run_id} is kept; make its report with: {again}") from error
    _say_files(out, truth is not None, console)
    if truth is not None:
        console.print(recovered_table(data, odds, truth))
        console.print("Of true 95 % intervals about 1 in 20 misses.")
        console.print("This was a simulated launcher: these odds are those of the model, not of any toy.")
    return outcome.exit_code


def _say_plan(url: str, out: Path, console: Console, campaign: Campaign) -> None:
    drive = campaign.described()["drive"]
    text = f"{campaign.trials} {campaign.words.trials} on {url}, drive {drive}, into {out}/"
    console.print(text, highlight=False, markup=False)


def make_folder(out: Path) -> None:
    """Make `out` and see that it can be written, before anything is measured. Raises `StoreError` otherwise."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
        for name in PRODUCTS:
            refuse_place(out / name)
    except OSError as error:
        raise StoreError(f"--out {out}: no folder that can be written ({error.strerror}); name another one") from error


def by_hand(request: DemoRequest, store_name: str, console: Console) -> int:
    """`launchrig press`, `insert` and `reset`: a line for each trial; returns the exit code."""

    def line(progress: Progress) -> None:
        console.print(line_of(progress.trial, progress.words), highlight=False)

    with stop_on_signals() as stop, opened(request) as rig, Store.open(store_name) as store:
        outcome = measure(request, rig, store, console, stop, line)
        trials = store.load(outcome.run_id).trials if request.wanted.until_blast else ()
    console.print(f"run {outcome.run_id} in {store_name}", highlight=False, markup=False)
    if outcome.exit_code is Exit.passed and trials and trials[-1].verdict == "held":
        console.print(f"no blast in {len(trials)} inserts, and there are no more slots", highlight=False, markup=False)
        return Exit.inconclusive
    return outcome.exit_code


def _write_products(data: RunData, out: Path) -> dict[str, Any]:
    # Statistics and plots take a second to load: not before there is something to show, and for presses by hand not at all.
    from controller.odds.write import write_odds
    from controller.products import odds_of
    from controller.report.html import render

    odds = odds_of([data])
    write_odds(out / "odds.json", odds)
    write_whole(out / "trials.csv", trials_csv(data))
    write_whole(out / "report.html", render(data, odds))
    return odds


def _write_truth(rig: Rig, data: RunData, stretches: Sequence[Stretch], out: Path) -> dict[str, Any] | None:
    """Everything measured is on disk by now, so the twin may tell what it knows."""
    if rig.truth is None:
        (out / "truth.json").unlink(missing_ok=True)  # of an earlier run, whose trials these are not
        return None
    truth = rig.truth([(trial.number, trial.tick) for trial in data.trials], stretches)
    write_whole(out / "truth.json", json.dumps(truth, indent=1, allow_nan=False) + "\n")
    return truth


def _say_ledger(data: RunData, console: Console) -> None:
    """The card ledger in one line: what no beam can see shows here and nowhere else."""
    off = [fill.difference for fill in data.fills if fill.difference]
    if off:
        console.print(f"card ledger: {sum(off):+d} cards uncounted in {len(off)} of {len(data.fills)} fills", highlight=False)
        if sum(map(abs, off)) > MUCH_UNCOUNTED * sum(fill.loaded for fill in data.fills):
            console.print("that is far more than double feeds explain: look after the beams before believing these counts")
    else:
        console.print(f"card ledger: every counted fill of {len(data.fills)} balances", highlight=False)


def _say_files(out: Path, has_truth: bool, console: Console) -> None:
    about = {
        "report.html": "the report: open it in a browser",
        "odds.json": "odds for game software",
        "trials.csv": "a row per trial",
        "runs.sqlite": "the store: launchrig runs list --store " + str(out / "runs.sqlite"),
    }
    if has_truth:
        about["truth.json"] = "what the simulated launcher really did"
    for name, text in about.items():
        console.print(f"  {out / name}: {text}", highlight=False, markup=False)
