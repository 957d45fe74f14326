# SPDX-License-Identifier: Apache-2.0
"""Whether presses may be treated as independent: to be looked at before any binomial claim.

Three plain measures of order and clustering, all of arrays; what follows from them is decided in `fire`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RunsTest:
    """Number of runs of equal outcomes, its mean and deviation if the order is random, z and the two-sided p-value."""

    runs: int
    mean: float
    sd: float
    z: float
    p_value: float


def runs_test(outcomes: Flags) -> RunsTest | None:
    """Wald-Wolfowitz runs test of outcomes in order, shape (n,); None when all are equal or fewer than 3.

    z is without continuity correction, as in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.13. Below 0 the
    outcomes stick together, above 0 they alternate.
    """
    n = outcomes.size
    ones = int(outcomes.sum())
    zeros = n - ones
    if n < 3 or not ones or not zeros:
        return None
    runs = 1 + int(np.count_nonzero(outcomes[1:] != outcomes[:-1]))
    mean = 2 * ones * zeros / n + 1
    sd = math.sqrt((mean - 1) * (mean - 2) / (n - 1))
    z = (runs - mean) / sd
    return RunsTest(runs, mean, sd, z, 2 * float(ndtr(-abs(z))))


def lag1_autocorrelation(outcomes: Flags) -> float | None:
    """Correlation of each outcome with the next, shape (n,); None when all are equal or fewer than 3.

    The usual estimator, with the overall mean and the full sum of squares below the line.
    """
    if outcomes.size < 3 or outcomes.all() or not outcomes.any():
        return None
    centred = outcomes - outcomes.mean()
    return float(centred[1:] @ centred[:-1] / (centred @ centred))


def design_effect(outcomes: Flags, clusters: npt.NDArray[np.int64]) -> float | None:
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
