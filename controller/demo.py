# SPDX-License-Identifier: Apache-2.0
"""`launchrig demo`: run, store, calibrate, export, report, and on the twin compare with what really happened.

The truth is asked for last, when everything measured is on disk; nothing that is measured ever depends on it.
"""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from controller.campaign import Campaign, Progress
from controller.errors import RefusedError
from controller.export_csv import trials_csv
from controller.files import refuse_place, write_whole
from controller.progress import shown
from controller.recovered import recovered_table
from controller.run import Outcome, conduct
from controller.signals import StopFlag, stop_on_signals
from controller.store.records import RunData
from controller.store.store import Store, StoreError
from rig.board import Stretch
from rig.open import open_rig
from rig.rig import Rig
from rig.wire.messages import Wiring


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """What was asked for on the command line, already checked; pace in seconds, fill in cards."""

    rig: str
    trials: int
    seed: int | None
    drive: str
    pace_s: float
    fill: int
    bursts: tuple[int, ...]
    dut: str
    out: Path
    operator: str
    vcd: Path | None
    brain: str | None

    def campaign(self, rig: Rig) -> Campaign:
        """The campaign that this asks for on `rig`. In `direct` drive the rig's seed is the decision source's too."""
        plain = Campaign(self.trials, self.pace_s, self.fill, Wiring[self.drive], self.bursts)
        if self.drive == "button":
            return plain
        seed = secrets.randbits(31) if rig.seed is None else rig.seed
        return replace(plain, decision=self.brain or rig.brain, decision_seed=seed)


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
    kind: str,
    console: Console,
    stop: StopFlag,
    on_progress: Callable[[Progress], None],
) -> Outcome:
    """Make the run, say how it ended and whether the outputs are off."""
    campaign = request.campaign(rig)

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
        campaign,
        kind=kind,
        dut=request.dut,
        stop=stop,
        on_progress=on_progress,
        on_safe=say_safe,
        on_notice=notice,
    )
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
        console.print(f"{request.trials} presses on {rig.url}, drive {request.drive}, into {out}/", highlight=False, markup=False)
        with shown(console, request.trials) as progress:
            outcome = measure(request, rig, store, "demo", console, stop, progress)
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
    """`launchrig press N`: a line for each press; returns the exit code."""

    def line(progress: Progress) -> None:
        trial = progress.trial
        facts = [
            f"{trial.number}: {trial.verdict}",
            f"{trial.cleared} cleared",
            f"{trial.sticking} sticking",
            f"roller {trial.roller_ms} ms",
            "not actuated" if trial.peak_A is None else f"peak {trial.peak_A:.2f} A",
        ]
        if trial.reason != "none":
            facts.append(trial.reason)
        console.print(", ".join(facts), highlight=False)

    with stop_on_signals() as stop, opened(request) as rig, Store.open(store_name) as store:
        outcome = measure(request, rig, store, "press", console, stop, line)
    console.print(f"run {outcome.run_id} in {store_name}", highlight=False, markup=False)
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
