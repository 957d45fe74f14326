# SPDX-License-Identifier: Apache-2.0
"""What figures of a report are drawn with, and those that every launcher has: pure functions of a run and its odds.

A figure function returns an `<svg>` element, or None when there is nothing to draw (the page then says so).
`width_px` is the width at which its text is 11 px high.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from controller.report import signals, svg
from controller.report.svg import COLOUR
from controller.report.words import VERDICTS
from controller.store.records import Event, RunData, Trial
from rig.wire import messages as wire

Odds = Mapping[str, Any]
FigureFunction = Callable[[RunData, Odds | None, str, float], str | None]
Floats = npt.NDArray[np.float64]

_KINDS = {"press": "", "insert": "", "reset": "reset "}
"""By kind of trial, what stands before its verdict in the timeline: a reset is never taken for an insert."""

_TELL_CARDS = frozenset({"ok", "blast", "partial"})
"""Verdicts whose marks in the timeline are as high as cards came."""

# Every kind of event gets a lane of the timeline, but for these: they are the bench's everyday noise.
QUIET_EVENTS = frozenset({"sound", "beam_a", "beam_b", "round"})


def blocked(data: RunData, verdicts: Sequence[str], name: str, width_px: float) -> str | None:
    """How long beam A was blocked, in ms from its edges: one count per passage that ended within its trial.

    verdicts: those that are told apart, the rest being `other`.
    """
    usable = [trial for trial in data.trials if not trial.spoiled]
    groups = {wanted: signals.blocked_ms(trial for trial in usable if trial.verdict == wanted) for wanted in verdicts}
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
        tones = {wanted: COLOUR[wanted] for wanted in verdicts} | {"other": COLOUR["muted"]}
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
            legend(axes)
        return svg.inline(figure, name, "Histogram of the time for which beam A was blocked")


Sketch = Callable[[Axes, signals.RunAxis], None]
"""Draws something into axes on which the trials stand as the `RunAxis` says."""


def timeline(data: RunData, what: str, upper_of: Sketch, shade: Sketch, title: str, name: str, width_px: float) -> str | None:
    """The run from end to end: what `upper_of` draws, over a lane of marks per verdict and kind of event.

    what: a trial's name. shade: marks stretches of the run in both parts. title: what a screen reader says.
    """
    if not data.trials:
        return None
    axis = signals.run_axis(data.trials, what)
    at = axis.at
    lanes = _lanes(data, axis)
    with svg.drawing():
        lane_px = 24.0
        figure = svg.new_figure(width_px, 130 + lane_px * len(lanes) + 44)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[130, lane_px * len(lanes) + 44])
        span = max(float(at[-1] - at[0]), 1e-9)
        shade(upper, axis)
        shade(lower, axis)
        upper_of(upper, axis)
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
        return svg.inline(figure, name, title)


@dataclass(frozen=True, slots=True)
class Waveform:
    """How a trial's signals are shown. on: the setting from which current on something is driven; running: the word at
    its line; lane: what is driven."""

    on: str
    running: str
    lane: str


def waveform(data: RunData, trial: Trial | None, how: Waveform, name: str, width_px: float) -> str | None:
    """One trial in ms after actuation: current, pack voltage, what was driven, sound and both beams."""
    if trial is None or trial.tick is None:
        return None
    on_mA, stall_mA = (signals.setting(data.run, key) for key in (how.on, "stall_mA"))
    taken = signals.samples(trial, on_mA)
    end_ms = float(len(trial.bins) * wire.BIN_MS)
    end_ms = max([end_ms, *((tick - trial.tick) / signals.TICKS_PER_MS for tick, _, _ in trial.edges)])
    borders = np.arange(len(trial.bins) + 1, dtype=np.float64) * wire.BIN_MS
    with svg.drawing():
        figure = svg.new_figure(width_px, 400)
        current, volts, lanes = figure.subplots(3, 1, sharex=True, height_ratios=[1.5, 0.9, 1.5])
        current.stairs(taken.current_A, borders, color=COLOUR["accent"], linewidth=1.3)
        top = max(float(taken.current_A.max()) * 1.15, stall_mA / 1000 * 1.15)
        for level_mA, tone, words in ((stall_mA, "jam", "stall"), (on_mA, "muted", how.running)):
            if trial.drive == "direct" and words == how.running:
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
        _logic(lanes, _signal_lanes(trial, how.lane, taken.driven, end_ms))
        lanes.set_xlim(min(0.0, -0.01 * end_ms), end_ms)
        lanes.set_xlabel("ms after actuation")
        figure.align_ylabels([current, volts])
        return svg.inline(figure, name, f"{trial.kind.capitalize()} {trial.number}: current, voltage, sound and beams over time")


def _signal_lanes(
    trial: Trial, driven_lane: str, driven: npt.NDArray[np.bool_], end_ms: float
) -> list[tuple[str, str, list[tuple[float, float]]]]:
    """Return (title, colour name, intervals in ms) of each logic lane, top to bottom."""
    assert trial.tick is not None
    steps = np.flatnonzero(np.diff(np.concatenate([[False], driven, [False]]).astype(np.int8))) * float(wire.BIN_MS)
    running = [(float(a), float(b)) for a, b in zip(steps[::2], steps[1::2], strict=True)]
    seen = {channel: signals.intervals_ms(trial.edges, channel, trial.tick, end_ms) for channel in ("sound", "beam_a", "beam_b")}
    return [
        (driven_lane, "accent", running),
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
    for kind, verdict in product(_KINDS, VERDICTS):
        own = [i for i, trial in enumerate(data.trials) if (trial.kind, trial.verdict) == (kind, verdict)]
        if own:
            cards = np.asarray([data.trials[i].dealt for i in own], dtype=np.float64)
            heights = 0.25 + 0.75 * cards / most if verdict in _TELL_CARDS else np.ones(len(own))
            lanes.append((_KINDS[kind] + verdict, verdict, axis.at[own], heights))
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


def shade_every_second(axes: Axes, borders: Sequence[float]) -> None:
    """Shade every second stretch between borders that follow each other."""
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


def whiskers(axes: Axes, x: Floats, p: Floats, low: Floats, high: Floats, label: str) -> None:
    """Points with an interval each; an interval need not be symmetric nor even hold its point."""
    axes.vlines(x, low, high, color=COLOUR["accent"], linewidth=1.6, label=label)
    axes.plot(x, p, "o", color=COLOUR["accent"], markersize=4.5, clip_on=False, zorder=3)


def legend(axes: Axes) -> None:
    """Put the legend above the axes, where no data can be under it."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, ncols=4, handlelength=1.2, columnspacing=1.2)


def percent(axes: Axes, top: float | None = None) -> None:
    """An axis of probabilities from 0 on, in percent."""
    high = top if top is not None else axes.get_ylim()[1]
    axes.set_ylim(0, min(high, 1.0) * 1.03)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if high > 0.1 else 1, symbol=" %"))


def every(count: int, most: int) -> list[int]:
    """Return at most `most` indices of `count`, evenly spaced from the first on."""
    return list(range(0, count, -(-count // most))) if count else []
