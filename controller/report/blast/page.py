# SPDX-License-Identifier: Apache-2.0
"""The page of the blaster, from top to bottom, and its words."""

from __future__ import annotations

from controller.report import signals, tables, words
from controller.report.blast import figures
from controller.report.blast import tables as own
from controller.report.blast.rounds import rounds
from controller.report.blast.words import RIVALS, UNVERIFIED
from controller.report.figures import Odds
from controller.report.page import HALF_PX, NARROW_PX, WIDE_PX, FigureSpec, Page, Section, Tile, block, ledger_tile, pair, wide
from controller.store.records import RunData, Trial


def _no_hazard(data: RunData, odds: Odds | None) -> str:
    if odds is None:
        return "Not calibrated, so there are no probabilities to show."
    return f"Nothing to draw: {(odds.get('hazard') or {}).get('reason') or 'no usable insert'}."


def _hazard_caption(data: RunData, odds: Odds | None) -> str:
    found = own.part(odds, "rivals")
    winner = found.get("winner")
    won = f"{found.get('reason')}" if winner is None else f"{RIVALS[winner][0]} won, evidence {found['evidence']}"
    return f"Chance that an insert makes the toy release. Constant and hidden slot are rules, free is the points. {_sentence(won)}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


HAZARD = FigureSpec("hazard", figures.hazard, (HALF_PX, NARROW_PX), _hazard_caption, _no_hazard)

SLOTS = FigureSpec(
    "slots",
    figures.slots,
    (HALF_PX, NARROW_PX),
    lambda data, odds: "Chance that an insert makes the toy release, by the slot that it went into; the line is the mean.",
    _no_hazard,
)

SURVIVAL = FigureSpec(
    "survival",
    figures.survival,
    (HALF_PX, NARROW_PX),
    lambda data, odds: "Chance that a round has had no release yet, censored rounds allowed for (product limit).",
    _no_hazard,
)

EJECTED = FigureSpec(
    "ejected",
    figures.ejected,
    (HALF_PX, NARROW_PX),
    lambda data, odds: (
        "Releases of this run, without resets: cards loaded, cards that flew. Blue ground: all of them. Red: fewer, or none."
    ),
    lambda data, odds: "No insert made the toy release, so nothing was ejected but by resets.",
)

TIMELINE = FigureSpec(
    "timeline",
    figures.timeline,
    (WIDE_PX, NARROW_PX),
    lambda data, odds: _timeline_caption(data),
    lambda data, odds: "No trial was made.",
)

BLOCKED = FigureSpec(
    "blocked",
    figures.blocked,
    (HALF_PX, NARROW_PX),
    lambda data, odds: (
        "How long beam A was blocked by each passage that ended within its trial, from ticks of 62.5 ns. Other: resets, "
        "and whatever is no release."
    ),
    lambda data, odds: "Nothing passed beam A.",
)


def _timeline_caption(data: RunData) -> str:
    size = figures.block_size(len(rounds(data)))
    what = "round" if size == 1 else f"block of {size} rounds, whose mean the line shows"
    return f"The whole run. Shaded: every second {what}. A mark is a trial or an event; its height tells the cards that flew."


def _waveform_caption(data: RunData, odds: Odds | None) -> str:
    trial = signals.typical(data.trials, figures.TYPICAL)
    if trial is None:
        return ""
    cards = f"{trial.cleared} of {words.number(trial.loaded)} cards"
    return (
        f"{_which(trial)}: {trial.kind} {trial.number}, verdict {trial.verdict}, {cards}. Current and voltage are means "
        "over 10 ms; the latch bar is what the verdict counts as driven, by a current that is not verified; "
        "beams are high while blocked."
    )


def _which(trial: Trial) -> str:
    return "A typical blast" if trial.verdict == "blast" else "No insert ended in a blast; the first that made the latch go"


WAVEFORM = FigureSpec(
    "waveform",
    figures.waveform,
    (HALF_PX, NARROW_PX),
    _waveform_caption,
    lambda data, odds: "No trial with samples made the toy drive its latch.",
)


def _tiles(data: RunData, odds: Odds | None) -> list[Tile]:
    """Return the handful of numbers that a reader looks for first."""
    return [_inserts_tile(data), _rule_tile(odds), _mean_tile(odds), _fault_tile(data), ledger_tile(data)]


def _inserts_tile(data: RunData) -> Tile:
    inserts = [trial for trial in data.trials if trial.kind == "insert"]
    left_out = sum(1 for trial in inserts if trial.spoiled or trial.verdict in ("fault", "aborted", "rejected"))
    resets = len(data.trials) - len(inserts)
    detail = f"{left_out} rejected, aborted or spoiled; rounds: {len(rounds(data))}; resets: {resets}"
    return Tile("Inserts", str(len(inserts)), detail)


def _rule_tile(odds: Odds | None) -> Tile:
    found = own.part(odds, "rivals")
    if not found:
        reason = "not calibrated" if odds is None else str((odds.get("rivals") or {}).get("reason") or words.NOTHING)
        return Tile("Rule", words.NOTHING, reason)
    # Whatever won was fitted as if each round were played anew.
    doubt = "rounds depend on each other; " if own.part(odds, "dependence").get("winner") == "dependent" else ""
    if found["winner"] is None:
        return Tile("Rule", "open", f"{doubt}{found['reason']}", "warn")
    detail = f"{doubt}evidence: {found['evidence']}; next: {RIVALS[found['runner_up']][0]}"
    return Tile("Rule", RIVALS[found["winner"]][0], detail, "warn" if doubt else "")


def _mean_tile(odds: Odds | None) -> Tile:
    found = own.part(odds, "model")
    if not found or words.plain(found.get("mean")) is None:
        return Tile(
            "Inserts to a blast", words.NOTHING, "not calibrated" if odds is None else "not every insert of a round was seen"
        )
    rule, none = RIVALS[found["rival"]][0], words.percent(words.plain(found.get("p_none")))
    return Tile("Inserts to a blast", f"{found['mean']:.2f}", f"mean of model {rule}; none though all slots are full: {none}")


def _fault_tile(data: RunData) -> Tile:
    names = {"partial": "partial", "latch_fault": "latch fault", "jam": "jam", "fault": "fault"}
    found = {word: sum(trial.verdict == name for trial in data.trials if trial.kind == "insert") for name, word in names.items()}
    total = sum(found.values())
    detail = ", ".join(f"{number} {word}" for word, number in found.items() if number) or "none partial, no jam, none spoiled"
    return Tile("Partial, latch, jam", str(total), detail, "warn" if total else "")


PAGE = Page(
    tiles=_tiles,
    note=lambda data, odds: UNVERIFIED,
    sections=(
        Section("When does it blast?", (pair((HAZARD, own.hazard), (own.rule, own.rivals, own.dependence)),)),
        Section("Does the slot matter?", (pair((SLOTS,), (own.slots,)),)),
        Section("How long does a round last?", (pair((SURVIVAL,), (own.survival, own.endings)),)),
        Section("What flies?", (pair((EJECTED,), (own.ejected, own.conditions)),)),
        Section(
            "What happened",
            (
                wide(TIMELINE),
                pair((own.verdicts,), (own.excluded,)),
                pair((own.resets,), (own.states,)),
                block(own.faults),
                block(own.exceptions),
            ),
        ),
        Section("What the sensors saw", (pair((BLOCKED,), (WAVEFORM,)),)),
        Section("Books and links", (pair((own.ledger,), (tables.link,)),)),
        Section("Where this comes from", (pair((tables.provenance,), (tables.settings,)),)),
    ),
)
