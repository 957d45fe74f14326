# SPDX-License-Identifier: Apache-2.0
"""The figures that the blaster's page has for itself, and how it draws those that every launcher has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from controller.report import figures, signals, svg
from controller.report.blast.rounds import Round, rounds
from controller.report.blast.tables import part
from controller.report.blast.words import RIVALS
from controller.report.figures import Floats, Odds
from controller.report.svg import COLOUR
from controller.store.records import RunData

TYPICAL = ("blast", "partial", "latch_fault", "jam", "ok")
"""Verdicts of the trial that is shown as a waveform, the best first; `ok` is that of a reset."""

WAVEFORM = figures.Waveform(on="release_mA", running="latch driven", lane="latch")

BLOCKS = 60
"""Into so many blocks of rounds the timeline of a long run is divided at most."""

HEIGHT_PX = 270


def hazard(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Chance of a release at each insert of a round as measured, over what the rival rules say."""
    found = part(odds, "hazard")
    rows = found.get("by_insert") or []
    if not any(row["at_risk"] for row in rows):
        return None
    winner = part(odds, "rivals").get("winner")
    at = np.arange(1, len(rows) + 1, dtype=np.float64)
    curves = {
        "constant": np.full(len(rows), found["released"] / found["n"]),
        "hidden_slot": 1 / (len(rows) - at + 1),
    }
    with svg.drawing():
        figure = svg.new_figure(width_px, HEIGHT_PX)
        axes = figure.subplots()
        for (rival, p), dashes in zip(curves.items(), ((5, 3), (1.5, 2)), strict=True):
            won = rival == winner
            label = RIVALS[rival][0] + (" (won)" if won else "")
            style = "-" if won else (0, dashes)
            axes.plot(at, p, color=COLOUR["ink" if won else "muted"], linewidth=1.8 if won else 1.2, linestyle=style, label=label)
        _measured(axes, rows, at, "free (won), 95 %" if winner == "free" else "measured, 95 %")
        _places(axes, rows, at, "insert", "insert of the round (below: inserts seen there)")
        return svg.inline(figure, name, "Probability of a release by insert of the round, measured and by each rival rule")


