# SPDX-License-Identifier: Apache-2.0
"""Which slots of the blaster hold a card, and which have one waiting: bookkeeping, since no sensor looks into a slot.

The firmware keeps the same books of the slots by the same rules (`src/core/slots.h`), so a difference between the two
shows as a verdict that differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rig.errors import RefusedRequestError
from rig.trial import TrialRecord

MOST_SLOTS = 6
"""Solenoid outputs that the firmware has."""


def bit(slot: int) -> int:
    """The bit of `slot`, which counts from 1."""
    return 1 << (slot - 1)


@dataclass(frozen=True, slots=True)
class Slots:
    """The books. occupied, waiting: bit n is slot n + 1, a card in the slot, a card in its loader. cards: in the slots.

    After fewer cards flew than were loaded nobody knows which slots are empty: `occupied` keeps them all, `cards` is right.
    """

    occupied: int = 0
    cards: int = 0
    waiting: int = 0

    @staticmethod
    def filled(cards: int) -> Slots:
        """After a person emptied slots and loader and put a card before each of the first `cards` slots."""
        return Slots(waiting=(1 << cards) - 1)

    def ready(self, slots: int) -> list[int]:
        """Slots out of `slots` that can be inserted into: free, with a card waiting."""
        return [slot for slot in range(1, slots + 1) if self.waiting & ~self.occupied & bit(slot)]

    def check(self, slot: int, slots: int) -> None:
        """Raise `RefusedRequestError` when no card can be put into `slot` of a bench with `slots` slots."""
        check_wired(slot, slots)
        if self.occupied & bit(slot):
            raise RefusedRequestError(
                f"slot {slot} holds a card, by the bookkeeping (no sensor looks): reset the toy or insert into another slot"
            )
        if not self.waiting & bit(slot):
            raise RefusedRequestError(f"slot {slot}: no card waits in its loader; have the loader filled first")

    def inserted(self, slot: int) -> Slots:
        """After the solenoid of `slot` has pushed."""
        return Slots(self.occupied | bit(slot), self.cards + 1, self.waiting & ~bit(slot))

    def after(self, record: TrialRecord) -> Slots:
        """After the trial `record`, whose insertion is booked already: what flew is out of the slots."""
        if record.roller_ms and record.verdict in ("blast", "ok"):
            return replace(self, occupied=0, cards=0)
        return replace(self, cards=max(0, self.cards - record.cleared))

    def cleared(self, cards: int) -> Slots:
        """After a person pulled `cards` out of the mouth."""
        return replace(self, cards=max(0, self.cards - cards))


EMPTY = Slots()
"""Nothing in the slots, nothing waiting."""


def check_wired(slot: int, slots: int) -> None:
    """Raise `RefusedRequestError` when a bench with `slots` slots has no `slot`."""
    if not 1 <= slot <= slots:
        raise RefusedRequestError(f"slot {slot}: this bench has slots 1 to {slots} (setting slots; launchrig bench sets it)")
