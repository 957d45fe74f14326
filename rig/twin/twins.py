# SPDX-License-Identifier: Apache-2.0
"""The twins that there are, in one table: nothing else in this package knows more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rig.twin.bench import Plant
from rig.twin.blast import parameters as blast
from rig.twin.blast.plant import BlastPlant
from rig.twin.blast.truth import NOTHING as NO_INSERTION
from rig.twin.join import Record
from rig.twin.parameters import Parameters
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.plant import RollerPlant
from rig.twin.roller.truth import NOTHING as NO_PRESS
from rig.wire.messages import Launcher, Wiring


class TwinPlant(Plant, Protocol):
    """A plant as a twin has it: with the name of its board, and with the truth."""

    @property
    def board_uuid(self) -> bytes:
        """16 bytes."""
        ...

    @property
    def is_empty(self) -> bool:
        """No card is left to play with, but for a person's hand."""
        ...

    def truth(self) -> Sequence[Record]:
        """What really happened, by cycle."""
        ...


@dataclass(frozen=True, slots=True)
class Twin:
    """One kind of machine.

    parameters, plant: their classes; the plant takes parameters and a seed. stored: settings that the board's EEPROM
    holds, in the order of `src/core/settings.cpp`, for a board that is set up so. nothing: what the truth has to say of a trial
    that never reached the machine. fill: cards that make it full. lid: a person opens its lid to get at the cards.
    example: parameters that its URL may have. by_hand: the command that tries it by hand.
    """

    parameters: type[Parameters]
    plant: Callable[[Any, int], TwinPlant]
    stored: Callable[[Any], Sequence[int]]
    nothing: Mapping[str, Any]
    fill: Callable[[Any], int]
    lid: bool
    example: str
    by_hand: str


TWINS: Mapping[str, Twin] = {
    "roller": Twin(
        parameters=RollerParameters,
        plant=RollerPlant,
        stored=lambda parameters: (),  # a board as it comes is one
        nothing=NO_PRESS,
        fill=lambda parameters: 83,  # docs/facts.md#the-launcher, L11: the load for four players [DER]
        lid=True,
        example="seed=7&brain=sequence&jam=0.01",
        by_hand="press 3",
    ),
    "blast": Twin(
        parameters=blast.BlastParameters,
        plant=BlastPlant,
        stored=lambda parameters: (Wiring.button, Launcher.blast, parameters.slots),
        nothing=NO_INSERTION,
        fill=lambda parameters: parameters.slots,
        lid=False,
        example="seed=7&brain=creeping&partial=0.05",
        by_hand="insert --until-blast",
    ),
}
"""By the name that a URL has for it."""
