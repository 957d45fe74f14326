# SPDX-License-Identifier: Apache-2.0
"""A campaign of presses on a roller launcher: the hopper is reloaded when the ledger has it empty, and looked into after slips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from controller.campaigns.shared import Bursts, CampaignRun, Steps
from controller.campaigns.words import WORDS, Words
from controller.decide import DecisionSource
from controller.store.records import Trial
from rig.requests import PressRequest, Request
from rig.trial import TrialRecord
from rig.wire.messages import Launcher, Wiring

# After this many presses in a row that ran and brought nothing, someone looks into the hopper and cleans the roller.
SLIPS_BEFORE_LOOK = 3
# A toy sounds when its lid closes; a press must not be taken for accepted by that sound.
LID_SOUND_S = 2.0
FILL = 83  # cards: docs/facts.md#the-launcher, L11: the load for four players [DER]
BURSTS = (1, 2, 4)
MOST_IN_BURST = 25  # of presses until one fires; as one public simulation caps them (docs/facts.md)


@dataclass(frozen=True, slots=True)
class RollerCampaign:
    """`trials` presses, one every `pace_s` seconds, `fill` cards a load, bursts of these sizes in turn.

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

    @property
    def words(self) -> Words:
        """How the console calls its trials."""
        return WORDS[Launcher.roller]

    def described(self) -> dict[str, Any]:
        """The campaign as the store keeps it."""
        return asdict(self) | {"drive": self.drive.name, "bursts": list(self.bursts)}

    def steps(self, frame: CampaignRun) -> Steps:
        """How presses follow each other."""
        return Presses(self, frame)


class Presses:
    """Press after press, out of a hopper."""

    over = False

    def __init__(self, campaign: RollerCampaign, frame: CampaignRun) -> None:
        self._campaign = campaign
        self._frame = frame
        self._bursts = Bursts(campaign.bursts, MOST_IN_BURST)
        self._decider = None if campaign.decision is None else DecisionSource(campaign.decision, campaign.decision_seed or 0)
        self._slips = 0

    def make_ready(self) -> None:
        """Have cards in the hopper."""
        account = self._frame.account
        if account is None or account.hopper == 0:
            self._reload()

    def _reload(self) -> None:
        self._frame.reload(self._campaign.fill, LID_SOUND_S)
        self._slips = 0
        if self._decider:
            self._decider.restart()

    def moment(self) -> int:
        """As the grid says."""
        return self._frame.due_tick

    def request(self, number: int, tick: int) -> Request:
        """The next press."""
        account = self._frame.account
        assert account is not None
        return PressRequest(
            number=number,
            burst=self._bursts.number,
            index=self._bursts.index,
            tick=tick,
            hopper=account.hopper,
            run_ms=self._decider.next_run_ms() if self._decider else 0,
            duty=self._campaign.duty,
        )

    def place(self, record: TrialRecord) -> Mapping[str, int | None]:
        """A press has no round."""
        return {}

    def went(self, trial: Trial) -> None:
        """On to the next place in the bursts, and on the grid."""
        self._bursts.step(trial.fired)
        self._frame.keep_pace(trial)

    def look_after(self, trial: Trial) -> None:
        """Have someone look into a hopper that brings nothing."""
        frame = self._frame
        self._slips = 0 if trial.dealt else self._slips + (trial.verdict in ("slip", "empty"))
        if self._slips >= SLIPS_BEFORE_LOOK:
            with frame.hands() as operator:
                operator.clean(frame.driver.idle)
            frame.event("clean", {}, trial.number)
            self._reload()

    def gap(self) -> None:
        """The hopper is as it was."""

    def late_card(self, trial: Trial) -> None:
        """The ledger will tell."""

    def end(self, why: str) -> None:
        """Nothing is open."""
