# SPDX-License-Identifier: Apache-2.0
"""What campaigns on every launcher have in common: the grid of moments, mending, gaps, fills, a trial on disk before the next.

The host owns the schedule (a grid of MCU ticks), the MCU the moment. Whatever ends a campaign, its outputs are switched
off and read back first, and the run is closed with what ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol

from controller.campaigns.words import Words
from controller.ledger import FillAccount, History
from controller.store.records import Trial
from controller.store.store import Store
from rig.errors import OperatorNeededError, RigError, StopAskedError
from rig.launcher import Driver, Happening
from rig.operator import Operator
from rig.requests import Request
from rig.rig import Rig
from rig.trial import TrialRecord
from rig.wire.messages import TICK_HZ

# After this many trials in a row that told nothing, the rig is broken: one cause, not twenty failures.
WASTED = ("fault", "rejected", "aborted")
WASTED_BEFORE_END = 5
# From the end of a trial that was cut short until nothing moves any more.
REST_S = 0.5
# The MCU acts on its 2 ms tick; what comes later than twice that was held up.
ON_TIME_TICKS = 4 * TICK_HZ // 1000
UNTIL_FIRE = 0


class RigBrokenError(RigError):
    """Trial after trial was spoiled by the rig."""


class Campaign(Protocol):
    """What to do at one kind of machine: `trials` trials, one every `pace_s` seconds, `fill` cards a load."""

    @property
    def trials(self) -> int:
        """Trials at most."""
        ...

    @property
    def pace_s(self) -> float:
        """From moment to moment, seconds."""
        ...

    @property
    def fill(self) -> int:
        """Cards in one load of hopper or loader."""
        ...

    @property
    def words(self) -> Words:
        """How the console calls its trials."""
        ...

    def described(self) -> dict[str, Any]:
        """The campaign as the store keeps it."""
        ...

    def steps(self, frame: CampaignRun) -> Steps:
        """How its trials follow each other within `frame`."""
        ...


class Steps(Protocol):
    """How trials follow each other at one kind of machine."""

    @property
    def over(self) -> bool:
        """Whether nothing is left to do, though there may be trials left."""
        ...

    def make_ready(self) -> None:
        """Have the next trial possible; a person may be needed for that."""
        ...

    def moment(self) -> int:
        """Earliest tick of the next trial; 0 = at once."""
        ...

    def request(self, number: int, tick: int) -> Request:
        """The next trial, at that moment."""
        ...

    def place(self, record: TrialRecord) -> Mapping[str, int | None]:
        """What `History.place` is to know besides of a trial that was made."""
        ...

    def went(self, trial: Trial) -> None:
        """A trial was made and stored: count it, and say when the next one is due."""
        ...

    def look_after(self, trial: Trial) -> None:
        """What is to be done after a trial, its mouth clear."""
        ...

    def gap(self) -> None:
        """For a while nobody watched."""
        ...

    def late_card(self, trial: Trial) -> None:
        """A card passed beam A after `trial`, the last one, was over, and no hand was in."""
        ...

    def end(self, why: str) -> None:
        """The campaign ends, by its own last trial (``end``) or because of the ``operator`` or the ``rig``."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a campaign stands, after each trial."""

    trial: Trial
    done: int
    total: int
    dealt: int
    words: Words


class Bursts:
    """Places in bursts of `sizes` in turn; the size `UNTIL_FIRE` goes on until a trial fires, `cap` of them at most."""

    def __init__(self, sizes: tuple[int, ...], cap: int) -> None:
        self._sizes = cycle(sizes)
        self._cap = cap
        self._size = next(self._sizes)
        self.number = 1
        self.index = 0

    def step(self, fired: bool) -> None:
        """Go on to the place of the next trial."""
        self.index += 1
        over = fired or self.index >= self._cap if self._size == UNTIL_FIRE else self.index >= self._size
        if over:
            self.number, self.index, self._size = self.number + 1, 0, next(self._sizes)


