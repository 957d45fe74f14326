# SPDX-License-Identifier: Apache-2.0
"""One run as one HTML file that needs nothing else: no network, no script, no other file.

The same run and odds give the same text to the byte, so reports can be compared and signed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controller.report import figures, tables, words
from controller.report.figures import Odds
from controller.report.signals import typical_press
from controller.store.records import RunData, is_simulated

# Characters that HTML forbids or that would rearrange the text around them: controls, surrogates, direction marks.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

WIDE_PX, HALF_PX, NARROW_PX = 1080.0, 520.0, 380.0


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure's place on the page. widths_px: it is drawn wide and narrow, and the page shows what fits its window."""

    name: str
    draw: figures.FigureFunction
    widths_px: tuple[float, float]
    caption: Callable[[RunData, Odds | None], str]
    missing: Callable[[RunData, Odds | None], str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as the template takes it: its variants by CSS class, or the reason why there is none."""

    name: str
    variants: tuple[tuple[str, Markup], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the figures at the head of the page."""

    title: str
    value: str
    detail: str
    tone: tables.Tone = ""


def render(data: RunData, odds: Odds | None) -> str:
    """Return the report of a run as one HTML document.

    odds: the content of odds.json for this run; None when it was not calibrated, then no interval is shown.
    """
    environment = Environment(
        loader=PackageLoader("controller.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_presentable,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        run=data.run,
        simulated=is_twin(data, odds),
        tiles=_tiles(data, odds),
        status_tone=_STATUS_TONE.get(data.run.status, "bad"),
        safe_state=_SAFE_STATE.get(data.run.safe_state, _SAFE_STATE[""]),
        started=words.instant(data.run.started_at),
        figures={spec.name: _drawn(spec, data, odds) for spec in FIGURES},
        tables={function.__name__: function(data, odds) for function in TABLES},
        calibrated=odds is not None,
        commanded=_commanded(odds),
    )


def is_twin(data: RunData, odds: Odds | None) -> bool:
    """Return whether the run was made on the simulated launcher."""
    return is_simulated(data.run) or bool((odds or {}).get("simulated"))


def _presentable(value: object) -> object:
    """Show what a reader or a parser could trip over as its code, so that no name can disguise itself."""
    if isinstance(value, Markup):
        return value
    return _UNFIT.sub(lambda found: f"\\u{ord(found.group()):04x}", str(value))


def _drawn(spec: FigureSpec, data: RunData, odds: Odds | None) -> Drawn:
    classes = ("wide", "narrow")
    drawn = [spec.draw(data, odds, f"{spec.name}-{part}", width) for part, width in zip(classes, spec.widths_px, strict=True)]
    variants = tuple((part, Markup(text)) for part, text in zip(classes, drawn, strict=True) if text)
    return Drawn(spec.name, variants, (spec.caption if variants else spec.missing)(data, odds))


def _commanded(odds: Odds | None) -> bool:
    return ((odds or {}).get("fire") or {}).get("reason") == "commanded"


def _no_hazard(data: RunData, odds: Odds | None) -> str:
    if odds is None:
        return "Not calibrated, so there are no probabilities to show."
    if _commanded(odds):
        return "In direct drive the rig decides whether the roller runs, so there is no fire probability to fit."
    return f"Nothing to draw: {(odds.get('fire') or {}).get('reason') or 'no press had a fire before it'}."


def _waveform_caption(data: RunData, odds: Odds | None) -> str:
    trial = typical_press(data.trials)
    if trial is None:
        return ""
    kind = "A typical press" if trial.verdict == "ok" else "No press was ok; the first that ran"
    cards = f"{trial.dealt} card" + ("" if trial.dealt == 1 else "s")
    return (
        f"{kind}: number {trial.number}, verdict {trial.verdict}, {cards}. Current and voltage are means over 10 ms; "
        "the roller bar is what the verdict counts as driven; beams are high while blocked."
    )


FIGURES = (
    FigureSpec(
        "hazard",
        figures.hazard,
        (HALF_PX, NARROW_PX),
        lambda data, odds: "Chance that a press fires, by presses since the last fire; the band is the mean over all presses.",
        _no_hazard,
    ),
    FigureSpec(
        "counts",
        figures.counts,
        (HALF_PX, NARROW_PX),
        lambda data, odds: (
            "Cards dealt by a press that fired." + ("" if odds else " Not calibrated: observed shares only, without intervals.")
        ),
        lambda data, odds: "No press dealt cards, so there is nothing to draw.",
    ),
    FigureSpec(
        "timeline",
        figures.timeline,
        (WIDE_PX, NARROW_PX),
        lambda data, odds: (
            "The whole run. Shaded: every second fill. A mark is a press or an event; the height of an ok mark tells its cards."
        ),
        lambda data, odds: "No press was made.",
    ),
    FigureSpec(
        "blocked",
        figures.blocked,
        (HALF_PX, NARROW_PX),
        lambda data, odds: "How long beam A was blocked by each passage that ended within its press, from ticks of 62.5 ns.",
        lambda data, odds: "Nothing passed beam A.",
    ),
    FigureSpec(
        "waveform",
        figures.waveform,
        (HALF_PX, NARROW_PX),
        _waveform_caption,
        lambda data, odds: "No press with samples made the roller run.",
    ),
)

TABLES: tuple[tables.TableFunction, ...] = (
    tables.verdicts,
    tables.excluded,
    tables.fire,
    tables.hazard,
    tables.counts,
    tables.conditions,
    tables.faults,
    tables.exceptions,
    tables.ledger,
    tables.link,
    tables.provenance,
    tables.settings,
)

_STATUS_TONE: dict[str, str] = {"complete": "good", "running": "warn"}

_SAFE_STATE: dict[str, tuple[str, str]] = {
    "confirmed": ("good", "Safe state confirmed: every output was read back as off at the end."),
    "not confirmed": ("bad", "NOT CONFIRMED SAFE: the outputs could not be read back as off at the end."),
    "": ("warn", "Safe state unknown: the end of this run was not recorded."),
}


def _tiles(data: RunData, odds: Odds | None) -> list[Tile]:
    """Return the handful of numbers that a reader looks for first."""
    return [_presses_tile(data, odds), _fire_tile(odds), _cards_tile(data, odds), _fault_tile(data), _ledger_tile(data)]


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


def _ledger_tile(data: RunData) -> Tile:
    counted = [fill for fill in data.fills if fill.difference is not None]
    off = [fill for fill in counted if fill.difference]
    if not counted:
        return Tile("Card ledger", words.NOTHING, "no fill was counted out")
    if not off:
        return Tile("Card ledger", "balances", f"counted fills: {len(counted)}")
    cards = sum(abs(fill.difference or 0) for fill in off)
    return Tile("Card ledger", f"{cards} off", f"in {len(off)} of {len(counted)} counted fills", "bad")
