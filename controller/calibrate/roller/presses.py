# SPDX-License-Identifier: Apache-2.0
"""Presses as arrays, and the names of the rules that exclude some of them: all that the statistics know of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNKNOWN = 0
"""In a count of presses since an event: it is not known when the event was."""

UNUSABLE = ("spoiled", "rejected", "aborted", "fault")
"""Rules that exclude a press from everything: what the launcher did in it is not known, or it did not take the
press."""

UNCOUNTED = ("hopper_found_empty", "slip", "jam", "empty", "low_hopper")
"""Rules that exclude a fire from the distribution of cards dealt; it still counts as a fire."""

RULES = UNUSABLE + UNCOUNTED
"""Every rule, in order: a press is listed under the first that applies."""


@dataclass(frozen=True, slots=True)
class Presses:
    """Presses of one or several runs in order; every array has shape (n,), one entry per press attempted.

    rule: name of the rule that excluded the press, or empty. cluster: number of its fill over all runs, from 0.
    fired, sticking: whether. dealt, hopper: cards, hopper as the ledger had it before the press.
    since_fire, since_power_on, since_lid_close: presses since that event, 1 = first; since_fire may be `UNKNOWN`.
    since_unsure: presses since the last one of which nobody knows whether it fired; very large when there was none.
    """

    rule: npt.NDArray[np.str_]
    verdict: npt.NDArray[np.str_]
    cluster: Ints
    fired: Flags
    sticking: Flags
    dealt: Ints
    hopper: Ints
    since_fire: Ints
    since_power_on: Ints
    since_lid_close: Ints
    since_unsure: Ints

    @property
    def usable(self) -> Flags:
        """Presses that tell whether the launcher fires."""
        return np.isin(self.rule, UNUSABLE, invert=True)

    @property
    def counted(self) -> Flags:
        """Fires that tell how many cards a fire deals."""
        counted: Flags = (self.rule == "") & (self.verdict == "ok")
        return counted

    @property
    def largest(self) -> int:
        """Most cards that any usable press was seen to deal, 0 when none was."""
        return int(self.dealt[self.usable & (self.verdict == "ok")].max(initial=0))

    def excluded(self) -> dict[str, int]:
        """Number of presses excluded by each rule; rules that excluded none are listed with 0."""
        return {name: int(np.count_nonzero(self.rule == name)) for name in RULES}