class CampaignRun:
    """One campaign in progress on one rig, writing into one run of a store.

    due_tick: from when on the next trial may be made, 0 = at once. account: of the fill that is in; None before the first.
    The operator is called through `hands`.
    """

    def __init__(
        self,
        campaign: Campaign,
        rig: Rig,
        driver: Driver,
        store: Store,
        run_id: int,
        *,
        on_progress: Callable[[Progress], None],
        on_notice: Callable[[str], None] = lambda text: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.driver = driver
        self._operator = rig.operator
        self.notice = on_notice
        self.due_tick = 0
        self.account: FillAccount | None = None
        self.history = History()
        self._campaign = campaign
        self._store = store
        self._run_id = run_id
        self._on_progress = on_progress
        self._stop_asked = stop_asked
        self._fills = 0
        self._dealt = 0
        self._wasted = 0
        self._gaps = 0
        self._gaps_taken = 0
        self._last: Trial | None = None  # after which no card has flown yet
        self._hands_in = False
        self._lid_opened: int | None = None
        self._lid_closed: int | None = None
        self._steps = campaign.steps(self)

    # ------------------------------------------------------------------ happenings

    def note(self, happening: Happening) -> None:
        """Store what the board reported beside the trials, and restart the counts that it restarts."""
        if happening.kind == "power" and happening.data["on"]:
            self.history = self.history.power_on()
        elif happening.kind == "gap":
            self.history = self.history.gap()
            self._gaps += 1
            self.notice(f"the board is back after {int(happening.data['ms']) / 1000:.1f} s; what was between is unobserved")
        elif happening.kind == "lost":
            self.notice(f"the board is gone: {happening.data['cause']}; waiting for it")
        elif happening.kind == "lid" and happening.data["level"]:
            self.history = self.history.lid_close()
            self._lid_closed = happening.tick
        elif happening.kind == "lid":
            self._lid_opened = happening.tick
        self._store.add_event(
            self._run_id, kind=happening.kind, tick=happening.tick, trial=happening.trial, data=dict(happening.data)
        )
        if happening.kind == "beam_a" and happening.data["level"] and self._last and not self._hands_in:
            last, self._last = self._last, None  # the first of those that fly tells of all
            self._steps.late_card(last)

    def event(self, kind: str, data: Mapping[str, Any], trial: int | None = None) -> None:
        """Store what the host did or found, at this moment."""
        self._store.add_event(self._run_id, kind=kind, tick=self.driver.tick_now(), trial=trial, data=data)

    # ------------------------------------------------------------------ the run

    def run(self) -> None:
        """Make every trial. Raises `StopAskedError` when asked to stop, a `RigError` when the rig cannot go on."""
        try:
            self._run()
        except (StopAskedError, RigError) as error:
            self._steps.end("operator" if isinstance(error, StopAskedError) else "rig")
            raise
        self._steps.end("end")
        self._close_fill()

    def _run(self) -> None:
        steps, total, done = self._steps, self._campaign.trials, 0
        while done < total and not steps.over:
            self.driver.mend()
            self._take_gap()
            steps.make_ready()
            self.driver.mend()  # hands may have opened the interlock
            tick = steps.moment()
            if tick:
                self.driver.wait_for(tick)
            if self._take_gap() or steps.over:
                continue
            trial = self._keep(self.driver.perform(steps.request(done + 1, tick)))
            done += 1
            steps.went(trial)
            self._on_progress(Progress(trial, done, total, self._dealt, self._campaign.words))
            if self._stop_asked():
                raise StopAskedError("stopped by the operator")
            with suppress(*(() if done < total else (OperatorNeededError,))):  # no further trial needs a person
                self._tend(trial)

    def _take_gap(self) -> bool:
        """Begin the grid anew after a while in which nobody watched. Whether there was one."""
        taken, self._gaps_taken = self._gaps_taken, self._gaps
        if taken == self._gaps:
            return False
        self.due_tick = self.driver.tick_now() + self._pace_ticks
        self._steps.gap()
        return True

    @property
    def _pace_ticks(self) -> int:
        return round(self._campaign.pace_s * TICK_HZ)

    def keep_pace(self, trial: Trial) -> None:
        """The next trial is due a pace after this one.

        It is counted from the moment planned, so that latencies never add up, unless the operator made the trial late.
        """
        begin = self.due_tick
        if trial.tick is not None and not 0 <= trial.tick - begin <= ON_TIME_TICKS:
            begin = trial.tick
        self.due_tick = begin + self._pace_ticks

    def _keep(self, record: TrialRecord) -> Trial:
        account = self.account
        assert account is not None
        trial, self.history = self.history.place(record, account.number, **self._steps.place(record))
        self._store.add_trial(self._run_id, trial)
        account.take(trial)
        self._last = trial
        self._dealt += trial.dealt
        return trial

    # ------------------------------------------------------------------ the operator

    @contextmanager
    def hands(self) -> Iterator[Operator]:
        """The operator, who may touch the cards and so the beams for as long as this lasts."""
        self._hands_in = True
        try:
            yield self._operator
        finally:
            self._hands_in = False

    def _tend(self, trial: Trial) -> None:
        """After a trial: give up on a broken rig, clear the mouth, and what the machine needs besides."""
        if trial.verdict in WASTED:
            self._wasted += 1
        elif trial.kind != "reset":  # a reset that works only makes the next insert possible
            self._wasted = 0
        if self._wasted >= WASTED_BEFORE_END:
            raise RigBrokenError(f"{self._wasted} trials in a row came to nothing; the last is {trial.verdict} ({trial.reason})")
        if self._is_blocked(trial):
            with self.hands() as operator:
                cards = operator.clear_mouth(self.driver.idle)
            assert self.account is not None
            self.account.clear_mouth(cards, trial.sticking)
            self.driver.keep_books(self.driver.books.cleared(cards))
            self.event("clear_mouth", {"cards": cards}, trial.number)
        self._steps.look_after(trial)

    def _is_blocked(self, trial: Trial) -> bool:
        """Whether cards are left in the mouth. Of a trial that was spoiled the board is asked, when all has come to rest."""
        driver = self.driver
        if trial.verdict in WASTED:
            driver.idle(REST_S)
            driver.look()
        return bool(trial.sticking or trial.verdict == "jam" or driver.levels.get("beam_a") or driver.levels.get("beam_b"))

    def reload(self, cards: int, rest_s: float) -> None:
        """Have hopper or loader emptied, counted and filled; the fill before is closed with what remained.

        `rest_s` seconds after that the next trial may be made.
        """
        with self.hands() as operator:
            if self.account is None:
                operator.load(cards, self.driver.idle)
            else:
                self._end_account(operator.reload(cards, self.driver.idle))
            self.driver.idle(rest_s)
        self.due_tick = 0
        self.open_fill(cards)

    def open_fill(self, cards: int) -> None:
        """Begin a fill of `cards` that are in already."""
        self._fills += 1
        self.account = FillAccount(self._fills, cards)
        self._store.add_fill(self._run_id, number=self._fills, loaded=cards, opened_tick=self._lid_closed)

    def _close_fill(self) -> None:
        """Count what is left at the end, so that the last fill reconciles like any other."""
        if self.account is None or not self.account.loaded:
            return
        with self.hands() as operator:
            remaining = operator.count_out(self.driver.idle)
        if remaining is not None:
            self._end_account(remaining)

    def _end_account(self, remaining: int) -> None:
        account = self.account
        assert account is not None
        self._store.close_fill(
            self._run_id,
            number=account.number,
            remaining=remaining,
            closed_tick=self._lid_opened,
            mouth=account.mouth,
            jammed=account.jammed,
        )
        self.account = None
