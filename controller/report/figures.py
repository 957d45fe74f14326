# SPDX-License-Identifier: Apache-2.0
"""The five figures of a report, each a pure function of a run and its odds.

A figure function returns an `<svg>` element, or None when there is nothing to draw (the page then says so).
`width_px` is the width at which its text is 11 px high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from controller.report import signals, svg
from controller.report.svg import COLOUR
from controller.report.words import since_fire
from controller.store.records import Event, RunData, Trial
from rig.wire import messages as wire

Odds = Mapping[str, Any]
FigureFunction = Callable[[RunData, Odds | None, str, float], str | None]
Floats = npt.NDArray[np.float64]

VERDICTS = tuple(verdict.name for verdict in wire.Verdict)

# Every kind of event gets a lane of the timeline, but for these: they are the bench's everyday noise.
QUIET_EVENTS = frozenset({"sound", "beam_a", "beam_b"})


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
            _whiskers(axes, support, p, low, high, "fitted, 95 % interval")
        axes.set_xticks(cards)
        axes.set_xlabel("cards dealt, given that it fired")
        axes.tick_params(axis="x", length=0)
        _percent(axes)
        _legend(axes)
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
        _whiskers(axes, at, p, low, high, "95 % interval")
        axes.set_xlim(0.4, len(rows) + 0.6)
        shown = _every(len(rows), 10)
        axes.set_xticks(at[shown], [f"{since_fire(rows[i])}\n{rows[i]['at_risk']}" for i in shown])
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("presses since the last fire (below: presses seen there)")
        _percent(axes, top=1.0)
        _legend(axes)
        return svg.inline(figure, name, "Probability that a press fires, by presses since the last fire")


def blocked(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """How long beam A was blocked, in ms from its edges: one count per passage that ended within its trial."""
    usable = [trial for trial in data.trials if not trial.spoiled]
    groups = {
        "ok": signals.blocked_ms(trial for trial in usable if trial.verdict == "ok"),
        "jam": signals.blocked_ms(trial for trial in usable if trial.verdict == "jam"),
    }
    groups["other"] = signals.blocked_ms(trial for trial in usable if trial.verdict not in groups)
    everything = np.concatenate(list(groups.values()))
    if not everything.size:
        return None
    jam_ms = signals.setting(data.run, "jam_ms")
    low, high = 0.0, max(float(np.quantile(everything, 0.995)) * 1.15, 10.0)
    jam_shown = high >= jam_ms * 0.6
    high = max(high, jam_ms * 1.12) if jam_shown else high
    bins = np.linspace(low, high, 49)
    beyond = int((everything > high).sum())
    with svg.drawing():
        figure = svg.new_figure(width_px, 250)
        axes = figure.subplots()
        shown = {label: values for label, values in groups.items() if values.size}
        tones = {"ok": COLOUR["ok"], "jam": COLOUR["jam"], "other": COLOUR["muted"]}
        axes.hist(
            list(shown.values()),
            bins=[float(edge) for edge in bins],
            stacked=True,
            color=[tones[label] for label in shown],
            label=list(shown),
        )
        if jam_shown:
            axes.axvline(jam_ms, color=COLOUR["jam"], linewidth=1, linestyle=(0, (4, 3)))
            axes.annotate(
                f"jam_ms {jam_ms:g}", (jam_ms, 1), (-4, -2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="right", va="top", color=COLOUR["jam"],
            )  # fmt: skip
        axes.set_xlim(low, high)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_xlabel("beam A blocked (ms)" + (f"; {beyond} longer, not shown" if beyond else ""))
        axes.set_ylabel("passages")
        if len(shown) > 1:
            _legend(axes)
        return svg.inline(figure, name, "Histogram of the time for which beam A was blocked")


def timeline(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """The run from end to end: cards in the hopper before each press, a lane of marks per verdict and kind of event."""
    if not data.trials:
        return None
    axis = signals.run_axis(data.trials)
    at = axis.at
    lanes = _lanes(data, axis)
    with svg.drawing():
        lane_px = 24.0
        figure = svg.new_figure(width_px, 130 + lane_px * len(lanes) + 44)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[130, lane_px * len(lanes) + 44])
        span = max(float(at[-1] - at[0]), 1e-9)
        _shade_fills(upper, data, at)
        _shade_fills(lower, data, at)
        dot = "o" if len(data.trials) <= 150 else None
        hopper = np.asarray([trial.hopper for trial in data.trials], dtype=np.float64)
        for fill in sorted({trial.fill for trial in data.trials}):
            own = np.asarray([trial.fill == fill for trial in data.trials])
            upper.plot(at[own], hopper[own], color=COLOUR["accent"], linewidth=1.2, marker=dot, markersize=2)
        upper.set_ylabel("cards in hopper")
        upper.set_ylim(0, max(float(hopper.max()) * 1.08, 1.0))
        upper.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        upper.tick_params(axis="x", length=0, labelbottom=False)
        for row, (_, tone, places, heights) in enumerate(reversed(lanes)):
            x, top = _one_mark_per_px(places, heights, float(at[0]), span, width_px)
            _ticks(lower, x, row - 0.36, row - 0.36 + 0.72 * top, COLOUR[tone])
        lower.set_yticks(range(len(lanes)), [f"{title}  {places.size}" for title, _, places, _ in reversed(lanes)])
        lower.set_ylim(-0.6, len(lanes) - 0.4)
        lower.grid(visible=False)
        lower.set_xlabel(axis.label)
        margin = span * 0.01 if len(data.trials) > 1 else 0.5
        lower.set_xlim(float(at[0]) - margin, float(at[-1]) + margin)
        if len(data.trials) == 1:
            lower.set_xticks([float(at[0])])
        return svg.inline(figure, name, "The run over time: hopper level, verdict of every press, events of the bench")


def waveform(data: RunData, odds: Odds | None, name: str, width_px: float) -> str | None:
    """One press in ms after actuation: current, pack voltage, roller driven, sound and both beams."""
    trial = signals.typical_press(data.trials)
    if trial is None or trial.tick is None:
        return None
    on_mA, stall_mA = (signals.setting(data.run, key) for key in ("roller_on_mA", "stall_mA"))
    taken = signals.samples(trial, on_mA)
    end_ms = float(len(trial.bins) * wire.BIN_MS)
    end_ms = max([end_ms, *((tick - trial.tick) / signals.TICKS_PER_MS for tick, _, _ in trial.edges)])
    borders = np.arange(len(trial.bins) + 1, dtype=np.float64) * wire.BIN_MS
    with svg.drawing():
        figure = svg.new_figure(width_px, 400)
        current, volts, lanes = figure.subplots(3, 1, sharex=True, height_ratios=[1.5, 0.9, 1.5])
        current.stairs(taken.current_A, borders, color=COLOUR["accent"], linewidth=1.3)
        top = max(float(taken.current_A.max()) * 1.15, stall_mA / 1000 * 1.15)
        for level_mA, tone, words in ((stall_mA, "jam", "stall"), (on_mA, "muted", "running")):
            if trial.drive == "direct" and words == "running":
                continue
            current.axhline(level_mA / 1000, color=COLOUR[tone], linewidth=0.9, linestyle=(0, (4, 3)))
            current.annotate(
                f"{words} {level_mA:g} mA", (1, level_mA / 1000), (0, 2), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", va="bottom", color=COLOUR[tone],
            )  # fmt: skip
        current.set_ylim(0, top)
        current.set_ylabel("current (A)")
        volts.stairs(taken.pack_V, borders, baseline=None, color=COLOUR["accent"], linewidth=1.3)
        low, high = float(taken.pack_V.min()), float(taken.pack_V.max())
        volts.set_ylim(low - 0.15 * (high - low) - 0.05, high + 0.15 * (high - low) + 0.05)
        volts.yaxis.set_major_locator(MaxNLocator(3))
        volts.set_ylabel("pack (V)")
        for axes in (current, volts):
            axes.tick_params(axis="x", length=0, labelbottom=False)
        _logic(lanes, _press_lanes(trial, taken.driven, end_ms))
        lanes.set_xlim(min(0.0, -0.01 * end_ms), end_ms)
        lanes.set_xlabel("ms after actuation")
        figure.align_ylabels([current, volts])
        return svg.inline(figure, name, f"Press {trial.number}: current, voltage, sound and beams over time")


def _press_lanes(trial: Trial, driven: npt.NDArray[np.bool_], end_ms: float) -> list[tuple[str, str, list[tuple[float, float]]]]:
    """Return (title, colour name, intervals in ms) of each logic lane, top to bottom."""
    assert trial.tick is not None
    steps = np.flatnonzero(np.diff(np.concatenate([[False], driven, [False]]).astype(np.int8))) * float(wire.BIN_MS)
    running = [(float(a), float(b)) for a, b in zip(steps[::2], steps[1::2], strict=True)]
    seen = {channel: signals.intervals_ms(trial.edges, channel, trial.tick, end_ms) for channel in ("sound", "beam_a", "beam_b")}
    return [
        ("roller", "accent", running),
        ("sound", "muted", seen["sound"]),
        ("beam A", "ok", seen["beam_a"]),
        ("beam B", "ok", seen["beam_b"]),
    ]


def _logic(axes: Axes, lanes: Sequence[tuple[str, str, list[tuple[float, float]]]]) -> None:
    """Draw logic lanes as filled bars on a base line, first lane on top."""
    for row, (_, tone, spans) in enumerate(reversed(lanes)):
        axes.axhline(row - 0.3, color=COLOUR["grid"], linewidth=0.8)
        axes.broken_barh([(a, b - a) for a, b in spans], (row - 0.3, 0.6), color=COLOUR[tone])
    axes.set_yticks(range(len(lanes)), [title for title, _, _ in reversed(lanes)])
    axes.set_ylim(-0.6, len(lanes) - 0.4)
    axes.grid(visible=False)


def _lanes(data: RunData, axis: signals.RunAxis) -> list[tuple[str, str, Floats, Floats]]:
    """Return (title, colour name, places, heights 0..1) of each lane of the timeline that has a mark, top to bottom."""
    most = max([trial.dealt for trial in data.trials] + [1])
    lanes: list[tuple[str, str, Floats, Floats]] = []
    for verdict in VERDICTS:
        own = [i for i, trial in enumerate(data.trials) if trial.verdict == verdict]
        if own:
            cards = np.asarray([data.trials[i].dealt for i in own], dtype=np.float64)
            heights = 0.25 + 0.75 * cards / most if verdict == "ok" else np.ones(len(own))
            lanes.append((verdict, verdict, axis.at[own], heights))
    places: dict[str, list[float]] = {}
    for event in data.events:
        place = _event_place(event, data.trials, axis)
        if event.kind not in QUIET_EVENTS and place is not None:
            places.setdefault(event.kind, []).append(place)
    for lane in sorted(places):
        x = np.asarray(sorted(places[lane]), dtype=np.float64)
        lanes.append((lane.replace("_", " "), "ink", x, np.full(x.size, 0.6)))
    return lanes


def _event_place(event: Event, trials: Sequence[Trial], axis: signals.RunAxis) -> float | None:
    """Return where an event stands on the axis of the timeline; None when neither its tick nor its trial tells."""
    if event.tick is not None and axis.seconds is not None:
        return event.tick / wire.TICK_HZ / axis.seconds
    for place, trial in zip(axis.at, trials, strict=True):
        if trial.number == event.trial:
            return float(place)
    return None


def _shade_fills(axes: Axes, data: RunData, at: Floats) -> None:
    """Shade every second fill, so that reloads are seen."""
    first: dict[int, float] = {}
    for place, trial in zip(at, data.trials, strict=True):
        first.setdefault(trial.fill, float(place))
    borders = [*first.values(), float(at[-1])]
    for number, (left, right) in enumerate(pairwise(borders)):
        if number % 2 and right > left:
            axes.axvspan(left, right, color=COLOUR["band"], alpha=0.45)


def _one_mark_per_px(places: Floats, heights: Floats, start: float, span: float, width_px: float) -> tuple[Floats, Floats]:
    """Thin marks that would fall on one another: per half pixel column the highest stays. Bounds the file's size."""
    columns = np.floor((places - start) / span * width_px * 2).astype(np.int64)
    order = np.lexsort((-heights, columns))
    _, kept = np.unique(columns[order], return_index=True)
    return places[order][kept], heights[order][kept]


