# SPDX-License-Identifier: Apache-2.0
"""A campaign: N presses with pace, bursts and reloads, every trial on disk before the next one is made.

The host owns the schedule (a grid of MCU ticks), the MCU the moment. Whatever ends a campaign, its outputs are switched
off and read back first, and the run is closed with what ended it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import cycle

from controller.decide import DecisionSource
from controller.ledger import FillAccount, History
from controller.store.records import Trial
from controller.store.store import Store
from rig.errors import OperatorNeededError, RigError, StopAskedError
from rig.launcher import Happening, RollerLauncher
from rig.rig import Rig
from rig.trial import PressRequest, TrialRecord
from rig.wire.messages import TICK_HZ, Wiring

# After this many presses in a row that ran and brought nothing, someone looks into the hopper and cleans the roller.
SLIPS_BEFORE_LOOK = 3
# After this many trials in a row that told nothing, the rig is broken: one cause, not twenty failures.
WASTED = ("fault", "rejected", "aborted")
WASTED_BEFORE_END = 5
# From the end of a trial that was cut short until nothing moves any more.
REST_S = 0.5
# A toy sounds when its lid closes; a press must not be taken for accepted by that sound.
LID_SOUND_S = 2.0
# The MCU acts on its 2 ms tick; what comes later than twice that was held up.
ON_TIME_TICKS = 4 * TICK_HZ // 1000
BURSTS = (1, 2, 4)
UNTIL_FIRE = 0
MOST_IN_BURST = 25  # of presses until one fires; as one public simulation caps them (docs/facts.md)


class RigBrokenError(RigError):
    """Trial after trial was spoiled by the rig."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What to do: `trials` presses, one every `pace_s` seconds, `fill` cards a load, bursts of these sizes in turn.

    duty: of 255, and decision, decision_seed: the model that gives the run times; both for `direct` drive. decision is None in
    `button`, where the toy decides.
    """

    trials: int
    pace_s: float
    fill: int
    drive: Wiring
    bursts: tuple[int, ...] = BURSTS
    duty: int = 255
    decision: str | None = None
    decision_seed: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a campaign stands, after each trial."""

    trial: Trial
    done: int
    total: int
    dealt: int


