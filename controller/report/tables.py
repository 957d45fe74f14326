# SPDX-License-Identifier: Apache-2.0
"""What tables of a report are made of, and those that every launcher has: pure functions of a run and its odds.

Cells are plain text with a tone; how they look is the template's business, and so is escaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from controller.report.words import NOTHING, VERDICTS, flat, instant, number, percent, text
from controller.store.records import Fill, RunData, Trial, unobserved

Odds = Mapping[str, Any]
Tone = Literal["", "bad", "warn", "dim", "code"]

EXCEPTIONS_SHOWN = 40

TO_LOOK_AT = frozenset({"fault", "aborted", "jam", "partial", "latch_fault"})
"""Verdicts of trials in which something went wrong."""


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


TableFunction = Callable[[RunData, Odds | None], Table | None]
Column = tuple[str, bool, Callable[[Trial], Cell]]
"""Title, whether it holds numbers, and what stands in it for a trial."""


def verdicts(name: str, caption: str, trials: Sequence[Trial], what: str, meaning: Mapping[str, str]) -> Table:
    """What became of these trials, by verdict. what: their name in the plural; meaning: of each verdict, in words."""
    found = Counter(trial.verdict for trial in trials)
    total = len(trials)
    rows = [
        (
            Cell(verdict, verdict=verdict),
            Cell(str(found[verdict])),
            Cell(percent(found[verdict] / total)),
            Cell(meaning[verdict], "dim"),
        )
        for verdict in VERDICTS
        if found[verdict]
    ]
    rows.append((Cell(f"all {what}"), Cell(str(total)), Cell(""), Cell("")))
    return Table(name, caption, (("verdict", False), (what, True), ("share", True), ("", False)), tuple(rows))


def excluded(odds: Odds | None, what: str, rules: Mapping[str, str], used: Sequence[str]) -> Table | None:
    """How many trials each rule kept out of the statistics, beside the number that was left (`used`, in words)."""
    if odds is None:
        return None
    rows = [
        (Cell(rule), Cell(str(trials), "" if trials else "dim"), Cell(rules.get(rule, ""), "dim"))
        for rule, trials in (odds.get("excluded") or {}).items()
    ]
    return Table(
        "excluded",
        "Kept out of the statistics",
        (("rule", False), (what, True), ("", False)),
        tuple(rows),
        f"Of {odds.get('n_trials', NOTHING)} {what}; what was used: {', '.join(used) or 'nothing'}.",
    )


def exceptions(data: RunData, caption: str, columns: Sequence[Column]) -> Table | None:
    """Trials that want a second look: something went wrong, was spoiled, or was judged otherwise by the board."""
    own = [trial for trial in data.trials if trial.spoiled or trial.verdict in TO_LOOK_AT or trial.mcu_verdict != trial.verdict]
    if not own:
        return None
    rows = tuple(tuple(make(trial) for _, _, make in columns) for trial in own[:EXCEPTIONS_SHOWN])
    more = len(own) - len(rows)
    titles = tuple((title, numeric) for title, numeric, _ in columns)
    return Table("exceptions", caption, titles, rows, f"And {more} more, not shown." if more else "")


def at_time(trial: Trial) -> Cell:
    """When it was actuated, in seconds of MCU time."""
    return Cell(NOTHING if trial.t_s is None else f"{trial.t_s:.3f}")


def judged(trial: Trial) -> Cell:
    """Its verdict, with the colour of it."""
    return Cell(trial.verdict, verdict=trial.verdict)


def reasoned(trial: Trial) -> Cell:
    """Why, where there is more to say than the verdict."""
    return Cell(trial.reason if trial.reason != "none" else NOTHING)


def judged_by_board(trial: Trial) -> Cell:
    """The board's own verdict; it stands out when it differs."""
    return Cell(trial.mcu_verdict, "warn" if trial.mcu_verdict != trial.verdict else "")


JUDGEMENT: tuple[Column, ...] = (
    ("MCU time (s)", True, at_time),
    ("verdict", False, judged),
    ("reason", False, reasoned),
    ("board's verdict", False, judged_by_board),
    ("spoiled by", False, lambda trial: Cell(trial.spoiled or NOTHING)),
)
"""Columns of the exceptions that every launcher has."""


def ledger(fills: Sequence[Fill], rows: Sequence[tuple[Cell, ...]], place: str) -> Table | None:
    """The cards of every fill: what went in against what was seen coming out. place: where they left from."""
    if not fills:
        return None
    off = [part for part in fills if part.difference]
    closed = sum(part.difference is not None for part in fills)
    note = f"{closed - len(off)} of {closed} counted fills balance."
    if off:
        note += (
            f" + : cards left {place} that the beam did not count (a double feed looks like one card)."
            " - : it counted more than left."
        )
    columns = ("fill", "loaded", "dealt", "from the mouth", "of them jammed", "remaining", "difference")
    return Table("ledger", "Card ledger", tuple((title, True) for title in columns), tuple(rows), note)


def ledger_row(part: Fill) -> tuple[Cell, ...]:
    """One fill; it stands out when its cards are not all accounted for."""
    tone: Tone = "bad" if part.difference else ""
    numbers = (part.loaded, part.dealt, part.mouth, part.jammed, part.remaining)
    return (Cell(str(part.number)), *(Cell(number(value)) for value in numbers), Cell(_difference(part), tone))


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


def provenance(data: RunData, odds: Odds | None) -> Table:
    """What exactly was measured, with what, so that it can be repeated."""
    run = data.run
    rows = [
        row("run", str(run.id)),
        row("device under test", run.dut),
        row("rig", run.rig_url, "code"),
        row("seed", number(run.seed)),
        row("launcher, drive", f"{run.launcher}, {run.drive}"),
        row("started", instant(run.started_at)),
        row("ended", instant(run.ended_at)),
        *(row(f"firmware {name.replace('_', ' ')}", text(value), "code") for name, value in flat(run.firmware)),
        row("raw data SHA-256", run.raw_sha256 or NOTHING, "code"),
        *(row(name.replace("_", " "), text(value)) for name, value in sorted(flat(run.versions))),
    ]
    fitted = ((odds or {}).get("provenance") or {}).get("runs") or []
    if fitted:
        here = any(part.get("raw_sha256") == run.raw_sha256 for part in fitted)
        rows.append(row("odds fitted from", _fitted_from(len(fitted), here), "" if here else "warn"))
    return Table("provenance", "Provenance", (("", False), ("", False)), tuple(rows))


def _fitted_from(runs: int, here: bool) -> str:
    if here:
        return "this run" if runs == 1 else f"{runs} runs, this one among them"
    return f"{runs} other run{'s' if runs > 1 else ''}: the odds on this page are not from this run's data"


def settings(data: RunData, odds: Odds | None) -> Table | None:
    """Settings of the campaign and of the firmware."""
    rows = tuple(row(name, text(value)) for name, value in sorted(flat(data.run.settings)))
    return Table("settings", "Settings", (("setting", False), ("value", False)), rows) if rows else None


def row(name: str, text: str, tone: Tone = "") -> tuple[Cell, Cell]:
    """A line of a table of two columns: what, and its value."""
    return Cell(name, "dim"), Cell(text, tone)
