# SPDX-License-Identifier: Apache-2.0
"""How many cards come, given that the launcher fired.

A plain categorical distribution with a Dirichlet posterior: no shape is assumed, and what is not known stays visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.calibrate.intervals import beta_interval

PRIOR = 0.5
"""Cards' worth of prior per count (Jeffreys' rule for a categorical distribution)."""

WEIGHT_TOTAL = 2**32


@dataclass(frozen=True, slots=True)
class Count:
    """Distribution of cards dealt given a fire; every tuple has one entry per count in `support` (1 to K).

    alpha: of the Dirichlet posterior. p: its mean. ci_low, ci_high: 95 %, equal-tailed, of each marginal.
    weights: integers in proportion to p that sum to 2^32 exactly. n: fires counted. prior: added to each count.
    """

    support: tuple[int, ...]
    alpha: tuple[float, ...]
    p: tuple[float, ...]
    ci_low: tuple[float, ...]
    ci_high: tuple[float, ...]
    weights: tuple[int, ...]
    n: int
    prior: float


def fit_count(dealt: npt.NDArray[np.int64], largest: int) -> Count | None:
    """Fit the distribution of `dealt` (shape (n,), all at least 1); None when n is 0.

    largest: the largest count ever seen, counted here or not; that is K. Every count up to K gets the prior, seen or
    not: one never seen in n fires keeps the probability 0.5 / (n + K/2), which the user can see in alpha. The price is
    a pull of the frequent counts towards 1/K, by (K/2) / (n + K/2) of the way: a prior on counts that nobody saw here,
    though others have (12 in `docs/facts.md#published-claims`), would pull harder and cost coverage.
    """
    n = int(dealt.size)
    if not n:
        return None
    top = max(largest, int(dealt.max()), 2)  # one count alone would be certain by construction
    seen = np.bincount(dealt, minlength=top + 1)[1:]
    alpha = seen + PRIOR
    total = float(alpha.sum())
    bounds = [beta_interval(a, total - a) for a in alpha.tolist()]
    return Count(
        support=tuple(range(1, top + 1)),
        alpha=tuple(alpha.tolist()),
        p=tuple((alpha / total).tolist()),
        ci_low=tuple(low for low, _ in bounds),
        ci_high=tuple(high for _, high in bounds),
        weights=largest_remainder([round(2 * a) for a in alpha.tolist()], WEIGHT_TOTAL),  # alpha comes in halves
        n=n,
        prior=PRIOR,
    )


def largest_remainder(shares: Sequence[int], total: int) -> tuple[int, ...]:
    """Split `total` in proportion to whole, non-negative `shares` so that the parts are whole and sum to it exactly.

    Each gets its quota rounded down; what is left goes, one each, to the largest remainders, the earlier first among
    equals.
    """
    whole = sum(shares)
    parts = [share * total // whole for share in shares]
    remainders = [share * total % whole for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda i: (-remainders[i], i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return tuple(parts)
