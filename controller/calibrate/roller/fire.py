# SPDX-License-Identifier: Apache-2.0
"""Does a press make the launcher fire, and does that depend on the presses before?

The launcher may draw each press independently, or remember when it last fired. Both are fitted; the interval for the
fire probability then uses the variance of the one that the data support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, xlog1py, xlogy

from controller.calibrate.dependence import RunsTest, design_effect, lag1_autocorrelation, runs_test
from controller.calibrate.intervals import clopper_pearson
from controller.calibrate.roller.presses import UNKNOWN, Presses

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Winner = Literal["iid", "dependent", "undecided"]

RESTARTS = ("lid_close", "power_on", "never")
"""What may restart the launcher's memory, the likelier first for ties: lid close and power-on (the public claim),
power-on alone, nothing."""

SIGNIFICANCE = 0.05
_MIN_EXPECTED = 5.0
"""Fires and misses to be expected in a cell of the test, so that its statistic is near enough to chi-square."""

_MIN_AT_RISK = 5
"""Presses in a row of the published hazard; what is rarer is pooled in the last row."""

_BIC_MARGIN = 2.0
"""How much better the independent model's BIC must be before it is said to have won."""


@dataclass(frozen=True, slots=True)
class HazardRow:
    """P(fire) at the since_fire-th press since the last fire or restart; `or_more` pools all later ones as well."""

    since_fire: int
    or_more: bool
    at_risk: int
    fired: int
    p: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """Likelihood-ratio test of the hazard model against independent presses, and plain measures beside it.

    statistic, df: of the test; p_value: of chi-square, times the number of restart rules that could be told apart
    (Bonferroni). All three are None when there are too few presses for two cells. restart: the rule with the best
    likelihood, the first of `RESTARTS` among equals; log_likelihood: of each rule, None when no press could be used;
    restart_margin: lead of the best over the next, 0 when the data cannot tell (a hopper that is reloaded when empty
    was emptied by a fire, so there lid close and fire coincide).
    """

    statistic: float | None
    df: int | None
    p_value: float | None
    winner: Winner
    restart: str
    restart_margin: float | None
    log_likelihood: dict[str, float | None]
    runs_test: RunsTest | None
    lag1: float | None
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class Fire:
    """Fire probability of the presses made: fired of n, 95 % interval.

    method: of the interval. variance: of one press, per press; the interval is Clopper-Pearson's at n_effective
    presses.
    """

    p: float
    ci_low: float
    ci_high: float
    n: int
    fired: int
    method: str
    variance: float
    n_effective: float
    dependence: Dependence
    hazard: tuple[HazardRow, ...]


def fit_fire(presses: Presses) -> Fire | None:
    """Fit P(fire) to the usable presses; None when there are none.

    The interval is for the mean, over the presses made, of each press's own probability. If the presses are independent
    and alike, it is Clopper-Pearson's. If the test finds them dependent, the number of fires varies less or more than
    binomial: given the history, by the sum of h(1-h) over the presses, with the fitted hazard h. Clopper-Pearson is
    then applied to n p(1-p) / mean h(1-h) presses: Korn and Graubard, Survey Methodology 24 (1998) 193. For a launcher
    that follows a fixed list every probability is 0 or 1 and their mean is fired / n itself, so any such interval is
    conservative.
    """
    usable = presses.usable
    fired = presses.fired[usable]
    n = fired.size
    if not n:
        return None
    events = int(fired.sum())
    p = events / n
    counts = {rule: presses_since(presses, rule)[usable] for rule in RESTARTS}
    log_likelihood, restart, ways = _best_restart(counts, fired, p)
    since = counts[restart]
    known = since != UNKNOWN
    cells = _cells(since[known], _MIN_EXPECTED / max(min(p, 1 - p), 1e-12))
    statistic, df, p_value = _likelihood_ratio(cells, fired[known], ways)
    winner = _winner(statistic, df, p_value, int(known.sum()))
    variance = p * (1 - p)
    n_effective = float(n)
    if winner == "dependent":
        variance = _conditional_variance(cells, fired[known])
        n_effective = n * p * (1 - p) / variance
    low, high = clopper_pearson(p * n_effective, n_effective)
    return Fire(
        p=p,
        ci_low=low,
        ci_high=high,
        n=n,
        fired=events,
        method=_METHODS[winner == "dependent"],
        variance=variance,
        n_effective=n_effective,
        dependence=Dependence(
            statistic=statistic,
            df=df,
            p_value=p_value,
            winner=winner,
            restart=restart,
            restart_margin=_lead(log_likelihood),
            log_likelihood=log_likelihood,
            runs_test=runs_test(fired),
            lag1=lag1_autocorrelation(fired),
            design_effect=design_effect(fired, presses.cluster[usable]),
        ),
        hazard=hazard(since[known], fired[known]),
    )