def slots(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Chance of a release by slot, over all inserts of a round, with the mean."""
    found = part(odds, "hazard")
    rows = found.get("by_slot") or []
    if not any(row["at_risk"] for row in rows):
        return None
    at = np.arange(1, len(rows) + 1, dtype=np.float64)
    with svg.drawing():
        figure = svg.new_figure(width_px, HEIGHT_PX)
        axes = figure.subplots()
        axes.axhline(found["released"] / found["n"], color=COLOUR["muted"], linewidth=1, label="all slots")
        _measured(axes, rows, at, "measured, 95 %")
        _places(axes, rows, at, "slot", "slot (below: inserts seen there)")
        return svg.inline(figure, name, "Probability of a release by slot")


def _measured(axes: Axes, rows: Sequence[Any], at: Floats, label: str) -> None:
    seen = [i for i, row in enumerate(rows) if row["at_risk"]]
    p, low, high = (np.asarray([rows[i][key] for i in seen], dtype=np.float64) for key in ("p", "ci_low", "ci_high"))
    figures.whiskers(axes, at[seen], p, low, high, label)


def _places(axes: Axes, rows: Sequence[Any], at: Floats, place: str, label: str) -> None:
    axes.set_xlim(0.4, len(rows) + 0.6)
    axes.set_xticks(at, [f"{row[place]}\n{row['at_risk']}" for row in rows])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(label)
    figures.percent(axes, top=1.0)
    figures.legend(axes)


def survival(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Chance that a round is still without a release after each insert, with its 95 % band, and what the rule in use says."""
    rows = [row for row in part(odds, "hazard").get("survival") or [] if row["p"] is not None]
    if not rows:
        return None
    borders = np.asarray([0, *(row["insert"] for row in rows), rows[-1]["insert"] + 1], dtype=np.float64)
    p, low, high = (np.asarray([1.0, *(row[key] for row in rows)], dtype=np.float64) for key in ("p", "ci_low", "ci_high"))
    model = part(odds, "model")
    with svg.drawing():
        figure = svg.new_figure(width_px, HEIGHT_PX)
        axes = figure.subplots()
        # The first stretch, before any insert, is certain: it has no band.
        axes.stairs(high, borders, baseline=low, fill=True, color=COLOUR["band"], label="95 % interval")
        axes.stairs(p, borders, baseline=None, color=COLOUR["accent"], linewidth=1.6, label="measured")
        if model:
            after = np.asarray([np.nan if row["p_by"] is None else 1 - row["p_by"] for row in model["until_release"]])
            places = np.arange(1, after.size + 1) + 0.5
            label = f"model: {RIVALS[model['rival']][0]}"
            axes.plot(places, after, "D", color=COLOUR["ink"], markersize=4, clip_on=False, label=label, zorder=3)
        axes.set_xlim(0, borders[-1])
        axes.set_xticks(borders[:-1])
        axes.set_xlabel("inserts made")
        figures.percent(axes, top=1.0)
        figures.legend(axes)
        return svg.inline(figure, name, "Probability that a round is still without a release, by inserts made")


def ejected(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """Releases of this run by cards loaded and cards flown: all, fewer, none."""
    own = [trial for trial in data.trials if trial.kind == "insert" and trial.fired and not trial.spoiled and trial.loaded]
    seen = Counter((trial.loaded or 0, trial.cleared) for trial in own)
    if not seen:
        return None
    most = max(max(loaded, cleared) for loaded, cleared in seen)
    per_loaded = Counter(trial.loaded or 0 for trial in own)
    with svg.drawing():
        figure = svg.new_figure(width_px, HEIGHT_PX)
        axes = figure.subplots()
        for loaded in range(1, most + 1):
            for cleared in range(loaded + 1):
                whole = cleared == loaded
                axes.bar(
                    loaded, 0.86, 0.86, bottom=cleared - 0.43, color=COLOUR["band" if whole else "grid"], alpha=1 if whole else 0.5
                )
        for (loaded, cleared), times in seen.items():
            share = f"\n{100 * times / per_loaded[loaded]:.0f} %" if most <= 4 else ""
            tone = "ink" if cleared == loaded else "jam"
            axes.text(loaded, cleared, f"{times}{share}", color=COLOUR[tone], ha="center", va="center", linespacing=1.15)
        axes.set_xlim(0.4, most + 0.6)
        axes.set_ylim(-0.6, most + 0.6)
        axes.set_xticks(range(1, most + 1))
        axes.set_yticks(range(most + 1))
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.set_xlabel("cards loaded at the release")
        axes.set_ylabel("cards that flew")
        return svg.inline(figure, name, "Releases of this run by cards loaded and cards that flew")


def blocked(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """How long beam A was blocked: blasts, partial ones, jams, the rest; resets are in the rest."""
    return figures.blocked(data, ("blast", "partial", "jam"), name, width_px)


def waveform(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """The signals of a typical blast."""
    return figures.waveform(data, signals.typical(data.trials, TYPICAL), WAVEFORM, name, width_px)


def timeline(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """The run from end to end: inserts in a round, over verdicts and events; every second block of rounds is shaded."""
    own = rounds(data)
    size = block_size(len(own))
    blocks = [own[i : i + size] for i in range(0, len(own), size)]
    place = {trial.number: at for at, trial in enumerate(data.trials)}

    def borders(axis: signals.RunAxis) -> list[float]:
        ends = [float(axis.at[place[block[-1].last.number]]) for block in blocks]
        return [float(axis.at[0]), *ends]

    def upper(axes: Axes, axis: signals.RunAxis) -> None:
        if blocks:
            means = np.asarray([_mean_inserts(block) for block in blocks], dtype=np.float64)
            ends = np.asarray(borders(axis)[1:], dtype=np.float64)
            dot = "o" if len(blocks) <= 150 else None
            axes.plot(ends, means, color=COLOUR["accent"], linewidth=1.2, marker=dot, markersize=2.5)
        axes.set_ylabel("inserts\nin a round")
        axes.set_ylim(0, max([each.inserts for each in own] + [1]) * 1.08)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))

    def shade(axes: Axes, axis: signals.RunAxis) -> None:
        figures.shade_every_second(axes, borders(axis))

    title = "The run over time: inserts in a round, verdict of every trial, events of the bench"
    return figures.timeline(data, "trial", upper, shade, title, name, width_px)


def _mean_inserts(block: Sequence[Round]) -> float:
    return sum(each.inserts for each in block) / len(block)


def block_size(count: int) -> int:
    """Rounds in a block of the timeline of a run with so many rounds."""
    return max(1, -(-count // BLOCKS))
