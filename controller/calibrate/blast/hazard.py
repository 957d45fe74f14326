# SPDX-License-Identifier: Apache-2.0
"""At which insert of a round the toy releases, by the data alone: hazard by insert and by slot, and the survival curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, chdtrc

from controller.calibrate.blast.inserts import Inserts
from controller.calibrate.share import Share, share

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SLOT_TEST = "generalised Cochran-Mantel-Haenszel test of release against slot, within inserts of the same number"


@dataclass(frozen=True, slots=True)
class SlotTest:
    """Whether some slots release more often than others; all None when no two slots can be compared."""

    statistic: float | None
    df: int | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Survival:
    """Probability that a round is still without a release after `insert` inserts, with a 95 % interval."""

    insert: int
    p: float | None
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Hazard:
    """Rounds and releases that were at risk, and what they show; tuples have one entry per insert or slot, from 1.

    rounds: with at least one usable insert. released: rounds that ended so; the others are censored.
    """

    n: int
    rounds: int
    released: int
    by_insert: tuple[Share, ...]
    by_slot: tuple[Share, ...]
    slot_test: SlotTest
    survival: tuple[Survival, ...]


def fit_hazard(inserts: Inserts, slots: int) -> Hazard:
    """Hazards of the inserts at risk in a toy with so many slots.

    Their intervals are Clopper-Pearson's: given the history the inserts are independent draws, so each row is binomial
    apart from its random n, and the interval covers at least 95 %.
    """
    use = inserts.at_risk
    k, slot, fired = inserts.k[use], inserts.slot[use], inserts.fired[use]
    by_insert = _shares(k, fired, slots)
    return Hazard(
        n=int(fired.size),
        rounds=int(np.unique(inserts.round[use]).size),
        released=int(fired.sum()),
        by_insert=by_insert,
        by_slot=_shares(slot, fired, slots),
        slot_test=slot_test(k, slot, fired),
        survival=survival([row.n for row in by_insert], [row.events for row in by_insert]),
    )


def _shares(place: Ints, fired: Flags, slots: int) -> tuple[Share, ...]:
    n = np.bincount(place, minlength=slots + 1)
    x = np.bincount(place[fired], minlength=slots + 1)
    return tuple(share(int(x[i]), int(n[i])) for i in range(1, slots + 1))


def slot_test(k: Ints, slot: Ints, fired: Flags) -> SlotTest:
    """Do some slots release more often than others, the place in the round being equal? Arrays of shape (n,).

    Within inserts of the same number k the releases are dealt to slots at random if slots are alike: observed minus
    expected releases per slot, summed over k, against their multivariate hypergeometric covariance. It is the score test
    of the slot in a logistic model with one level per k, and keeps its size in sparse tables, where a likelihood ratio
    does not. Method: Landis, Heyman and Koch, International Statistical Review 46 (1978) 237, general association.
    """
    levels, slot = np.unique(slot, return_inverse=True)
    excess = np.zeros(levels.size)
    covariance = np.zeros((levels.size, levels.size))
    for place in np.unique(k):
        here = k == place
        n, x = int(here.sum()), int(fired[here].sum())
        if n < 2:
            continue
        at_slot = np.bincount(slot[here], minlength=levels.size) / n
        excess += np.bincount(slot[here & fired], minlength=levels.size) - x * at_slot
        covariance += x * (n - x) / (n - 1) * (np.diag(at_slot) - np.outer(at_slot, at_slot))
    df = int(np.linalg.matrix_rank(covariance, tol=1e-9, hermitian=True)) if levels.size else 0
    if not df:
        return SlotTest(None, None, None)
    statistic = max(0.0, float(excess @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ excess))
    return SlotTest(statistic, df, float(chdtrc(df, statistic)))


def survival(at_risk: Sequence[int], fired: Sequence[int]) -> tuple[Survival, ...]:
    """Product-limit estimate (Kaplan and Meier, J. Am. Stat. Assoc. 53 (1958) 457) with its interval at each insert.

    at_risk, fired: rounds that had an insert k, and of these the releases, k from 1; a round censored after its insert k
    was at risk there. Where no round got that far the estimate is None. Interval: the beta product confidence procedure
    of Fay, Brittain and Proschan, Biostatistics 14 (2013) 723, products of Beta variables matched by their first two
    moments. Without censoring it is Clopper-Pearson's, and it does not break down at 0 and 1 as Greenwood's does.
    """
    rows = []
    estimate, mean, square = 1.0, 1.0, 1.0
    high = 1.0
    for insert, (n, x) in enumerate(zip(at_risk, fired, strict=True), start=1):
        if n == 0:
            rows.append(Survival(insert, None, 0.0, high))
            continue
        estimate *= 1 - x / n
        mean, square = _times_beta(mean, square, n - x + 1, x)
        high = _quantile(mean, square, 0.975)
        low = _quantile(*_times_beta(mean, square, n - x, 1), 0.025)
        rows.append(Survival(insert, estimate, low, high))
    return tuple(rows)


def _times_beta(mean: float, square: float, a: float, b: float) -> tuple[float, float]:
    """Mean and mean square of a product with an independent Beta(a, b); b = 0 is the constant 1, a = 0 the constant 0."""
    total = a + b
    return mean * a / total, square * a * (a + 1) / (total * (total + 1))


def _quantile(mean: float, square: float, q: float) -> float:
    """Quantile of the Beta variable with this mean and mean square."""
    variance = square - mean**2
    if mean <= 0 or variance <= 0:
        return mean
    size = (mean - square) / variance
    return float(betaincinv(mean * size, (1 - mean) * size, q))
