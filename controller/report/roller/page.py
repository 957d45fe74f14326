# SPDX-License-Identifier: Apache-2.0
"""The page of the roller launcher, from top to bottom, and its words."""

from __future__ import annotations

from controller.report import signals, tables, words
from controller.report.figures import Odds
from controller.report.page import HALF_PX, NARROW_PX, WIDE_PX, FigureSpec, Page, Section, Tile, block, ledger_tile, pair, wide
from controller.report.roller import figures
from controller.report.roller import tables as own
from controller.store.records import RunData


def _commanded(odds: Odds | None) -> bool:
    return ((odds or {}).get("fire") or {}).get("reason") == "commanded"


def _no_hazard(data: RunData, odds: Odds | None) -> str:
    if odds is None:
        return "Not calibrated, so there are no probabilities to show."
    if _commanded(odds):
        return "In direct drive the rig decides whether the roller runs, so there is no fire probability to fit."
    return f"Nothing to draw: {(odds.get('fire') or {}).get('reason') or 'no press had a fire before it'}."


def _waveform_caption(data: RunData, odds: Odds | None) -> str:
    trial = signals.typical(data.trials, figures.TYPICAL)
    if trial is None:
        return ""
    kind = "A typical press" if trial.verdict == "ok" else "No press was ok; the first that ran"
    cards = f"{trial.dealt} card" + ("" if trial.dealt == 1 else "s")
    return (
        f"{kind}: number {trial.number}, verdict {trial.verdict}, {cards}. Current and voltage are means over 10 ms; "
        "the roller bar is what the verdict counts as driven; beams are high while blocked."
    )


HAZARD = FigureSpec(
    "hazard",
    figures.hazard,
    (HALF_PX, NARROW_PX),
    lambda data, odds: "Chance that a press fires, by presses since the last fire; the band is the mean over all presses.",
    _no_hazard,
)

COUNTS = FigureSpec(
    "counts",
    figures.counts,
    (HALF_PX, NARROW_PX),
    lambda data, odds: (
        "Cards dealt by a press that fired." + ("" if odds else " Not calibrated: observed shares only, without intervals.")
    ),
    lambda data, odds: "No press dealt cards, so there is nothing to draw.",
)

TIMELINE = FigureSpec(
    "timeline",
    figures.timeline,
    (WIDE_PX, NARROW_PX),
    lambda data, odds: (
        "The whole run. Shaded: every second fill. A mark is a press or an event; the height of an ok mark tells its cards."
    ),
    lambda data, odds: "No press was made.",
)

BLOCKED = FigureSpec(
    "blocked",
    figures.blocked,
    (HALF_PX, NARROW_PX),
    lambda data, odds: "How long beam A was blocked by each passage that ended within its press, from ticks of 62.5 ns.",
    lambda data, odds: "Nothing passed beam A.",
)

WAVEFORM = FigureSpec(
    "waveform",
    figures.waveform,
    (HALF_PX, NARROW_PX),
    _waveform_caption,
    lambda data, odds: "No press with samples made the roller run.",
)


def _tiles(data: RunData, odds: Odds | None) -> list[Tile]:
    """Return the handful of numbers that a reader looks for first."""
    return [_presses_tile(data, odds), _fire_tile(odds), _cards_tile(data, odds), _fault_tile(data), ledger_tile(data)]


def _presses_tile(data: RunData, odds: Odds | None) -> Tile:
    left_out = sum(1 for trial in data.trials if trial.spoiled or trial.verdict in ("fault", "aborted", "rejected"))
    return Tile("Presses", str(len(data.trials)), f"{left_out} rejected, aborted or spoiled; fills: {len(data.fills)}")


def _fire_tile(odds: Odds | None) -> Tile:
    part = (odds or {}).get("fire") or {}
    if part.get("p") is None:
        return Tile("Fires", words.NOTHING, _why_no_fire(odds))
    return Tile("Fires", words.percent(part["p"]), f"95 %: {words.interval(part)}; {part['fired']} of {part['n']}")


def _why_no_fire(odds: Odds | None) -> str:
    if odds is None:
        return "not calibrated"
    return "commanded by the rig" if _commanded(odds) else str((odds.get("fire") or {}).get("reason", words.NOTHING))


def _cards_tile(data: RunData, odds: Odds | None) -> Tile:
    dealt = [trial.dealt for trial in data.trials if trial.verdict == "ok" and not trial.spoiled]
    if not dealt:
        return Tile("Cards per fire", words.NOTHING, "no press dealt cards")
    return Tile("Cards per fire", f"{sum(dealt) / len(dealt):.2f}", f"mean of {len(dealt)}; from {min(dealt)} to {max(dealt)}")


def _fault_tile(data: RunData) -> Tile:
    names = ("jam", "slip", "fault")
    found = {name: sum(trial.verdict == name for trial in data.trials) for name in names}
    total = sum(found.values())
    detail = ", ".join(f"{number} {name}" for name, number in found.items() if number) or "no jam, no slip, none spoiled"
    return Tile("Jams, slips, faults", str(total), detail, "warn" if total else "")


PAGE = Page(
    tiles=_tiles,
    note=lambda data, odds: "",
    sections=(
        Section("Does it fire?", (pair((HAZARD, own.hazard), (own.fire,)),)),
        Section("How many cards?", (pair((COUNTS, own.conditions), (own.counts,)),)),
        Section(
            "What happened",
            (wide(TIMELINE), pair((own.verdicts,), (own.excluded,)), block(own.faults), block(own.exceptions)),
        ),
        Section("What the sensors saw", (pair((BLOCKED,), (WAVEFORM,)),)),
        Section("Books and links", (pair((own.ledger,), (tables.link,)),)),
        Section("Where this comes from", (pair((tables.provenance,), (tables.settings,)),)),
    ),
)
