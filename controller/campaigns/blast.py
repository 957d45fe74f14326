# SPDX-License-Identifier: Apache-2.0
"""A campaign of inserts on a blaster, round after round, and the resets that make the toy fresh or wake it.

A round goes from empty slots to the moment when the toy releases, or until it is censored. After that everything has to be out of
the slots before the next one begins: what did not fly by itself is ejected by a reset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum, auto
from typing import Any

from controller.campaigns.orders import order_of
from controller.campaigns.shared import WASTED, Bursts, CampaignRun, Steps
from controller.campaigns.words import WORDS, Words
from controller.store.records import Trial
from rig.awake import SURELY_ASLEEP_S
from rig.requests import InsertRequest, Request, ResetRequest
from rig.slots import EMPTY
from rig.trial import TrialRecord
from rig.wire.messages import TICK_HZ, Launcher

BURSTS = (1,)
ORDER = "random"

EJECTIONS = 3
"""Resets after which a person takes out what is still in the slots.

Once the books are in doubt, the first reset that ejects nothing is the last: what they miss may have flown unseen, and then more
resets would eject nothing either."""

IN_DOUBT = frozenset({"partial", "fault", "aborted", "gap", "late_card"})
"""What ends a round so that the books may hold cards which have flown: one on top of another, or while nobody watched."""

REST_TICKS = TICK_HZ
"""From the end of a trial to the reset that follows it."""

WAKE_TICKS = 2 * TICK_HZ
"""From the reset that wakes the toy to the insert that it is woken for."""

HANDS_OFF_S = 1.0
"""From a filled loader to the first insert."""


class Stage(Enum):
    """What the next trial needs. refill: a person; insert: nothing; eject: empty slots, by a reset."""

    refill = auto()
    insert = auto()
    eject = auto()


AFTER_INSERT: Mapping[str, Stage] = {"held": Stage.insert, "blast": Stage.refill}
"""By the verdict on an insert, what comes next; after any other nobody knows what the toy holds: it is made fresh."""


@dataclass(frozen=True, slots=True)
class BlastCampaign:
    """`trials` inserts and resets in all, an insert every `pace_s` seconds, `fill` cards in a loader of `slots`.

    order: of the slots (see `orders`), with the seed of its draws. bursts: inserts owed by one game event, in turn.
    """

    trials: int
    pace_s: float
    fill: int
    bursts: tuple[int, ...]
    slots: int
    order: str
    order_seed: int

    @property
    def words(self) -> Words:
        """How the console calls its trials."""
        return WORDS[Launcher.blast]

    def described(self) -> dict[str, Any]:
        """The campaign as the store keeps it."""
        return asdict(self) | {"drive": "button", "bursts": list(self.bursts)}

    def steps(self, frame: CampaignRun) -> Steps:
        """How rounds follow each other."""
        return Inserts(self, frame)


class Rounds:
    """Which round a trial belongs to, and which insert of it that the toy took it is."""

    def __init__(self, frame: CampaignRun) -> None:
        self._frame = frame
        self._inserts = 0
        self._is_fresh = True
        self.number = 0
        self.is_open = False

    def begin(self) -> None:
        """The slots are empty. The toy is fresh, unless it was on before: what it remembers then is not known, and inserts have
        no number."""
        self._is_fresh = self._frame.driver.asleep_tick is not None
        self.number, self._inserts, self.is_open = self.number + 1, 0, True

    def place(self, record: TrialRecord) -> Mapping[str, int | None]:
        """Round and insert of a trial that was made."""
        if record.kind != "insert" or not record.accepted or not self._is_fresh:
            return {"round": self.number, "insert": None}
        self._inserts += 1
        return {"round": self.number, "insert": self._inserts}

    def end(self, why: str, trial: Trial | None = None) -> None:
        """The round is over, if it is not already, by the verdict or whatever else `why` names."""
        if self.is_open:
            self.is_open = False
            data = {"round": self.number, "ended": why, "inserts": self._inserts, "in_slots": self._frame.driver.books.cards}
            self._frame.event("round", data, trial.number if trial else None)


def tell_late_card(frame: CampaignRun, trial: Trial) -> None:
    """Note that a card flew when `trial` was over: what was counted in it cannot be relied on."""
    frame.event("late_card", {}, trial.number)
    frame.notice(
        f"a card flew after trial {trial.number} was over: when the toy let go is not known, and that trial does not count"
    )


def fill_loader(frame: CampaignRun, cards: int, round_number: int) -> None:
    """Have slots, loader and mouth emptied and counted, and a card laid before each of the first `cards` slots."""
    frame.reload(cards, HANDS_OFF_S)
    frame.driver.keep_books(EMPTY.filled(cards))
    frame.history = frame.history.lid_close()
    frame.event("reload", {"cards": cards, "round": round_number})


class Inserts:
    """Insert after insert, out of a loader, into the slots in their order."""

    over = False

    def __init__(self, campaign: BlastCampaign, frame: CampaignRun) -> None:
        self._campaign = campaign
        self._frame = frame
        self._order = order_of(campaign.order, campaign.slots, campaign.order_seed)
        self._bursts = Bursts(campaign.bursts, campaign.slots)
        self._rounds = Rounds(frame)
        self._stage = Stage.refill
        self._slot = 0  # the one that is next
        self._wakes = False  # the next reset is to wake the toy, not to empty it
        self._ejections = 0  # resets that the toy took while it is being emptied
        self._in_doubt = False
        self._met_asleep = False
        self._told = False  # that it cannot be known whether the toy sleeps

    # ------------------------------------------------------------------ before a trial

    def make_ready(self) -> None:
        """Have the loader filled when a round is to begin."""
        if self._stage is not Stage.refill:
            return
        fill_loader(self._frame, self._campaign.fill, self._rounds.number + 1)
        self._rounds.begin()
        self._stage = Stage.insert
        self._choose()
        if self._frame.driver.asleep_tick is None:  # it was on before, and what it remembers is not known
            self._censor("toy_unknown")

    def _choose(self, trial: Trial | None = None) -> None:
        books, slots = self._frame.driver.books, self._campaign.slots
        self._slot = self._order.pick(books.ready(slots))
        if not self._slot:
            self._censor("full" if books.occupied.bit_count() == slots else "loader_empty", trial)

    def _censor(self, why: str, trial: Trial | None = None) -> None:
        self._rounds.end(why, trial)
        self._stage, self._ejections, self._met_asleep, self._wakes = Stage.eject, 0, False, False
        self._in_doubt = why in IN_DOUBT

    def moment(self) -> int:
        """As the grid says, but for a reset that comes before the insert, or as soon as a trial is over."""
        frame, now = self._frame, self._frame.driver.tick_now()
        if self._stage is Stage.eject:
            return now + REST_TICKS
        due = max(frame.due_tick, now)
        toy = frame.driver.toy_at(due)
        self._wakes = toy != "awake"
        return self._wake_tick(toy, due, now) if self._wakes else frame.due_tick

    def _wake_tick(self, toy: str, due: int, now: int) -> int:
        """When to wake a toy that sleeps at the moment `due`, or may sleep: then, as soon as it surely does."""
        asleep = self._frame.driver.asleep_tick
        sure = now + round(SURELY_ASLEEP_S * TICK_HZ) if asleep is None else asleep
        tick = max(due - WAKE_TICKS, sure, now)
        self._frame.event("sleep", {"toy": toy, "wait_s": round((tick - now) / TICK_HZ, 3)})
        if toy == "unknown" and not self._told:
            self._told = True
            wait_s = max(0.0, (tick + WAKE_TICKS - due) / TICK_HZ)
            self._frame.notice(
                f"it cannot be known whether the toy sleeps when the next insert is due: that comes {wait_s:.0f} s later, when the "
                f"toy surely did and was woken; the same whenever this comes again"
            )
        return tick

    def request(self, number: int, tick: int) -> Request:
        """The next insert, or a reset."""
        books, bursts = self._frame.driver.books, self._bursts
        hopper = books.waiting.bit_count()
        if self._wakes or self._stage is Stage.eject:
            return ResetRequest(number=number, burst=0, index=0, tick=tick, hopper=hopper)
        return InsertRequest(number=number, burst=bursts.number, index=bursts.index, tick=tick, hopper=hopper, slot=self._slot)

    def place(self, record: TrialRecord) -> Mapping[str, int | None]:
        """Its round, and the number of the insert in it."""
        return self._rounds.place(record)

    # ------------------------------------------------------------------ after a trial

    def went(self, trial: Trial) -> None:
        """An insert moves on in the bursts and on the grid; one that the toy is woken for comes soon after that."""
        if trial.kind == "insert":
            self._bursts.step(trial.fired)
            self._frame.keep_pace(trial)
        elif self._wakes and trial.tick is not None:
            self._frame.due_tick = max(self._frame.due_tick, trial.tick + WAKE_TICKS)

    def look_after(self, trial: Trial) -> None:
        """Decide what comes next."""
        if trial.kind == "insert":
            self._after_insert(trial)
        elif self._wakes and trial.verdict == "held":
            self._wakes = False
            self._frame.event("wake", {"toy": trial.toy}, trial.number)
        else:
            if self._stage is Stage.insert:  # it was to wake the toy, and found it awake
                self._censor(trial.verdict if trial.verdict in WASTED else "reset", trial)
            self._after_reset(trial)

    def _after_insert(self, trial: Trial) -> None:
        stage = AFTER_INSERT.get(trial.verdict, Stage.eject)
        if stage is Stage.insert:
            self._choose(trial)
        elif stage is Stage.eject:
            self._censor(trial.verdict, trial)
        else:
            self._rounds.end(trial.verdict, trial)
            self._stage = stage

    def _after_reset(self, trial: Trial) -> None:
        """Go on until everything is out of a toy that began anew, or a person has to take it out."""
        if trial.verdict in WASTED:
            return
        if trial.verdict == "held" and not self._met_asleep:
            self._met_asleep = True  # it only woke: the same again
            return
        self._ejections = EJECTIONS if self._in_doubt and not trial.cleared else self._ejections + 1
        self._in_doubt |= trial.verdict in IN_DOUBT
        is_out = trial.roller_ms > 0 and not self._frame.driver.books.cards
        if is_out or self._ejections >= EJECTIONS:
            self._stage = Stage.refill

    def gap(self) -> None:
        """Nobody saw what became of the round, and whether the toy had its power is not known."""
        if self._rounds.number:
            self._censor("gap")

    def late_card(self, trial: Trial) -> None:
        """The toy let go when nobody looked any more, and what is left in its slots is not known."""
        tell_late_card(self._frame, trial)
        if self._stage is Stage.insert:
            self._censor("late_card", trial)
        self._in_doubt = True

    def end(self, why: str) -> None:
        """The last round is over."""
        self._rounds.end(why)
