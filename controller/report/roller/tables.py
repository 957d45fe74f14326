# SPDX-License-Identifier: Apache-2.0
"""The tables that the roller launcher's page has for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from controller.report import tables
from controller.report.tables import Cell, Odds, Table, row
from controller.report.words import NOTHING, interval, number, p_value, percent, plain, since_fire, spread
from controller.store.records import RunData


def verdicts(data: RunData, odds: Odds | None) -> Table:
    """What became of the presses of this run, by verdict."""
    return tables.verdicts("verdicts", "Verdicts", data.trials, "presses", _MEANING)


_MEANING = {
    "ok": "the roller ran and cards came",
    "no_run": "taken by the toy, the roller stayed still: a normal zero",
    "slip": "the roller ran, the hopper was not empty, nothing came",
    "jam": "a card wedged, or the motor stalled",
    "empty": "the roller ran over an empty hopper",
    "rejected": "the toy did not take the press, or a precondition failed",
    "aborted": "ended from outside",
    "fault": "spoiled by the rig; kept, never counted",
}


def excluded(data: RunData, odds: Odds | None) -> Table | None:
    """How many presses each rule kept out of the statistics, beside the number that was left."""
    fitted = odds or {}
    parts = {name: fitted.get(name) or {} for name in ("fire", "count")}
    used = [f"{name} n = {part['n']}" for name, part in parts.items() if part.get("n") is not None]
    return tables.excluded(odds, "presses", _RULES, used)


_RULES = {
    "rejected": "not taken, so no trial of the launcher",
    "aborted": "ended from outside",
    "fault": "spoiled by the rig",
    "spoiled": "spoiled by the link or the board",
    "slip": "no number of cards given fire; counted as fault rate",
    "jam": "no number of cards given fire; counted as fault rate",
    "empty": "no number of cards given fire; the hopper was empty",
    "low_hopper": "too few cards in the hopper for the largest count, judged before the press",
    "hopper_found_empty": "empty by hand count though not by the ledger: the last press with cards, and any after it",
}


def fire(data: RunData, odds: Odds | None) -> Table | None:
    """Does it fire: the probability with its interval, method and dependence."""
    part = (odds or {}).get("fire")
    if not part or part.get("p") is None:
        return None
    dependence = part.get("dependence") or {}
    runs_test = dependence.get("runs_test") or {}
    rows = [
        row("presses", str(part["n"])),
        row("fired", str(part["fired"])),
        row("probability", percent(part["p"])),
        row("95 % interval", interval(part)),
        row("method", str(part["method"])),
        row("effective sample size", number(part.get("n_effective"))),
        row("dependence", _WINNERS.get(dependence.get("winner", ""), NOTHING)),
        row("test", str(dependence.get("test") or NOTHING)),
        row("p-value", p_value(dependence.get("p_value"))),
        row("count since fire restarts at", _restart(dependence)),
        row("runs test, z", number(runs_test.get("z"))),
        row("lag-1 autocorrelation", number(dependence.get("lag1"))),
        row("design effect of fills", number(dependence.get("design_effect"))),
    ]
    return Table("fire", "Fire", (("", False), ("", False)), tuple(rows))


def _restart(dependence: Mapping[str, Any]) -> str:
    """Return the restart rule; a rule that is not better than the next is only one of several."""
    rule = str(dependence.get("restart") or NOTHING).replace("_", " ")
    return f"{rule} (the data cannot tell)" if dependence.get("restart_margin") == 0 else rule


_WINNERS = {
    "iid": "none: one probability explains the presses",
    "dependent": "yes: it depends on the presses since the last fire",
    "undecided": "undecided: too little data to tell",
}


def hazard(data: RunData, odds: Odds | None) -> Table | None:
    """The chance of a fire by presses since the last one."""
    rows = ((odds or {}).get("fire") or {}).get("hazard") or []
    if not rows:
        return None
    return Table(
        "hazard",
        "Fire by presses since the last fire",
        (("since fire", True), ("presses", True), ("fired", True), ("probability", True), ("95 % interval", True)),
        tuple(
            (
                Cell(since_fire(row)),
                Cell(str(row["at_risk"])),
                Cell(str(row["fired"])),
                Cell(percent(row["p"])),
                Cell(interval(row)),
            )
            for row in rows
        ),
    )


def counts(data: RunData, odds: Odds | None) -> Table | None:
    """Cards given fire: what this run saw and what was fitted."""
    seen = Counter(trial.dealt for trial in data.trials if trial.verdict == "ok" and not trial.spoiled)
    part = (odds or {}).get("count") or {}
    support = list(part.get("support") or [])
    cards = sorted({*support, *seen})
    if not cards:
        return None
    rows = []
    for k in cards:
        at = support.index(k) if k in support else None
        fitted = {} if at is None else {key: part[key][at] for key in ("p", "ci_low", "ci_high", "weights") if part.get(key)}
        rows.append(
            (
                Cell(str(k)),
                Cell(str(seen[k]), "" if seen[k] else "dim"),
                Cell(percent(fitted.get("p"))),
                Cell(interval(fitted)),
                Cell(str(fitted.get("weights", NOTHING)), "dim"),
            )
        )
    note = f"Dirichlet posterior, prior {part['prior']} per count; weights sum to 2^32." if plain(part.get("prior")) else ""
    columns = (
        ("cards", True),
        ("seen in this run", True),
        ("probability", True),
        ("95 % interval", True),
        ("weight", True),
    )
    return Table("counts", "Cards given fire", columns, tuple(rows), note)


def faults(data: RunData, odds: Odds | None) -> Table | None:
    """Rates of what goes wrong, with intervals."""
    part: Mapping[str, Any] = (odds or {}).get("faults") or {}
    if not part:
        return None
    rows = []
    for name, rate in part.items():
        per_press, per_card = rate.get("per_press") or {}, rate.get("per_card") or {}
        rows.append(
            (
                Cell(name),
                Cell(number(per_press.get("events"))),
                Cell(number(per_press.get("n"))),
                Cell(percent(per_press.get("p"))),
                Cell(interval(per_press)),
                Cell(percent(per_card.get("p"))),
                Cell(interval(per_card)),
            )
        )
    columns = (
        ("fault", False),
        ("events", True),
        ("of presses", True),
        ("per press", True),
        ("95 % interval", True),
        ("per card", True),
        ("95 % interval", True),
    )
    return Table("faults", "Fault rates", columns, tuple(rows))


def conditions(data: RunData, odds: Odds | None) -> Table | None:
    """Under which conditions the odds hold."""
    part: Mapping[str, Any] = (odds or {}).get("conditions") or {}
    if not part:
        return None
    hopper = part.get("hopper") or {}
    rows = (
        row("pace, planned (s)", number(part.get("pace_s"))),
        row("from press to press (s)", spread(part.get("gap_s"))),
        row("pack voltage, loaded (V)", spread(part.get("pack_V"))),
        row("fills", number(part.get("fills"))),
        row("cards loaded per fill", spread(part.get("loaded"))),
        row("cards in hopper, where counted", f"{hopper['min']} to {hopper['max']}" if hopper else NOTHING),
    )
    return Table("conditions", "Conditions", (("", False), ("", False)), rows)


def ledger(data: RunData, odds: Odds | None) -> Table | None:
    """The cards of every fill."""
    return tables.ledger(data.fills, [tables.ledger_row(fill) for fill in data.fills], "the hopper")


def exceptions(data: RunData, odds: Odds | None) -> Table | None:
    """Presses that want a second look."""
    return tables.exceptions(data, "Presses to look at", _EXCEPTIONS)


_EXCEPTIONS: tuple[tables.Column, ...] = (
    ("press", True, lambda trial: Cell(str(trial.number))),
    *tables.JUDGEMENT,
    ("cleared", True, lambda trial: Cell(str(trial.cleared))),
    ("fill", True, lambda trial: Cell(str(trial.fill))),
)