_METHODS = {
    False: "Clopper-Pearson, presses independent",
    True: "Clopper-Pearson at the effective sample size (Korn-Graubard), variance of the fitted hazard",
}


def presses_since(presses: Presses, restart: str) -> Ints:
    """Presses since the last fire or restart under one of `RESTARTS`, shape (n,); `UNKNOWN` where the record does not
    tell.

    It does not tell before a run's first fire, nor when a press of which nobody knows whether it fired lies in between.
    """
    far = np.iinfo(np.int64).max
    since = np.where(presses.since_fire == UNKNOWN, far, presses.since_fire)
    if restart != "never":
        since = np.minimum(since, presses.since_power_on)
    if restart == "lid_close":
        since = np.minimum(since, presses.since_lid_close)
    return np.where((since == far) | (since > presses.since_unsure), UNKNOWN, since)


def hazard(since: Ints, fired: Flags) -> tuple[HazardRow, ...]:
    """P(fire) by presses since the last fire or restart (since, from 1), with Clopper-Pearson intervals; shapes
    (n,)."""
    cells = _cells(since, _MIN_AT_RISK)
    at_risk, events = _tally(cells, fired)
    rows = []
    for j, (n, x) in enumerate(zip(at_risk.tolist(), events.tolist(), strict=True), start=1):
        low, high = clopper_pearson(x, n)
        or_more = j == at_risk.size and bool(np.any(since > j))
        rows.append(HazardRow(j, or_more, int(n), int(x), x / n, low, high))
    return tuple(rows)


def _cells(since: Ints, least: float) -> Ints:
    """Number the cells from 0: one per press since the fire as long as each has `least` presses, the rest in the
    last."""
    at_risk = np.bincount(since)[1:]
    enough = at_risk >= least
    single = at_risk.size if enough.all() else int(np.argmin(enough))
    return np.minimum(since, max(single, 1)) - 1


def _tally(cells: Ints, fired: Flags) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Presses and fires per cell."""
    return np.bincount(cells).astype(np.float64), np.bincount(cells, weights=fired).astype(np.float64)


def _log_likelihood(cells: Ints, fired: Flags) -> float:
    n, x = _tally(cells, fired)
    p = x / np.maximum(n, 1)
    return float(np.sum(xlogy(x, p) + xlog1py(n - x, -p)))


def _best_restart(counts: dict[str, Ints], fired: Flags, p: float) -> tuple[dict[str, float | None], str, int]:
    """Log likelihood of each restart rule on the presses that all can use, the best one, and how many differ."""
    common = np.all([since != UNKNOWN for since in counts.values()], axis=0)
    if not common.any():
        return dict.fromkeys(counts), RESTARTS[0], 1
    least = _MIN_EXPECTED / max(min(p, 1 - p), 1e-12)
    cells = {rule: _cells(since[common], least) for rule, since in counts.items()}
    found = {rule: _log_likelihood(cell, fired[common]) for rule, cell in cells.items()}
    best = max(RESTARTS, key=lambda rule: found[rule])
    ways = len({cell.tobytes() for cell in cells.values()})
    return {**found}, best, ways


def _lead(log_likelihood: dict[str, float | None]) -> float | None:
    found = sorted(value for value in log_likelihood.values() if value is not None)
    return found[-1] - found[-2] if found else None


def _likelihood_ratio(cells: Ints, fired: Flags, ways: int) -> tuple[float | None, int | None, float | None]:
    df = int(cells.max(initial=0))
    if df < 1:
        return None, None, None
    statistic = max(0.0, 2 * (_log_likelihood(cells, fired) - _log_likelihood(np.zeros_like(cells), fired)))
    return statistic, df, min(1.0, ways * float(chdtrc(df, statistic)))


def _winner(statistic: float | None, df: int | None, p_value: float | None, n: int) -> Winner:
    if statistic is None or df is None or p_value is None:
        return "undecided"
    if p_value < SIGNIFICANCE:
        return "dependent"
    return "iid" if df * np.log(n) - statistic >= _BIC_MARGIN else "undecided"


def _conditional_variance(cells: Ints, fired: Flags) -> float:
    """Mean of h(1-h) over the presses, without the bias of estimating h.

    x(n-x) / (n(n-1)) in each cell; where x is 0 or n that would claim certainty, so no less than the posterior mean
    under the prior Beta(1/2, 1/2).
    """
    n, x = _tally(cells, fired)
    plain = x * (n - x) / np.maximum(n * (n - 1), 1)
    posterior = (x + 0.5) * (n - x + 0.5) / ((n + 1) * (n + 2))
    return float(np.sum(n * np.maximum(plain, posterior)) / n.sum())
