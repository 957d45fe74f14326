# SPDX-License-Identifier: Apache-2.0
"""What a campaign keeps in its head between trials: where each one stands in the run, and where every card is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.store.records import Trial, place_trial
from rig.trial import TrialRecord
from rig.wire.messages import TICK_HZ


@dataclass(frozen=True, slots=True)
class History:
    """Presses, or inserts, that the toy took since each event that may restart its decision, and the tick of the trial before."""

    since_power_on: int = 0
    since_lid_close: int = 0
    since_fire: int | None = None
    last_tick: int | None = None

    def place(self, record: TrialRecord, fill: int, round: int | None = None, insert: int | None = None) -> tuple[Trial, History]:
        """`record` in its place in the run, and the history after it; `round` and `insert` are its place among a blaster's.

        What the toy did not take neither counts nor advances the counts, nor does a reset. After a reset that may have ejected
        nobody knows how long the toy would have held.
        """
        gap = None if record.tick is None or self.last_tick is None else (record.tick - self.last_tick) / TICK_HZ
        here = replace(
            self,
            since_power_on=self.since_power_on + 1,
            since_lid_close=self.since_lid_close + 1,
            since_fire=None if self.since_fire is None else self.since_fire + 1,
            last_tick=self.last_tick if record.tick is None else record.tick,
        )
        trial = place_trial(
            record,
            fill=fill,
            since_power_on=here.since_power_on,
            since_lid_close=here.since_lid_close,
            since_fire=here.since_fire,
            gap_s=gap,
            round=round,
            insert=insert,
        )
        if record.kind == "reset":
            return trial, replace(self, last_tick=here.last_tick, since_fire=None if _may_eject(record) else self.since_fire)
        if not record.accepted:
            return trial, replace(self, last_tick=here.last_tick)
        return trial, replace(here, since_fire=0) if trial.fired else here

    def power_on(self) -> History:
        """After the toy was switched on."""
        return replace(self, since_power_on=0)

    def gap(self) -> History:
        """After a while in which nobody watched: no interval spans it, and whether the toy fired in it is not known."""
        return replace(self, last_tick=None, since_fire=None)

    def lid_close(self) -> History:
        """After the lid was closed, or the loader filled."""
        return replace(self, since_lid_close=0)


def _may_eject(reset: TrialRecord) -> bool:
    """Whether a reset may have emptied the toy: all but one that it did not take, and one that only woke it."""
    return reset.tick is not None and reset.verdict not in ("held", "rejected")


@dataclass(slots=True)
class FillAccount:
    """The cards of one load of hopper or loader. `hopper` is what the account believes to be inside; it is never below 0."""

    number: int
    loaded: int
    dealt: int = 0
    mouth: int = 0
    jammed: int = 0

    @property
    def hopper(self) -> int:
        """Cards believed to be in the hopper; of a blaster in loader and slots together."""
        return max(0, self.loaded - self.dealt - self.jammed)

    def take(self, trial: Trial) -> None:
        """Book what a trial dealt."""
        self.dealt += trial.dealt

    def clear_mouth(self, cards: int, counted: int) -> None:
        """Book `cards` pulled out of the mouth by hand, of which the last trial counted `counted` as sticking."""
        self.mouth += cards
        self.jammed += max(0, cards - counted)