def _ticks(axes: Axes, x: Floats, bottom: float, top: Floats, colour: str) -> None:
    """Draw upright marks as one path: a path each would make the file several times as large."""
    gap = np.full(x.size, np.nan)
    ys = np.column_stack([np.full(x.size, bottom), top, gap]).ravel()
    axes.plot(np.column_stack([x, x, gap]).ravel(), ys, color=colour, linewidth=1.2, solid_capstyle="butt")


def _whiskers(axes: Axes, x: Floats, p: Floats, low: Floats, high: Floats, label: str) -> None:
    """Points with an interval each; an interval need not be symmetric nor even hold its point."""
    axes.vlines(x, low, high, color=COLOUR["accent"], linewidth=1.6, label=label)
    axes.plot(x, p, "o", color=COLOUR["accent"], markersize=4.5, clip_on=False, zorder=3)


def _legend(axes: Axes) -> None:
    """Put the legend above the axes, where no data can be under it."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, ncols=3, handlelength=1.2, columnspacing=1.2)


def _percent(axes: Axes, top: float | None = None) -> None:
    high = top if top is not None else axes.get_ylim()[1]
    axes.set_ylim(0, min(high, 1.0) * 1.03)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if high > 0.1 else 1, symbol=" %"))


def _every(count: int, most: int) -> list[int]:
    """Return at most `most` indices of `count`, evenly spaced from the first on."""
    return list(range(0, count, -(-count // most))) if count else []