class Bursts:
    """Places in bursts of `sizes` in turn; the size `UNTIL_FIRE` goes on until a press fires, `MOST_IN_BURST` at most."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = cycle(sizes)
        self._size = next(self._sizes)
        self.number = 1
        self.index = 0

    def step(self, fired: bool) -> None:
        """Go on to the place of the next press."""
        self.index += 1
        over = fired or self.index >= MOST_IN_BURST if self._size == UNTIL_FIRE else self.index >= self._size
        if over:
            self.number, self.index, self._size = self.number + 1, 0, next(self._sizes)


class CampaignRun:
    """One campaign in progress on one rig, writing into one run of a store."""

    def __init__(
        self,
        campaign: Campaign,
        rig: Rig,
        store: Store,
        run_id: int,
        *,
        on_progress: Callable[[Progress], None],
        on_notice: Callable[[str], None] = lambda text: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._on_notice = on_notice
        self._campaign = campaign
        self._rig = rig
        self._store = store
        self._run_id = run_id
        self._decider = None if campaign.decision is None else DecisionSource(campaign.decision, campaign.decision_seed or 0)
        self._on_progress = on_progress
        self._stop_asked = stop_asked
        self._history = History()
        self._account: FillAccount | None = None
        self._fills = 0
        self._dealt = 0
        self._slips = 0
        self._wasted = 0
        self._due_tick = 0
        self._gaps = 0
        self._lid_opened: int | None = None
        self._lid_closed: int | None = None

    # ------------------------------------------------------------------ happenings

    def note(self, happening: Happening) -> None:
        """Store what the board reported beside the trials, and restart the counts that it restarts."""
        if happening.kind == "power" and happening.data["on"]:
            self._history = self._history.power_on()
        elif happening.kind == "gap":
            self._history = self._history.gap()
            self._gaps += 1
            self._on_notice(f"the board is back after {int(happening.data['ms']) / 1000:.1f} s; what was between is unobserved")
        elif happening.kind == "lost":
            self._on_notice(f"the board is gone: {happening.data['cause']}; waiting for it")
        elif happening.kind == "lid" and happening.data["level"]:
            self._history = self._history.lid_close()
            self._lid_closed = happening.tick
        elif happening.kind == "lid":
            self._lid_opened = happening.tick
        self._store.add_event(
            self._run_id, kind=happening.kind, tick=happening.tick, trial=happening.trial, data=dict(happening.data)
        )

    # ------------------------------------------------------------------ the run

    def run(self, launcher: RollerLauncher) -> None:
        """Make every press. Raises `StopAskedError` when asked to stop, a `RigError` when the rig cannot go on."""
        bursts = Bursts(self._campaign.bursts)
        pace_ticks = round(self._campaign.pace_s * TICK_HZ)
        self._reload(launcher)
        for number in range(1, self._campaign.trials + 1):
            gaps = self._gaps
            launcher.mend()
            if self._gaps != gaps:
                self._due_tick = launcher.tick_now() + pace_ticks
            account = self._fresh_account(launcher)
            trial = self._press(
                launcher,
                account,
                PressRequest(
                    number=number,
                    burst=bursts.number,
                    index=bursts.index,
                    tick=self._due_tick,
                    hopper=account.hopper,
                    run_ms=self._decider.next_run_ms() if self._decider else 0,
                    duty=self._campaign.duty,
                ),
            )
            bursts.step(trial.fired)
            self._due_tick = self._next_due(trial) + pace_ticks
            self._on_progress(Progress(trial, number, self._campaign.trials, self._dealt))
            if self._stop_asked():
                raise StopAskedError("stopped by the operator")
            if number < self._campaign.trials:
                self._tend(launcher, account, trial)
        with suppress(OperatorNeededError):  # no further press needs a person
            self._tend(launcher, account, trial)
        self._close_fill(launcher)

    def _next_due(self, trial: Trial) -> int:
        """The moment from which the next press is counted.

        That is the one planned, so that latencies never add up, unless the operator made the press late.
        """
        if trial.tick is None:
            return self._due_tick
        late = trial.tick - self._due_tick
        return self._due_tick if 0 <= late <= ON_TIME_TICKS else trial.tick

    def _press(self, launcher: RollerLauncher, account: FillAccount, request: PressRequest) -> Trial:
        return self._keep(launcher.press(request), account)

    def _keep(self, record: TrialRecord, account: FillAccount) -> Trial:
        trial, self._history = self._history.place(record, account.number)
        self._store.add_trial(self._run_id, trial)
        account.take(trial)
        self._dealt += trial.dealt
        return trial

    # ------------------------------------------------------------------ the operator

    def _tend(self, launcher: RollerLauncher, account: FillAccount, trial: Trial) -> None:
        """After a trial: clear the mouth, look into a hopper that brings nothing, give up on a broken rig."""
        self._wasted = self._wasted + 1 if trial.verdict in WASTED else 0
        if self._wasted >= WASTED_BEFORE_END:
            raise RigBrokenError(f"{self._wasted} trials in a row came to nothing; the last is {trial.verdict} ({trial.reason})")
        self._slips = 0 if trial.dealt else self._slips + (trial.verdict in ("slip", "empty"))
        if self._is_blocked(launcher, trial):
            cards = self._rig.operator.clear_mouth(launcher.idle)
            account.clear_mouth(cards, trial.sticking)
            self._store.add_event(
                self._run_id, kind="clear_mouth", tick=launcher.tick_now(), trial=trial.number, data={"cards": cards}
            )
        if self._slips >= SLIPS_BEFORE_LOOK:
            self._rig.operator.clean(launcher.idle)
            self._store.add_event(self._run_id, kind="clean", tick=launcher.tick_now(), trial=trial.number, data={})
            self._reload(launcher)

    def _is_blocked(self, launcher: RollerLauncher, trial: Trial) -> bool:
        """Whether cards are left in the mouth. Of a trial that was spoiled the board is asked, when all has come to rest."""
        if trial.verdict in WASTED:
            launcher.idle(REST_S)
            launcher.look()
        return bool(trial.sticking or trial.verdict == "jam" or launcher.levels.get("beam_a") or launcher.levels.get("beam_b"))

    def _fresh_account(self, launcher: RollerLauncher) -> FillAccount:
        if self._account is None or self._account.hopper == 0:
            self._reload(launcher)
        assert self._account is not None
        return self._account

    def _reload(self, launcher: RollerLauncher) -> None:
        """Have the hopper emptied, counted and filled; the fill before is closed with what remained."""
        cards, operator = self._campaign.fill, self._rig.operator
        if self._account is None:
            operator.load(cards, launcher.idle)
        else:
            self._end_account(operator.reload(cards, launcher.idle))
        launcher.idle(LID_SOUND_S)
        self._fills += 1
        self._account = FillAccount(self._fills, cards)
        self._slips = 0
        self._due_tick = 0
        if self._decider:
            self._decider.restart()
        self._store.add_fill(self._run_id, number=self._fills, loaded=cards, opened_tick=self._lid_closed)

    def _close_fill(self, launcher: RollerLauncher) -> None:
        """Count what is left at the end, so that the last fill reconciles like any other."""
        remaining = self._rig.operator.count_out(launcher.idle)
        if remaining is not None:
            self._end_account(remaining)

    def _end_account(self, remaining: int) -> None:
        account = self._account
        assert account is not None
        self._store.close_fill(
            self._run_id,
            number=account.number,
            remaining=remaining,
            closed_tick=self._lid_opened,
            mouth=account.mouth,
            jammed=account.jammed,
        )
        self._account = None


def describe(campaign: Campaign) -> dict[str, object]:
    """The campaign as the store keeps it."""
    return asdict(campaign) | {"drive": campaign.drive.name, "bursts": list(campaign.bursts)}
