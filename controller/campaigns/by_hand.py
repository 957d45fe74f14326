# SPDX-License-Identifier: Apache-2.0
"""Inserts and resets that a person asks for one by one: nothing is added to them, and nothing comes after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from controller.campaigns.blast import Rounds, fill_loader, tell_late_card
from controller.campaigns.orders import SequentialOrder
from controller.campaigns.shared import CampaignRun, Steps
from controller.campaigns.words import WORDS, Words
from controller.store.records import Trial
from rig.requests import InsertRequest, Request, ResetRequest
from rig.trial import TrialRecord
from rig.wire.messages import Launcher


@dataclass(frozen=True, slots=True)
class HandCampaign:
    """`trials` inserts, or resets when there is no `fill`, one every `pace_s` seconds.

    slots: into which the inserts go, one after the other; empty for the next one that is ready. until_blast: end as soon as the
    toy does anything but hold.
    """

    trials: int
    pace_s: float
    fill: int
    slots: tuple[int, ...] = ()
    until_blast: bool = False

    @property
    def words(self) -> Words:
        """How the console calls its trials."""
        return WORDS[Launcher.blast]

    def described(self) -> dict[str, Any]:
        """The campaign as the store keeps it; `slots` is the name of the board's setting."""
        mine = asdict(self)
        return {"drive": "button", "insert_slots": list(mine.pop("slots"))} | mine

    def steps(self, frame: CampaignRun) -> Steps:
        """One trial after the other."""
        return InsertsByHand(self, frame) if self.fill else ResetsByHand(frame)


class _ByHand:
    """One game event, one trial after the other at its pace."""

    over = False

    def __init__(self, frame: CampaignRun) -> None:
        self._frame = frame
        self._rounds = Rounds(frame)
        self._made = 0

    def moment(self) -> int:
        """As the grid says."""
        return self._frame.due_tick

    def place(self, record: TrialRecord) -> Mapping[str, int | None]:
        """Its round, and the number of the insert in it."""
        return self._rounds.place(record)

    def went(self, trial: Trial) -> None:
        """On to the next one."""
        self._made += 1
        self._frame.keep_pace(trial)

    def gap(self) -> None:
        """Nobody saw what became of the round."""
        self._rounds.end("gap")

    def late_card(self, trial: Trial) -> None:
        """The toy let go when nobody looked any more."""
        if self._rounds.is_open:
            tell_late_card(self._frame, trial)
            self._rounds.end("late_card", trial)

    def end(self, why: str) -> None:
        """The last round is over."""
        self._rounds.end(why)


class InsertsByHand(_ByHand):
    """Inserts into a loader that is filled once."""

    def __init__(self, campaign: HandCampaign, frame: CampaignRun) -> None:
        super().__init__(frame)
        self._campaign = campaign
        self._order = SequentialOrder()

    def make_ready(self) -> None:
        """Have the loader filled before the first."""
        if self._frame.account is None:
            fill_loader(self._frame, self._campaign.fill, 1)
        if not self._rounds.is_open:
            self._rounds.begin()

    def request(self, number: int, tick: int) -> Request:
        """The next insert, be it possible or not: the rig refuses what is not."""
        books = self._frame.driver.books
        slots = self._campaign.slots
        slot = slots[self._made] if slots else self._order.pick(books.ready(self._campaign.fill)) or 1
        return InsertRequest(number=number, burst=1, index=self._made, tick=tick, hopper=books.waiting.bit_count(), slot=slot)

    def late_card(self, trial: Trial) -> None:
        """It did let go, if late."""
        super().late_card(trial)
        self.over = self._campaign.until_blast

    def look_after(self, trial: Trial) -> None:
        """A round ends with whatever is no normal zero."""
        if trial.verdict != "held":
            self._rounds.end(trial.verdict, trial)
            self.over = self._campaign.until_blast


class ResetsByHand(_ByHand):
    """Resets of a toy as it is."""

    def make_ready(self) -> None:
        """Nothing is put in, and nothing taken out."""
        if self._frame.account is None:
            self._frame.open_fill(0)
            self._rounds.begin()

    def request(self, number: int, tick: int) -> Request:
        """The next reset."""
        return ResetRequest(number=number, burst=0, index=0, tick=tick, hopper=0)

    def look_after(self, trial: Trial) -> None:
        """Nothing comes after it."""
