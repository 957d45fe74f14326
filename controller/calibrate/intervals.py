# SPDX-License-Identifier: Apache-2.0
"""Intervals for a proportion, in the forms that a contract and a display need.

The quantiles are scipy's; what is kept here is the behaviour at the ends, where packages differ or round off the scale.
`scipy.special` rather than `scipy.stats`: the latter takes a second to import, which every command would pay.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import betaincinv, ndtri

Alternative = Literal["two-sided", "less", "greater"]


def clopper_pearson(
    events: float, n: float, *, confidence: float = 0.95, alternative: Alternative = "two-sided"
) -> tuple[float, float]:
    """Exact interval for a proportion: covers at least `confidence`, whatever the truth.

    events of n; either may be fractional, as an effective sample size is. ``less`` bounds the proportion from above
    only, ``greater`` from below only. n = 0 gives (0, 1). Method: Clopper and Pearson, Biometrika 26 (1934) 404, as
    quantiles of Beta; closed forms at 0 and n, where quantiles lose digits.
    """
    if n <= 0:
        return 0.0, 1.0
    tail = (1 - confidence) / (2 if alternative == "two-sided" else 1)
    low, high = 0.0, 1.0
    if events > 0 and alternative != "less":
        low = tail ** (1 / n) if events >= n else float(betaincinv(events, n - events + 1, tail))
    if events < n and alternative != "greater":
        high = 1 - tail ** (1 / n) if events <= 0 else float(betaincinv(events + 1, n - events, 1 - tail))
    return low, high


def wilson(events: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Score interval for display: near `confidence` on average, shorter than Clopper-Pearson. n = 0 gives (0, 1).

    Method: Wilson, J. Am. Stat. Assoc. 22 (1927) 209, without continuity correction; clipped, since it rounds off [0,
    1].
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    p = events / n
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n) / (1 + z2 / n)
    return (0.0 if events == 0 else max(0.0, centre - half)), (1.0 if events == n else min(1.0, centre + half))


def jeffreys(events: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Equal-tailed interval of the posterior under the prior Beta(1/2, 1/2). n = 0 gives the prior's own.

    Method: Brown, Cai and DasGupta, Statistical Science 16 (2001) 101, without their change of the ends.
    """
    return beta_interval(events + 0.5, n - events + 0.5, confidence=confidence)


def beta_interval(a: float, b: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Equal-tailed interval of Beta(a, b)."""
    tail = (1 - confidence) / 2
    return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))
