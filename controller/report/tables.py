# SPDX-License-Identifier: Apache-2.0
"""The tables of a report, each a pure function of a run and its odds.

Cells are plain text with a tone; how they look is the template's business, and so is escaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from controller.report.words import NOTHING, flat, instant, interval, number, p_value, percent, plain, since_fire, spread, text
from controller.store.records import Fill, RunData, unobserved
from rig.wire import messages as wire

Odds = Mapping[str, Any]
Tone = Literal["", "bad", "warn", "dim", "code"]

EXCEPTIONS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, how it should strike the eye, and the name of a verdict whose colour goes with it."""

    text: str
    tone: Tone = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption. columns: (title, whether it holds numbers). note: a sentence for below, or empty."""

    name: str
    caption: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def verdicts(data: RunData, odds: Odds | None) -> Table:
    """What became of the presses of this run, by verdict."""
    found = Counter(trial.verdict for trial in data.trials)
    total = len(data.trials)
    rows = [
        (
            Cell(verdict.name, verdict=verdict.name),
            Cell(str(found[verdict.name])),
            Cell(percent(found[verdict.name] / total)),
            Cell(_MEANING[verdict.name], "dim"),
        )
        for verdict in wire.Verdict
        if found[verdict.name]
    ]
    rows.append((Cell("all presses"), Cell(str(total)), Cell(""), Cell("")))
    return Table("verdicts", "Verdicts", (("verdict", False), ("presses", True), ("share", True), ("", False)), tuple(rows))


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
    if odds is None:
        return None
    rules: Mapping[str, Any] = odds.get("excluded") or {}
    fire, count = odds.get("fire") or {}, odds.get("count") or {}
    rows = [
        (Cell(rule), Cell(str(presses), "" if presses else "dim"), Cell(_RULES.get(rule, ""), "dim"))
        for rule, presses in rules.items()
    ]
    used = [f"fire n = {fire['n']}"] if fire.get("n") is not None else []
    used += [f"count n = {count['n']}"] if count.get("n") is not None else []
    return Table(
        "excluded",
        "Kept out of the statistics",
        (("rule", False), ("presses", True), ("", False)),
        tuple(rows),
        f"Of {odds.get('n_trials', NOTHING)} presses; what was used: {', '.join(used) or 'nothing'}.",
    )


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
        _row("presses", str(part["n"])),
        _row("fired", str(part["fired"])),
        _row("probability", percent(part["p"])),
        _row("95 % interval", interval(part)),
        _row("method", str(part["method"])),
        _row("effective sample size", number(part.get("n_effective"))),
        _row("dependence", _WINNERS.get(dependence.get("winner", ""), NOTHING)),
        _row("test", str(dependence.get("test") or NOTHING)),
        _row("p-value", p_value(dependence.get("p_value"))),
        _row("count since fire restarts at", _restart(dependence)),
        _row("runs test, z", number(runs_test.get("z"))),
        _row("lag-1 autocorrelation", number(dependence.get("lag1"))),
        _row("design effect of fills", number(dependence.get("design_effect"))),
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
        _row("pace, planned (s)", number(part.get("pace_s"))),
        _row("from press to press (s)", spread(part.get("gap_s"))),
        _row("pack voltage, loaded (V)", spread(part.get("pack_V"))),
        _row("fills", number(part.get("fills"))),
        _row("cards loaded per fill", spread(part.get("loaded"))),
        _row("cards in hopper, where counted", f"{hopper['min']} to {hopper['max']}" if hopper else NOTHING),
    )
    return Table("conditions", "Conditions", (("", False), ("", False)), rows)


def ledger(data: RunData, odds: Odds | None) -> Table | None:
    """The cards of every fill: what went in against what was seen coming out."""
    if not data.fills:
        return None
    rows = []
    for part in data.fills:
        tone: Tone = "bad" if part.difference else ""
        rows.append(
            (
                Cell(str(part.number)),
                *(Cell(number(value)) for value in (part.loaded, part.dealt, part.mouth, part.jammed, part.remaining)),
                Cell(_difference(part), tone),
            )
        )
    off = [part for part in data.fills if part.difference]
    closed = sum(part.difference is not None for part in data.fills)
    note = f"{closed - len(off)} of {closed} counted fills balance."
    if off:
        note += (
            " + : cards left the hopper that the beam did not count (a double feed looks like one card)."
            " - : it counted more than left."
        )
    columns = ("fill", "loaded", "dealt", "from the mouth", "of them jammed", "remaining", "difference")
    return Table("ledger", "Card ledger", tuple((title, True) for title in columns), tuple(rows), note)


def _difference(part: Fill) -> str:
    if part.difference is None:
        return "not counted"
    return f"{part.difference:+d}" if part.difference else "0"


def link(data: RunData, odds: Odds | None) -> Table | None:
    """Losses on the link and in the rings over the run."""
    if not data.run.counters:
        return None
    rows: list[tuple[Cell, Cell]] = []
    gaps, gap_s = unobserved(data)
    if gaps:
        rows.append((Cell("board lost and taken again"), Cell(str(gaps), "warn")))
        rows.append((Cell("unobserved (s)"), Cell(f"{gap_s:.1f}", "warn")))
    for name, value in sorted(flat(data.run.counters)):
        # A lost record spoils data; the others were mended by resending.
        tone: Tone = "bad" if name.endswith("ring_full") and value else "warn" if value else "dim"
        rows.append((Cell(name.replace("_", " ")), Cell(number(value), tone)))
    return Table("link", "Link counters", (("counter", False), ("count", True)), tuple(rows))


def exceptions(data: RunData, odds: Odds | None) -> Table | None:
    """Presses that want a second look: spoiled, aborted, jammed, or judged otherwise by the board."""
    own = [
        trial
        for trial in data.trials
        if trial.spoiled or trial.verdict in ("fault", "aborted", "jam") or trial.mcu_verdict != trial.verdict
    ]
    if not own:
        return None
    rows = tuple(
        (
            Cell(str(trial.number)),
            Cell(NOTHING if trial.t_s is None else f"{trial.t_s:.3f}"),
            Cell(trial.verdict, verdict=trial.verdict),
            Cell(trial.reason if trial.reason != "none" else NOTHING),
            Cell(trial.mcu_verdict, "warn" if trial.mcu_verdict != trial.verdict else ""),
            Cell(trial.spoiled or NOTHING),
            Cell(str(trial.cleared)),
            Cell(str(trial.fill)),
        )
        for trial in own[:EXCEPTIONS_SHOWN]
    )
    more = len(own) - len(rows)
    columns = (
        ("press", True),
        ("MCU time (s)", True),
        ("verdict", False),
        ("reason", False),
        ("board's verdict", False),
        ("spoiled by", False),
        ("cleared", True),
        ("fill", True),
    )
    return Table("exceptions", "Presses to look at", columns, rows, f"And {more} more, not shown." if more else "")


def provenance(data: RunData, odds: Odds | None) -> Table:
    """What exactly was measured, with what, so that it can be repeated."""
    run = data.run
    rows = [
        _row("run", str(run.id)),
        _row("device under test", run.dut),
        _row("rig", run.rig_url, "code"),
        _row("seed", number(run.seed)),
        _row("launcher, drive", f"{run.launcher}, {run.drive}"),
        _row("started", instant(run.started_at)),
        _row("ended", instant(run.ended_at)),
        *(_row(f"firmware {name.replace('_', ' ')}", text(value), "code") for name, value in flat(run.firmware)),
        _row("raw data SHA-256", run.raw_sha256 or NOTHING, "code"),
        *(_row(name.replace("_", " "), text(value)) for name, value in sorted(flat(run.versions))),
    ]
    fitted = ((odds or {}).get("provenance") or {}).get("runs") or []
    if fitted:
        here = any(part.get("raw_sha256") == run.raw_sha256 for part in fitted)
        rows.append(_row("odds fitted from", _fitted_from(len(fitted), here), "" if here else "warn"))
    return Table("provenance", "Provenance", (("", False), ("", False)), tuple(rows))


def _fitted_from(runs: int, here: bool) -> str:
    if here:
        return "this run" if runs == 1 else f"{runs} runs, this one among them"
    return f"{runs} other run{'s' if runs > 1 else ''}: the odds on this page are not from this run's data"


def settings(data: RunData, odds: Odds | None) -> Table | None:
    """Settings of the campaign and of the firmware."""
    rows = tuple(_row(name, text(value)) for name, value in sorted(flat(data.run.settings)))
    return Table("settings", "Settings", (("setting", False), ("value", False)), rows) if rows else None


TableFunction = Callable[[RunData, Odds | None], Table | None]


def _row(name: str, text: str, tone: Tone = "") -> tuple[Cell, Cell]:
    return Cell(name, "dim"), Cell(text, tone)
