# SPDX-License-Identifier: Apache-2.0
"""How many cards come, given that the launcher fired."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from controller.calibrate.categorical import Categorical, categorical


def fit_count(dealt: npt.NDArray[np.int64], largest: int) -> Categorical | None:
    """Fit the distribution of `dealt` (shape (n,), all at least 1), over 1 to K; None when n is 0.

    largest: the largest count ever seen, counted here or not; that is K. Every count up to K gets the prior, seen or
    not: one never seen in n fires keeps the probability 0.5 / (n + K/2), which the user can see in alpha. The price is
    a pull of the frequent counts towards 1/K, by (K/2) / (n + K/2) of the way: a prior on counts that nobody saw here,
    though others have (12 in `docs/facts.md#published-claims`), would pull harder and cost coverage.
    """
    if not dealt.size:
        return None
    top = max(largest, int(dealt.max()), 2)  # one count alone would be certain by construction
    return categorical(np.bincount(dealt, minlength=top + 1)[1:], range(1, top + 1))
