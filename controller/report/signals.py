# SPDX-License-Identifier: Apache-2.0
"""What the edges and sample bins of a trial say, as plain arrays for figures.

Pure arithmetic on stored trials; scales come from the wire's one description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from controller.store.records import Run, Trial
from rig import verdict
from rig.verdict import Edge
from rig.wire import messages as wire

TICKS_PER_MS = wire.TICK_HZ / 1000


@dataclass(frozen=True, slots=True)
class Samples:
    """Sample bins of one trial, one entry a bin of `wire.BIN_MS` ms; bin 0 starts at actuation."""

    current_A: npt.NDArray[np.float64]
    pack_V: npt.NDArray[np.float64]
    driven: npt.NDArray[np.bool_]


def samples(trial: Trial, on_mA: float) -> Samples:
    """Decode a trial's bins; roller or latch count as driven by the very rule of the verdict."""
    return Samples(
        current_A=np.asarray([verdict.current_uA(sample) for sample in trial.bins], dtype=np.float64) * 1e-6,
        pack_V=np.asarray([verdict.pack_uV(sample) for sample in trial.bins], dtype=np.float64) * 1e-6,
        driven=np.asarray(verdict.driven(trial.bins, wire.Wiring[trial.drive], round(on_mA)), dtype=np.bool_),
    )


def intervals_ms(edges: Sequence[Edge], channel: str, origin: int, end_ms: float) -> list[tuple[float, float]]:
    """Return (from, to) in ms after tick `origin` where `channel` was at level 1, cut off at `end_ms`.

    Before its first edge a channel is at the level that the edge left.
    """
    own = [((tick - origin) / TICKS_PER_MS, level) for tick, name, level in edges if name == channel]
    if not own:
        return []
    spans: list[tuple[float, float]] = []
    high_since: float | None = 0.0 if own[0][1] == 0 else None
    for at_ms, level in own:
        if level and high_since is None:
            high_since = at_ms
        elif not level and high_since is not None:
            spans.append((high_since, at_ms))
            high_since = None
    if high_since is not None:
        spans.append((high_since, max(high_since, end_ms)))
    return spans


def blocked_ms(trials: Iterable[Trial], channel: str = "beam_a") -> npt.NDArray[np.float64]:
    """Return how long a beam was blocked, in ms: one entry per passage that ended within its trial."""
    found: list[float] = []
    for trial in trials:
        blocked_at: int | None = None
        for tick, name, level in trial.edges:
            if name != channel:
                continue
            if level:
                blocked_at = tick
            elif blocked_at is not None:
                found.append((tick - blocked_at) / TICKS_PER_MS)
                blocked_at = None
    return np.asarray(found, dtype=np.float64)


def setting(run: Run, name: str) -> float:
    """Return a firmware setting of the run, or the firmware's initial value when the run does not name it."""
    places: tuple[Mapping[str, Any], ...] = (run.settings, _mapping(run.settings.get("firmware")))
    for place in places:
        value = place.get(name)
        if isinstance(value, int | float):
            return float(value)
    return float(wire.SETTINGS[name].default)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class RunAxis:
    """Where each trial of a run stands. seconds: length of the axis' unit; None when the axis counts trials."""

    at: npt.NDArray[np.float64]
    label: str
    seconds: float | None


def run_axis(trials: Sequence[Trial], what: str) -> RunAxis:
    """Return each trial's place in the run, in hours, minutes or seconds of MCU time.

    A trial that was never actuated stands where the one before it stood. When the board restarted in mid-run its
    clock did too; then the trial's number is the only honest axis. what: a trial's name, for the label.
    """
    numbers = np.asarray([trial.number for trial in trials], dtype=np.float64)
    known = [trial.t_s for trial in trials if trial.t_s is not None]
    if not known:
        return RunAxis(numbers, f"{what} number", None)
    times: list[float] = []
    last = known[0]
    for trial in trials:
        last = last if trial.t_s is None else trial.t_s
        times.append(last)
    at_s = np.asarray(times, dtype=np.float64)
    if np.any(np.diff(at_s) < 0):
        return RunAxis(numbers, f"{what} number (the board's clock restarted)", None)
    units = (("h", 3600.0, 3 * 3600.0), ("min", 60.0, 180.0), ("s", 1.0, 0.0))
    unit, seconds, _ = next(row for row in units if at_s[-1] >= row[2])
    return RunAxis(at_s / seconds, f"MCU time ({unit})", seconds)


def typical(trials: Sequence[Trial], verdicts: Sequence[str]) -> Trial | None:
    """Return the trial to show as a waveform: of the first of these verdicts, nothing stuck, a median number of cards.

    Of the later verdicts, which are there for a run that has none of the first, it is the earliest trial. None when
    there is no such trial with samples.
    """
    usable = [trial for trial in trials if trial.bins and trial.tick is not None and not trial.spoiled]
    best = [trial for trial in usable if trial.verdict == verdicts[0]]
    if best:
        median = float(np.median([trial.dealt for trial in best]))
        return min(best, key=lambda trial: (trial.sticking, abs(trial.dealt - median), trial.number))
    return next((trial for name in verdicts for trial in usable if trial.verdict == name), None)
