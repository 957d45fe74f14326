# SPDX-License-Identifier: Apache-2.0
"""What really happened, as only the plant can know it. Written by AVR cycle, read when everything measured is on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from rig.wire.messages import Verdict

Kind = Literal["insert", "reset"]

ALL_FLEW = {"insert": Verdict.blast.name, "reset": Verdict.ok.name}


@dataclass(slots=True)
class Activation:
    """One slot solenoid switched on (`insert`), or one press of the reset button (`reset`).

    cycle: coil or actuator on. slot: from 1, None for a reset. loaded: cards in the slots, the one that was pushed in included;
    unseen: those of them that the toy never took note of. accepted: its sound began. asleep: it slept as card or button would
    have counted. insert: the how many-th card of the round this was to the toy; None when it took none. p_fire: before the
    draw, None where the toy did not decide. fired: the latch was driven. p_latch: probability that it would not let go, before
    that was drawn. cleared: cards that flew out, so that each card of a double feed counts; double_feeds: cards among them that
    beam A cannot tell from the one before. jammed: 0 or 1; the wedged card is not in `cleared`. partial: some cards
    stayed in their slots while others flew. latch_fault: the latch was driven and none flew, though there were some. vain: the
    coil pushed nothing in, since its loader was empty, its slot was not, or it was on too short. cause: the verdict that
    sensors would come to that tell every card.
    """

    cycle: int
    kind: Kind
    slot: int | None
    loaded: int
    unseen: int = 0
    accepted: bool = False
    asleep: bool = False
    insert: int | None = None
    p_fire: float | None = None
    fired: bool = False
    p_latch: float | None = None
    cleared: int = 0
    sticking: int = 0
    double_feeds: int = 0
    jammed: int = 0
    partial: int = 0
    latch_fault: int = 0
    vain: int = 0
    cause: str = Verdict.rejected.name

    def settle(self) -> None:
        """Work out what follows from the rest."""
        short = self.fired and self.cleared < self.loaded and not self.jammed
        self.partial = int(short and self.cleared > 0)
        self.latch_fault = int(short and self.cleared == 0)
        self.cause = self._cause()

    def _cause(self) -> str:
        if self.jammed:
            return Verdict.jam.name
        if not self.accepted:
            return Verdict.rejected.name
        if not self.fired:
            return Verdict.held.name
        if self.latch_fault:
            return Verdict.latch_fault.name
        return Verdict.partial.name if self.partial else ALL_FLEW[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, as JSON can hold it."""
        return asdict(self)


NOTHING = dict.fromkeys(("cycle", "kind", "slot", "loaded", "insert", "p_fire", "p_latch"))
NOTHING |= dict.fromkeys(("unseen", "cleared", "sticking", "double_feeds", "jammed", "partial", "latch_fault", "vain"), 0)
NOTHING |= {"accepted": False, "asleep": False, "fired": False, "cause": "not actuated"}
"""Of a trial that never reached the blaster."""
