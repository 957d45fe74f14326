# SPDX-License-Identifier: Apache-2.0
"""Recovered against true values, for a rig that knows the truth: what was measured through the firmware, beside what the
simulated launcher really did. The true probabilities are those that it held before each draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rich.table import Table

from controller.store.records import RunData, Trial

Json = Mapping[str, Any]
Pairs = Sequence[tuple[Trial, Json]]
"""Trials, each with its row of the truth."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison; `inside` is None where there is no interval."""

    what: str
    recovered: str
    true: str
    inside: bool | None


def recovered_table(data: RunData, odds: Json, truth: Json) -> Table:
    """The comparison as a table for a person."""
    table = Table(title="recovered against true values", title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in ("recovered (95 % interval)", "true", "inside"):
        table.add_column(name, justify="right")
    for row in rows(data, odds, truth):
        inside = "" if row.inside is None else "yes" if row.inside else "no"
        table.add_row(row.what, row.recovered, row.true, inside, style=None if row.inside is not False else "yellow")
    return table


def rows(data: RunData, odds: Json, truth: Json) -> Iterator[Row]:
    """Every line of the comparison, in reading order."""
    true = {each["trial"]: each for each in truth["trials"]}
    pairs = [(trial, true[trial.number]) for trial in data.trials if trial.number in true]
    yield from ROWS[data.run.launcher](data, odds, pairs)


def _roller(data: RunData, odds: Json, pairs: Pairs) -> Iterator[Row]:
    yield from _fire(odds, pairs)
    yield from _count(odds, pairs)
    yield from _cards(pairs, ("cleared", "sticking"))


def _blast(data: RunData, odds: Json, pairs: Pairs) -> Iterator[Row]:
    yield from _hazard(data, odds, pairs)
    yield from _cards(pairs, ("cleared",))
    by_kind = {
        kind: [(_told(trial.verdict), _told(each["cause"])) for trial, each in pairs if trial.kind == kind]
        for kind in ("insert", "reset")
    }
    for verdict, what in (("partial", "partial releases"), ("latch_fault", "latch faults")):
        measured, true = (str(sum(each[side] == verdict for each in by_kind["insert"])) for side in (0, 1))
        yield Row(what, measured, true, None)
    for kind, verdicts in by_kind.items():
        differ = sum(one != other for one, other in verdicts)
        yield Row(f"{kind}s whose verdict differs from the truth", "", str(differ), None)


ROWS: Mapping[str, Callable[[RunData, Json, Pairs], Iterator[Row]]] = {"roller": _roller, "blast": _blast}
"""What can be compared, by launcher."""


def _interval(name: str, value: float, low: float, high: float, true: float) -> Row:
    return Row(name, f"{value:.4f} ({low:.4f} to {high:.4f})", f"{true:.4f}", low <= true <= high)


def _fire(odds: Json, pairs: Pairs) -> Iterator[Row]:
    fire = odds["fire"]
    known = [each["p_fire"] for trial, each in pairs if trial.accepted and each["p_fire"] is not None]
    if "p" not in fire or not known:
        return
    yield _interval("P(fire)", fire["p"], fire["ci_low"], fire["ci_high"], fmean(known))


def _count(odds: Json, pairs: Pairs) -> Iterator[Row]:
    """Cells of the count given fire, conditional on what counts: no slip and no jam."""
    count = odds["count"]
    held = [
        each["p_count"][1:]
        for trial, each in pairs
        if trial.verdict == "ok" and each.get("p_count") and sum(each["p_count"][1:]) > 0
    ]
    if "p" not in count or not held:
        return
    for index, k in enumerate(count["support"]):
        true = fmean(cells[k - 1] / sum(cells) if k <= len(cells) else 0.0 for cells in held)
        if true * count["n"] >= 5:
            yield _interval(f"P({k} dealt | fire)", count["p"][index], count["ci_low"][index], count["ci_high"][index], true)


def _hazard(data: RunData, odds: Json, pairs: Pairs) -> Iterator[Row]:
    """Hazard by insert, as measured; its true value is the mean over the very inserts that the estimate rests on."""
    from controller.calibrate.blast.table import tabulate  # numpy takes its time to load, and a roller needs none of this

    inserts = tabulate([data])
    place = {int(number): int(k) for number, k in zip(inserts.number, inserts.k * inserts.at_risk, strict=True)}
    for row in odds["hazard"].get("by_insert", ()):
        known = [each["p_fire"] for trial, each in pairs if place.get(trial.number) == row["insert"] and each["p_fire"] is not None]
        if row["p"] is not None and known:
            yield _interval(f"P(release | insert {row['insert']})", row["p"], row["ci_low"], row["ci_high"], fmean(known))


def _cards(pairs: Pairs, kinds: Sequence[str]) -> Iterator[Row]:
    for name in kinds:
        measured = sum(getattr(trial, name) for trial, _ in pairs)
        yield Row(f"cards {name}", str(measured), str(sum(each[name] for _, each in pairs)), None)
    jams = sum(trial.verdict == "jam" for trial, _ in pairs)
    yield Row("jams", str(jams), str(sum(each["jammed"] for _, each in pairs)), None)
    doubles = sum(each["double_feeds"] for _, each in pairs)
    yield Row("double feeds (look like one card)", "not seen", str(doubles), None)
    differ = sum(any(getattr(trial, name) != each[name] for name in kinds) for trial, each in pairs)
    yield Row("trials whose cards differ from the truth", "", str(differ), None)


def _told(verdict: str) -> str:
    """A trial that was not actuated was rejected, in other words."""
    return "rejected" if verdict == "not actuated" else verdict
