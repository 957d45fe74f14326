# SPDX-License-Identifier: Apache-2.0
"""The figures that the roller launcher's page has for itself, and how it draws those that every launcher has."""

from __future__ import annotations

from collections import Counter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from controller.report import figures, signals, svg
from controller.report.figures import Odds
from controller.report.svg import COLOUR
from controller.report.words import since_fire
from controller.store.records import RunData

TYPICAL = ("ok", "jam", "slip", "empty")
"""Verdicts of the press that is shown as a waveform, the best first."""

WAVEFORM = figures.Waveform(on="roller_on_mA", running="running", lane="roller")


def counts(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Cards dealt by a press that fired: observed shares as bars, fitted probabilities with 95 % intervals."""
    fitted = (odds or {}).get("count") or {}
    support = np.asarray(fitted.get("support") or [], dtype=np.float64)
    observed = Counter(trial.dealt for trial in data.trials if trial.verdict == "ok" and not trial.spoiled)
    if not observed and not (support.size and fitted.get("n")):
        return None
    cards = np.arange(1, int(max([*support, *observed])) + 1, dtype=np.float64)
    total = sum(observed.values())
    with svg.drawing():
        figure = svg.new_figure(width_px, 250)
        axes = figure.subplots()
        shares = [observed[int(k)] / total if total else 0.0 for k in cards]
        axes.bar(cards, shares, width=0.72, color=COLOUR["band"], label=f"this run, {total} presses")
        if support.size:
            p, low, high = (np.asarray(fitted[key], dtype=np.float64) for key in ("p", "ci_low", "ci_high"))
            figures.whiskers(axes, support, p, low, high, "fitted, 95 % interval")
        axes.set_xticks(cards)
        axes.set_xlabel("cards dealt, given that it fired")
        axes.tick_params(axis="x", length=0)
        figures.percent(axes)
        figures.legend(axes)
        return svg.inline(figure, name, "Probability of each number of cards, given that the launcher fired")


def hazard(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Chance that a press fires, by presses since the last fire, with 95 % intervals and the presses seen at each."""
    fire = (odds or {}).get("fire") or {}
    rows = [row for row in fire.get("hazard") or [] if row.get("at_risk")]
    if not rows:
        return None
    at = np.arange(1, len(rows) + 1, dtype=np.float64)
    p, low, high = (
        np.asarray([np.nan if row[key] is None else row[key] for row in rows], dtype=np.float64)
        for key in ("p", "ci_low", "ci_high")
    )
    with svg.drawing():
        figure = svg.new_figure(width_px, 250)
        axes = figure.subplots()
        if fire.get("p") is not None:
            axes.axhspan(fire["ci_low"], fire["ci_high"], color=COLOUR["band"], alpha=0.6, label="mean, 95 % interval")
            axes.axhline(fire["p"], color=COLOUR["muted"], linewidth=1)
        figures.whiskers(axes, at, p, low, high, "95 % interval")
        axes.set_xlim(0.4, len(rows) + 0.6)
        shown = figures.every(len(rows), 10)
        axes.set_xticks(at[shown], [f"{since_fire(rows[i])}\n{rows[i]['at_risk']}" for i in shown])
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("presses since the last fire (below: presses seen there)")
        figures.percent(axes, top=1.0)
        figures.legend(axes)
        return svg.inline(figure, name, "Probability that a press fires, by presses since the last fire")


def blocked(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """How long beam A was blocked: ok presses, jams, the rest."""
    return figures.blocked(data, ("ok", "jam"), name, width_px)


def waveform(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """The signals of a typical press."""
    return figures.waveform(data, signals.typical(data.trials, TYPICAL), WAVEFORM, name, width_px)


def timeline(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """The run from end to end: cards in the hopper before each press, over verdicts and events."""

    def upper(axes: Axes, axis: signals.RunAxis) -> None:
        dot = "o" if len(data.trials) <= 150 else None
        hopper = np.asarray([trial.hopper for trial in data.trials], dtype=np.float64)
        for fill in sorted({trial.fill for trial in data.trials}):
            own = np.asarray([trial.fill == fill for trial in data.trials])
            axes.plot(axis.at[own], hopper[own], color=COLOUR["accent"], linewidth=1.2, marker=dot, markersize=2)
        axes.set_ylabel("cards in hopper")
        axes.set_ylim(0, max(float(hopper.max()) * 1.08, 1.0))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))

    def shade(axes: Axes, axis: signals.RunAxis) -> None:
        first: dict[int, float] = {}
        for place, trial in zip(axis.at, data.trials, strict=True):
            first.setdefault(trial.fill, float(place))
        figures.shade_every_second(axes, [*first.values(), float(axis.at[-1])])

    title = "The run over time: hopper level, verdict of every press, events of the bench"
    return figures.timeline(data, "press", upper, shade, title, name, width_px)
