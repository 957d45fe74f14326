# SPDX-License-Identifier: Apache-2.0
"""How a blaster decides whether an inserted card triggers it.

Nobody knows the real toy's rule. Its rulebook says only that nobody knows which slot triggers it (`docs/facts.md`, B5),
so there are three rules that can be told apart. A rule owns no randomness: whoever asks brings the uniforms, on [0, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

P_BLAST = 0.4
"""`constant`: a blast at every second or third card, about as with one hidden slot among four [UNV]."""

CREEPING = (0.08, 0.20, 0.50, 0.90)
"""`creeping`: hazards at the 1st, 2nd, 3rd, 4th card, chosen to be like neither of the other rules [UNV]."""

NAMES = ("hidden_slot", "constant", "creeping")


@dataclass(frozen=True, slots=True)
class Round:
    """What the toy remembers. inserts: cards that it took since it began anew. tried: their slots. trigger: the hidden slot."""

    inserts: int = 0
    tried: frozenset[int] = frozenset()
    trigger: int = 1

    def after(self, slot: int) -> Round:
        """One card more, in `slot`, that did not trigger."""
        return replace(self, inserts=self.inserts + 1, tried=self.tried | {slot})


class Draw(NamedTuple):
    """Whether a card triggers, and the probability of that as it was before anything was drawn."""

    p_fire: float
    fired: bool


Rule = Callable[[Round, int, float], Draw]
"""Decides on the next card: what is remembered, the card's slot (from 1), a uniform."""


def begin(slots: int, u_trigger: float) -> Round:
    """A new round of a toy with `slots` slots."""
    return Round(trigger=1 + min(int(u_trigger * slots), slots - 1))


def hidden_slot(slots: int) -> Rule:
    """One slot triggers, each with the same probability. Of those not tried yet it is each with the same probability still."""

    def rule(known: Round, slot: int, u_fire: float) -> Draw:
        p_fire = 0.0 if slot in known.tried else 1.0 / (slots - len(known.tried))
        return Draw(p_fire, slot == known.trigger)

    return rule


def constant(p_blast: float = P_BLAST) -> Rule:
    """Every card triggers with the same probability, the last one that finds room, too."""
    return lambda known, slot, u_fire: Draw(p_blast, u_fire < p_blast)


def creeping(hazards: Sequence[float] = CREEPING) -> Rule:
    """The probability depends on how many cards the round has seen; after the last entry it stays there."""
    table = tuple(hazards)
    last = len(table) - 1

    def rule(known: Round, slot: int, u_fire: float) -> Draw:
        p_fire = table[min(known.inserts, last)]
        return Draw(p_fire, u_fire < p_fire)

    return rule
