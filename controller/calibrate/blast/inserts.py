# SPDX-License-Identifier: Apache-2.0
"""Inserts as arrays, and the names of the rules that exclude some of them: all that the statistics know of a run.

A person-period table: one row per insert that the toy took, a round being the person. A round's rows end with the insert
that made the toy release, or where nobody knows how it went on; it is then censored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LOST = ("spoiled", "aborted", "fault", "late_card")
"""Rules whose inserts may or may not have made the toy release."""

RULES = ("spoiled", "rejected", "aborted", "fault", "late_card", "after_unsure", "unseen_card")
"""Every rule, in order: an insert is listed under the first that applies.

`late_card`: a card flew after the trial was over. `after_unsure`: of this round nobody knows whether the toy has released before.
`unseen_card`: a card lies in a slot that the toy did not notice, so that place in the round and number of cards disagree."""


@dataclass(frozen=True, slots=True)
class Inserts:
    """Inserts of one or several runs in order; every array has shape (n,), one entry per insert attempted.

    rule: name of the rule that excluded the insert, or empty. number: of the trial within its run. run: number of the run,
    from 0. round: number of the round over all runs, from 0. k: place among the inserts that the toy took in the round, from
    1; 0 when not taken. slot: from 1. loaded, cleared: cards in the slots, cards that flew. fired: the toy released its latch.
    """

    rule: npt.NDArray[np.str_]
    verdict: npt.NDArray[np.str_]
    number: Ints
    run: Ints
    round: Ints
    k: Ints
    slot: Ints
    loaded: Ints
    cleared: Ints
    fired: Flags

    @property
    def at_risk(self) -> Flags:
        """Inserts that tell whether the toy releases at the k-th."""
        at_risk: Flags = self.rule == ""
        return at_risk

    @property
    def known(self) -> Flags:
        """Inserts that the toy took with a known number of cards in its slots: they tell what a release does."""
        return np.isin(self.rule, ("", "unseen_card"))

    def excluded(self) -> dict[str, int]:
        """Number of inserts excluded by each rule; rules that excluded none are listed with 0."""
        return {name: int(np.count_nonzero(self.rule == name)) for name in RULES}
