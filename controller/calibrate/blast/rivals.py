# SPDX-License-Identifier: Apache-2.0
"""Three rival explanations of when the blaster releases, and how much the data prefer one to the next.

`constant`: every insert releases with the same probability. `hidden_slot`: one slot of N is the trigger, drawn anew in
every round, so the k-th insert releases with probability 1/(N-k+1). `free`: a probability of its own for every k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, xlog1py, xlogy

from controller.calibrate.intervals import beta_interval

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FOLDS = 10
"""Parts into which the rounds are dealt for the log score; round i goes to part i modulo 10."""

LEAST_ROUNDS = 100
"""Rounds below which no rival is called the winner; see the table in `docs/statistics.md#which-rival`."""

LEAST_FACTOR = 3.0
GRADES = ((150.0, "very strong"), (20.0, "strong"), (LEAST_FACTOR, "positive"))
"""Words for a Bayes factor of at least so much: Kass and Raftery, J. Am. Stat. Assoc. 90 (1995) 773, section 3.2."""

TELLS_NOTHING = "the data cannot tell"


@dataclass(frozen=True, slots=True)
class Point:
    """The probability of a release at one insert under one rival, with its 95 % posterior interval; p None is not known."""

    p: float | None
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Rival:
    """How well one rival explains the inserts; natural logarithms; None stands for minus infinity, i.e. impossible.

    parameters: estimated. log_likelihood: at its maximum. log_marginal: under uniform priors, which is also the sum of
    the log scores of predicting each insert from those before. log_score: of predicting the held-out rounds of each fold
    from the others, summed.
    """

    name: str
    parameters: int
    log_likelihood: float | None
    aic: float | None
    bic: float | None
    log_marginal: float | None
    log_score: float | None


@dataclass(frozen=True, slots=True)
class Rivals:
    """The comparison. best, runner_up: by marginal likelihood; log_bayes_factor: of the first against the second,
    None when the second is impossible.
    winner: the best one, or None with a `reason`; evidence: the word for the Bayes factor, empty without a winner.
    """

    winner: str | None
    reason: str
    evidence: str
    best: str
    runner_up: str
    log_bayes_factor: float | None
    folds: int
    rivals: tuple[Rival, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes up a rival: which inserts share a probability, or the probabilities themselves.

    groups: from slots to the number of the group of each k, shape (slots,). exact: from slots to probabilities.
    least_slots: with fewer the rival is one of the others again.
    """

    groups: Callable[[int], Counts]
    exact: Callable[[int], Floats] | None = None
    least_slots: int = 1


RIVALS: Mapping[str, Rule] = {
    "constant": Rule(lambda slots: np.zeros(slots, dtype=np.int64)),
    "hidden_slot": Rule(lambda slots: np.arange(slots), lambda slots: 1 / np.arange(slots, 0, -1)),
    "free": Rule(lambda slots: np.arange(slots), least_slots=2),
}


def points(name: str, at_risk: Counts, fired: Counts) -> tuple[Point, ...]:
    """Probability of a release at each k under a rival, its parameters having uniform priors; arrays of shape (slots,).

    Posterior mean and equal-tailed interval; exact for `hidden_slot`. Not known where no insert tells anything of it.
    """
    rule = RIVALS[name]
    if rule.exact:
        return tuple(Point(p, p, p) for p in rule.exact(at_risk.size).tolist())
    n, x = _grouped(rule, at_risk, fired)
    by_group = [_posterior(int(n_), int(x_)) for n_, x_ in zip(n, x, strict=True)]
    return tuple(by_group[group] for group in rule.groups(at_risk.size).tolist())


def _posterior(n: int, x: int) -> Point:
    return Point((x + 1) / (n + 2), *beta_interval(x + 1, n - x + 1)) if n else Point(None, 0.0, 1.0)


def compare(at_risk: Counts, fired: Counts, rounds: int) -> Rivals:
    """Compare the rivals.

    at_risk, fired: inserts made and releases by fold and k, shape (FOLDS, slots). rounds: that these come from.
    """
    rivals = [_rival(name, at_risk, fired) for name, rule in RIVALS.items() if at_risk.shape[1] >= rule.least_slots]
    ranked = sorted(rivals, key=_log_marginal, reverse=True)
    log_factor = _log_marginal(ranked[0]) - _log_marginal(ranked[1])
    evidence = next((word for least, word in GRADES if log_factor >= np.log(least)), "")
    reason = ""
    if rounds < LEAST_ROUNDS:
        reason = f"{TELLS_NOTHING}: {rounds} rounds, at least {LEAST_ROUNDS} are needed"
    elif not evidence:
        reason = f"{TELLS_NOTHING}: {ranked[0].name} is not {LEAST_FACTOR:g} times as likely as {ranked[1].name}"
    return Rivals(
        winner=None if reason else ranked[0].name,
        reason=reason,
        evidence="" if reason else evidence,
        best=ranked[0].name,
        runner_up=ranked[1].name,
        log_bayes_factor=log_factor if np.isfinite(log_factor) else None,
        folds=FOLDS,
        rivals=tuple(rivals),
    )


def _rival(name: str, at_risk: Counts, fired: Counts) -> Rival:
    rule = RIVALS[name]
    n, x = at_risk.sum(axis=0), fired.sum(axis=0)
    seen = int(n.sum())
    if rule.exact:
        exact = _log_likelihood(n, x, rule.exact(n.size))
        if exact == -np.inf:
            return Rival(name, 0, None, None, None, None, None)
        return Rival(name, 0, exact, -2 * exact, -2 * exact, exact, exact)
    N, X = _grouped(rule, n, x)
    parameters = int(np.count_nonzero(N))
    likelihood = _log_likelihood(N, X, X / np.maximum(N, 1))
    score = 0.0
    for n_fold, x_fold in zip(at_risk, fired, strict=True):
        n_out, x_out = _grouped(rule, n_fold, x_fold)
        score += _log_likelihood(n_out, x_out, (X - x_out + 1) / (N - n_out + 2))
    return Rival(
        name,
        parameters,
        likelihood,
        2 * parameters - 2 * likelihood,
        float(parameters * np.log(max(seen, 1)) - 2 * likelihood),
        float(np.sum(betaln(X + 1, N - X + 1))),
        score,
    )


def _log_marginal(rival: Rival) -> float:
    return -np.inf if rival.log_marginal is None else rival.log_marginal


def _grouped(rule: Rule, n: Counts, x: Counts) -> tuple[Counts, Counts]:
    groups = rule.groups(n.size)
    return np.bincount(groups, weights=n).astype(np.int64), np.bincount(groups, weights=x).astype(np.int64)


def _log_likelihood(n: Counts, x: Counts, p: Floats) -> float:
    """Of x releases in n inserts at known places, so without a binomial coefficient."""
    return float(np.sum(xlogy(x, p) + xlog1py(n - x, -p)))
