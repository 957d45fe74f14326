# SPDX-License-Identifier: Apache-2.0
"""Whether trials may be treated as independent: to be looked at before any binomial claim.

Plain measures of order and clustering, all of arrays; what follows from them is decided in `roller.fire` and
`blast.dependence`.

A series may be made of several stretches, such as runs, that say nothing of each other: `stretch`, shape (n,), numbers
them, those of one stretch being neighbours. Nothing is then compared across a border, and each measure is conditional on the values
of each stretch. A stretch of fewer than 3 values, or of equal ones, tells nothing of order and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import kolmogorov, ndtr

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
AnyArray = npt.NDArray[Any]
Values = Flags | Floats

PERMUTATIONS = 999
EXCEEDANCES = 50
"""Permutations at most; and fewer once so many have reached the observed statistic, since the p-value is not small then."""

_SEED = 0x726F756E
_BATCH = 1 << 16
"""Values that are permuted at a time: long series need no more memory than short ones, and it stays in the cache."""


@dataclass(frozen=True, slots=True)
class RunsTest:
    """Number of runs of equal outcomes, its mean and deviation if the order is random, z and the two-sided p-value."""

    runs: int
    mean: float
    sd: float
    z: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Lag1Test:
    """Lag-1 autocorrelation r, and the two-sided p-value over permutations."""

    r: float
    p_value: float


@dataclass(frozen=True, slots=True)
class DriftTest:
    """Largest distance of the cumulative sum from 0, as a multiple of its standard deviation, and the p-value."""

    distance: float
    p_value: float


def _telling(values: Values, stretch: Ints | None) -> list[AnyArray]:
    """The stretches that tell something of order."""
    borders: Ints | list[int] = [] if stretch is None else np.flatnonzero(np.diff(stretch)) + 1
    parts: list[AnyArray] = np.split(values, borders)
    return [part for part in parts if part.size >= 3 and (part != part[0]).any()]


def runs_test(outcomes: Flags, stretch: Ints | None = None) -> RunsTest | None:
    """Wald-Wolfowitz runs test of outcomes in order, shape (n,); None when no stretch tells anything.

    z is without continuity correction, as in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.13. Below 0 the
    outcomes stick together, above 0 they alternate. Of several stretches runs, means and variances are summed.
    """
    parts = _telling(outcomes, stretch)
    if not parts:
        return None
    runs = sum(1 + int(np.count_nonzero(part[1:] != part[:-1])) for part in parts)
    ones = [int(part.sum()) for part in parts]
    means = [2 * one * (part.size - one) / part.size + 1 for one, part in zip(ones, parts, strict=True)]
    sd = math.sqrt(sum((mean - 1) * (mean - 2) / (part.size - 1) for mean, part in zip(means, parts, strict=True)))
    z = (runs - sum(means)) / sd
    return RunsTest(runs, sum(means), sd, z, 2 * float(ndtr(-abs(z))))


def lag1_autocorrelation(values: Values, stretch: Ints | None = None) -> float | None:
    """Correlation of each value with the next, shape (n,); None when no stretch tells anything.

    The usual estimator, with the overall mean and the full sum of squares below the line; of several stretches each has
    its own mean, and both sums are over all.
    """
    centred = _centred(values, stretch)
    if not centred:
        return None
    return float(sum(part[1:] @ part[:-1] for part in centred) / sum(part @ part for part in centred))


def _centred(values: Values, stretch: Ints | None) -> list[Floats]:
    return [part - part.mean() for part in _telling(values, stretch)]


def lag1_test(values: Floats, stretch: Ints) -> Lag1Test | None:
    """Permutation test of `lag1_autocorrelation`; None when no stretch tells anything."""
    r = lag1_autocorrelation(values, stretch)
    if r is None:
        return None
    _, code, n = np.unique(stretch, return_inverse=True, return_counts=True)
    centred = values - (np.bincount(code, weights=values) / n)[code]
    # Over all orders of n values about their mean, products of neighbours sum to -1/n of the sum of squares.
    expected = -float(np.sum(np.bincount(code, weights=centred**2) / n))
    within = (np.diff(stretch) == 0).astype(np.float64)
    return Lag1Test(r, permutation_p_value(centred, stretch, lambda rows: np.abs((rows[:, 1:] * rows[:, :-1]) @ within - expected)))


def permuted_runs_test(outcomes: Flags, stretch: Ints) -> RunsTest | None:
    """`runs_test` with the p-value over permutations, for outcomes of which one may be rare: the normal one is too small then."""
    found = runs_test(outcomes, stretch)
    if found is None:
        return None
    within = (np.diff(stretch) == 0).astype(np.float64)
    # Each run but a stretch's first begins with a change. Stretches that tell nothing have as many changes in every order.
    expected = found.mean - found.runs + float(np.diff(outcomes) @ within)
    p_value = permutation_p_value(outcomes, stretch, lambda rows: np.abs((rows[:, 1:] != rows[:, :-1]) @ within - expected))
    return replace(found, p_value=p_value)


def permutation_p_value(values: AnyArray, stretch: Ints, statistic: Callable[[AnyArray], Floats]) -> float:
    """Share of the orders of the values, each staying in its stretch, whose statistic is at least that of the order given.

    values, stretch: shape (n,). statistic: of each row of an array of shape (rows, n). Orders are drawn, the same in every
    call: 999, and fewer when the p-value is plainly not small: Besag and Clifford, Biometrika 78 (1991) 301, whose p-value is
    exact.
    """
    (observed,) = statistic(values[np.newaxis]).tolist()
    bounds = [0, *(np.flatnonzero(np.diff(stretch)) + 1).tolist(), values.size]
    random = np.random.Generator(np.random.SFC64(_SEED))
    rows = np.tile(values, (max(1, min(2 * EXCEEDANCES, _BATCH // values.size)), 1))
    made = reached = 0
    while made < PERMUTATIONS:
        for begin, end in pairwise(bounds):
            random.permuted(rows[:, begin:end], axis=1, out=rows[:, begin:end])
        # Statistics that are equal are so but for rounding.
        hits = np.flatnonzero(statistic(rows)[: PERMUTATIONS - made] >= observed - 1e-9 * abs(observed))
        if reached + hits.size >= EXCEEDANCES:
            return EXCEEDANCES / (made + int(hits[EXCEEDANCES - reached - 1]) + 1)
        made, reached = made + len(rows), reached + hits.size
    return (reached + 1) / (PERMUTATIONS + 1)


def drift_test(values: Floats, stretch: Ints | None = None) -> DriftTest | None:
    """Does the mean change on the way? values: shape (n,); None when no stretch tells anything.

    The cumulative sum about the mean of its stretch ends at 0, and of values in random order it is nearly a Brownian bridge, the
    largest distance of which from 0 has Kolmogorov's distribution: Ploberger and Kraemer, Econometrica 60 (1992) 271.
    The p-value errs on the safe side for small n. Of several stretches the largest distance counts, and its p-value times their
    number (Bonferroni).
    """
    centred = _centred(values, stretch)
    if not centred:
        return None
    distance = max(float(np.abs(np.cumsum(part)).max() / math.sqrt(part @ part)) for part in centred)
    return DriftTest(distance, min(1.0, len(centred) * float(kolmogorov(distance))))


def design_effect(outcomes: Flags, clusters: Ints) -> float | None:
    """How many times the variance of the mean outcome is what independent presses would give, fills being clusters.

    outcomes and clusters: shape (n,), clusters numbered from 0. None when all outcomes are equal or there are fewer
    than 2 clusters. Method: ratio estimator over clusters, Cochran, Sampling Techniques (1977), 9A.1, with factor
    C/(C-1).
    """
    sizes = np.bincount(clusters)
    occupied = sizes > 0
    count = int(np.count_nonzero(occupied))
    if count < 2 or outcomes.all() or not outcomes.any():
        return None
    mean = outcomes.mean()
    residuals = np.bincount(clusters, weights=outcomes - mean)[occupied]
    clustered = count / (count - 1) * float(residuals @ residuals) / outcomes.size**2
    return clustered / float(mean * (1 - mean) / outcomes.size)
