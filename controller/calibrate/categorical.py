# SPDX-License-Identifier: Apache-2.0
"""A number of cards as a plain categorical distribution with a Dirichlet posterior: no shape is assumed, and what is not
known stays visible.
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
class Categorical:
    """Distribution of a number of cards; every tuple has one entry per count in `support`.

    alpha: of the Dirichlet posterior. p: its mean. ci_low, ci_high: 95 %, equal-tailed, of each marginal.
    weights: integers in proportion to p that sum to 2^32 exactly. n: observations. prior: added to each count.
    """

    support: tuple[int, ...]
    alpha: tuple[float, ...]
    p: tuple[float, ...]
    ci_low: tuple[float, ...]
    ci_high: tuple[float, ...]
    weights: tuple[int, ...]
    n: int
    prior: float


def categorical(seen: npt.NDArray[np.int64], support: range) -> Categorical:
    """Posterior under the prior Dirichlet(1/2, ..., 1/2) of counts seen so many times; shape (len(support),)."""
    alpha = seen + PRIOR
    total = float(alpha.sum())
    bounds = [beta_interval(a, total - a) for a in alpha.tolist()]
    return Categorical(
        support=tuple(support),
        alpha=tuple(alpha.tolist()),
        p=tuple((alpha / total).tolist()),
        ci_low=tuple(low for low, _ in bounds),
        ci_high=tuple(high for _, high in bounds),
        weights=largest_remainder([round(2 * a) for a in alpha.tolist()], WEIGHT_TOTAL),  # alpha comes in halves
        n=int(seen.sum()),
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
