# SPDX-License-Identifier: Apache-2.0
"""What a launcher can be asked for: one request per kind of trial, each with its message and its longest duration.

What differs between the kinds on this side of the wire is here and, for the judging, in `rig.verdict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from rig.awake import ToyState, shown
from rig.slots import Slots
from rig.verdict import Judged
from rig.wire.messages import Insert, Launcher, Message, Press, Reset, Verdict, Wiring


class Request(Protocol):
    """One trial to make. kind, launcher: which trial of which machine.

    number: within the run, from 1. burst, index: game event and place within it, from 0. tick: earliest MCU tick of
    actuation, 0 = at once. hopper: cards believed inside, or waiting in the loader.
    """

    kind: ClassVar[str]
    launcher: ClassVar[Launcher]

    @property
    def number(self) -> int:
        """Within the run."""
        ...

    @property
    def burst(self) -> int:
        """The game event."""
        ...

    @property
    def index(self) -> int:
        """The place within it."""
        ...

    @property
    def tick(self) -> int:
        """Earliest tick of actuation."""
        ...

    @property
    def hopper(self) -> int:
        """Cards believed inside."""
        ...

    def check(self, books: Slots, slots: int) -> None:
        """Raise `RefusedRequestError` for what a bench with `slots` slots, booked as `books`, cannot do."""
        ...

    def booked(self, books: Slots) -> Slots:
        """The books once this is actuated."""
        ...

    def message(self, drive: Wiring, not_before: int) -> Message:
        """The command; `not_before` is the tick as the board counts it."""
        ...

    def longest_ms(self, settings: Mapping[str, int]) -> int:
        """How long the trial can last from its moment on, by the board's settings."""
        ...

    def own(self, drive: Wiring, judged: Judged, books: Slots, before: ToyState) -> dict[str, Any]:
        """The fields of the record that not every kind of trial has: by what was asked, what it showed, the books as it was
        actuated, and the state in which the toy was expected."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    number: int
    burst: int
    index: int
    tick: int
    hopper: int

    def check(self, books: Slots, slots: int) -> None:
        """Nothing to refuse."""

    def booked(self, books: Slots) -> Slots:
        """No card goes in."""
        return books


@dataclass(frozen=True, slots=True)
class PressRequest(_Place):
    """One press of the launch button. run_ms, duty (of 255): for `direct`."""

    kind: ClassVar[str] = "press"
    launcher: ClassVar[Launcher] = Launcher.roller

    run_ms: int = 0
    duty: int = 255

    def message(self, drive: Wiring, not_before: int) -> Message:
        """The command."""
        return Press(
            trial=self.number,
            burst=self.burst,
            index=self.index,
            drive=drive,
            not_before=not_before,
            hopper=self.hopper,
            run_ms=self.run_ms,
            duty=self.duty,
        )

    def longest_ms(self, settings: Mapping[str, int]) -> int:
        """How long the trial can last from its moment on."""
        return settings["observe_max_ms"] + settings["press_hold_ms"] + self.run_ms

    def own(self, drive: Wiring, judged: Judged, books: Slots, before: ToyState) -> dict[str, Any]:
        """What was commanded in `direct`."""
        return {"run_ms": self.run_ms, "duty": self.duty if drive is Wiring.direct else 0}


@dataclass(frozen=True, slots=True)
class _OfBlaster(_Place):
    kind: ClassVar[str]
    launcher: ClassVar[Launcher] = Launcher.blast

    def own(self, drive: Wiring, judged: Judged, books: Slots, before: ToyState) -> dict[str, Any]:
        """The slot, what was loaded, and the state in which the toy was met."""
        whole = judged.verdict not in (Verdict.aborted, Verdict.fault)
        toy = shown(self.kind, accepted=judged.accepted, released=judged.roller_ms > 0, whole=whole, before=before)
        return {"run_ms": 0, "duty": 0, "slot": getattr(self, "slot", None), "loaded": books.cards, "toy": toy}


@dataclass(frozen=True, slots=True)
class InsertRequest(_OfBlaster):
    """One waiting card pushed into `slot`, from 1."""

    kind: ClassVar[str] = "insert"

    slot: int

    def check(self, books: Slots, slots: int) -> None:
        """Raise `RefusedRequestError` for a slot that is not wired or not free, or a loader that is empty."""
        books.check(self.slot, slots)

    def booked(self, books: Slots) -> Slots:
        """The card is in its slot."""
        return books.inserted(self.slot)

    def message(self, drive: Wiring, not_before: int) -> Message:
        """The command."""
        return Insert(trial=self.number, burst=self.burst, index=self.index, not_before=not_before, slot=self.slot)

    def longest_ms(self, settings: Mapping[str, int]) -> int:
        """How long the trial can last from its moment on."""
        return settings["observe_max_ms"] + settings["insert_hold_ms"]


@dataclass(frozen=True, slots=True)
class ResetRequest(_OfBlaster):
    """One press of the toy's reset button: asleep it wakes, awake it ejects what is loaded."""

    kind: ClassVar[str] = "reset"

    def message(self, drive: Wiring, not_before: int) -> Message:
        """The command."""
        return Reset(trial=self.number, burst=self.burst, index=self.index, not_before=not_before)

    def longest_ms(self, settings: Mapping[str, int]) -> int:
        """How long the trial can last from its moment on."""
        return settings["observe_max_ms"] + settings["reset_hold_ms"]
