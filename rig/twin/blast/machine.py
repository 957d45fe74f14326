# SPDX-License-Identifier: Apache-2.0
"""The blaster as a chain of events: cards pushed into slots, the toy that takes note of them, its sound, its latch.

What is due is kept by cycle and happens when time comes to it, so anything from outside can come in between: a coil
let go, power lost, another card. What the future holds is found by running a copy. Everything here about the toy's electronics
but sleep and the two meanings of the reset button is a guess, as the parameters' tags tell.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from rig.blast_brains import Round, begin
from rig.twin.avr import FOREVER
from rig.twin.beams import Beams
from rig.twin.blast.ejector import Card, fly
from rig.twin.blast.parameters import BlastParameters
from rig.twin.blast.truth import Activation
from rig.twin.plan import SOUND_PIN, Edge, cycles


class Due(NamedTuple):
    """Something that will happen: when, in which order among equals, what, to which slot, and for which activation."""

    cycle: int
    order: int
    what: str
    slot: int
    number: int


class Draws(NamedTuple):
    """The uniforms of one activation: does it fire, where is the next trigger, does the latch let go."""

    u_fire: float
    u_trigger: float
    u_latch: float


class Machine:
    """The blaster at one moment. Slots count from 1; cycles must not decrease.

    open_V, ohm: the pack as it is loaded by the latch. edges: those made since `ahead` or `run` began, and those of cards in
    flight. steps: (cycle, ampere from then on). records: activations that are not over, by number.
    """

    def __init__(self, parameters: BlastParameters) -> None:
        self._p = parameters
        self._rule = parameters.rule()
        self._beams = Beams(parameters)
        self.waiting: dict[int, Card] = {}
        self.inside: dict[int, Card] = {}
        self.unseen: frozenset[int] = frozenset()
        self.mouth: Card | None = None
        self.powered = False
        self.round = Round()
        self.open_V = self.ohm = 0.0
        self.edges: list[Edge] = []
        self.steps: list[tuple[int, float]] = []
        self.records: dict[int, Activation] = {}
        self.draws: dict[int, Draws] = {}
        self._due: list[Due] = []
        self._order = 0
        self._deaf_until = 0
        self._active_at = 0
        self._sounding = False
        self._driving = False
        self._rest = 0
        self._happens: dict[str, Callable[[Machine, Due], None]] = {
            "push": Machine._push,
            "take": Machine._take,
            "button": Machine._button,
            "loud": Machine._loud,
            "still": Machine._still,
            "drive": Machine._drive,
            "let go": Machine._let_go,
            "drop": Machine._drop,
            "doze": Machine._doze,
        }

    # ------------------------------------------------------------ time

    def run(self, cycle: int) -> None:
        """Let happen what is due before `cycle`; edges and steps that lie before it are forgotten."""
        self._until(cycle)
        self.edges = [edge for edge in self.edges if edge[0] >= cycle]
        self.steps = []
        if all(due.what == "doze" for due in self._due):
            self.records.clear()
            self.draws.clear()

    def ahead(self, cycle: int) -> Machine:
        """This machine as it will be when everything is over that is due from `cycle` on, if nothing comes in between."""
        future = copy(self)
        future.waiting, future.inside = dict(self.waiting), dict(self.inside)
        future.records = {number: replace(record) for number, record in self.records.items()}
        future.edges, future._due = list(self.edges), list(self._due)
        future.steps = [(cycle, self._ampere(cycle))]
        future._until(FOREVER)
        for record in future.records.values():
            record.settle()
        return future

    @property
    def rest(self) -> int:
        """The cycle at which the last thing happened, a card in flight included, but for falling asleep."""
        return max(self._rest, max((edge[0] for edge in self.edges), default=0))

    def _until(self, cycle: int) -> None:
        while self._due and self._due[0].cycle < cycle:
            due = self._due.pop(0)
            self._happens[due.what](self, due)
            if due.what != "doze":
                self._rest = due.cycle

    def _plan(self, cycle: int, what: str, slot: int, number: int) -> None:
        self._order += 1
        insort(self._due, Due(cycle, self._order, what, slot, number))

    def _forget(self, *what: str, slot: int = 0) -> bool:
        """Strike out what was due; whether there was any of it."""
        kept = [due for due in self._due if due.what not in what or slot not in (0, due.slot)]
        found = len(kept) < len(self._due)
        self._due = kept
        return found

    # ------------------------------------------------------------ from outside

    def push(self, cycle: int, slot: int, number: int) -> None:
        """The solenoid of `slot` is switched on, for activation `number`."""
        self._plan(cycle + cycles(self._p.pull_in_ms), "push", slot, number)

    def press(self, cycle: int, number: int) -> None:
        """The reset button goes down, for activation `number`."""
        self._plan(cycle + cycles(self._p.debounce_ms), "button", 0, number)

    def let_up(self, slot: int | None) -> bool:
        """The solenoid of `slot` is switched off, or the button comes up (None): whether that was too early."""
        return self._forget("button") if slot is None else self._forget("push", slot=slot)

    def power(self, cycle: int, on: bool, u_trigger: float = 0.0) -> None:
        """The pack is connected: the toy boots and begins anew. Or it is cut off: the toy falls silent at once."""
        self.powered = on
        self._forget("take", "button", "loud", "still", "drive", "let go", "drop", "doze")
        if on:
            self.round = begin(self._p.slots, u_trigger)
            self._deaf_until = cycle + cycles(self._p.boot_ms)
            self._stay_awake(cycle)
        elif self._sounding:
            self.edges.append((cycle, SOUND_PIN, 0))
        self._sounding = self._driving = False

    def asleep(self, cycle: int) -> bool:
        """Whether the toy sleeps."""
        return self.powered and cycle - self._active_at >= cycles(self._p.sleep_s * 1000)

    # ------------------------------------------------------------ what happens

    def _push(self, due: Due) -> None:
        """The plunger has come all the way."""
        record = self.records[due.number]
        if due.slot in self.inside or due.slot not in self.waiting:
            return
        self.inside[due.slot] = self.waiting.pop(due.slot)
        self.unseen |= {due.slot}
        record.vain, record.loaded, record.unseen = 0, len(self.inside), len(self.unseen)
        if self.powered:
            self._plan(due.cycle + cycles(self._p.debounce_ms), "take", due.slot, due.number)

    def _take(self, due: Due) -> None:
        """A card has lain in its slot for long enough: does the toy take note of it?"""
        record, draws = self.records[due.number], self.draws[due.number]
        record.asleep = self.asleep(due.cycle)
        if record.asleep or due.cycle < self._deaf_until:
            return
        self.unseen -= {due.slot}
        record.unseen, record.insert = len(self.unseen), self.round.inserts + 1
        record.p_fire, fired = self._rule(self.round, due.slot, draws.u_fire)
        self.round = begin(self._p.slots, draws.u_trigger) if fired else self.round.after(due.slot)
        self._answer(due, fired)

    def _button(self, due: Due) -> None:
        """The button was held for long enough: asleep it wakes the toy, awake it ejects what is loaded and begins anew."""
        if not self.powered or due.cycle < self._deaf_until:
            return
        record = self.records[due.number]
        record.asleep = self.asleep(due.cycle)
        if not record.asleep:
            self.round = begin(self._p.slots, self.draws[due.number].u_trigger)
        self._answer(due, not record.asleep)

    def _answer(self, due: Due, releases: bool) -> None:
        """The toy took note: it sounds, and drives the latch or does not."""
        at, p = due.cycle, self._p
        self._stay_awake(at)
        loud = at + cycles(p.sound_delay_ms)
        self._deaf_until = loud + cycles(p.sound_ms)
        self._plan(loud, "loud", 0, due.number)
        self._plan(self._deaf_until, "still", 0, due.number)
        if releases:
            drive = at + cycles(p.release_delay_ms)
            drop = drive + cycles(p.release_ms)
            self._plan(drive, "drive", 0, due.number)
            self._plan(drive + cycles(p.let_go_ms), "let go", 0, due.number)
            self._plan(drop, "drop", 0, due.number)
            self._deaf_until = max(self._deaf_until, drop)

    def _stay_awake(self, cycle: int) -> None:
        self._active_at = cycle
        self._forget("doze")
        self._plan(cycle + cycles(self._p.sleep_s * 1000), "doze", 0, 0)
        self._step(cycle)

    def _doze(self, due: Due) -> None:
        self._step(due.cycle)

    def _loud(self, due: Due) -> None:
        self.records[due.number].accepted = True
        self._sounding = True
        self.edges.append((due.cycle, SOUND_PIN, 1))
        self._step(due.cycle)

    def _still(self, due: Due) -> None:
        self._sounding = False
        self.edges.append((due.cycle, SOUND_PIN, 0))
        self._step(due.cycle)

    def _drive(self, due: Due) -> None:
        self.records[due.number].fired = True
        self._driving = True
        self._step(due.cycle)

    def _drop(self, due: Due) -> None:
        self._driving = False
        self._step(due.cycle)

    def _let_go(self, due: Due) -> None:
        """The latch has been driven for long enough: it lets go, or fails. A card in the mouth keeps all others in."""
        p, record = self._p, self.records[due.number]
        loaded_V = self.open_V - self.ohm * self._ampere(due.cycle)
        record.p_latch = min(max(p.latch_fault + p.latch_fault_growth * max(p.latch_V - loaded_V, 0.0), 0.0), 1.0)
        if self.mouth is not None:
            record.jammed = 1
            return
        if self.draws[due.number].u_latch < record.p_latch:
            return
        places = sorted(self.inside)
        flight = fly(p, [self.inside[slot] for slot in places], due.cycle)
        for place in flight.stayed:
            self.inside[places[place]] = self.inside[places[place]]._replace(known=True)
        for place in flight.left:
            del self.inside[places[place]]
        if flight.wedged is not None:
            self.mouth = self.inside.pop(places[flight.wedged])
        self.unseen &= self.inside.keys()
        record.cleared, record.double_feeds = len(flight.left), flight.double_feeds
        record.jammed = int(flight.wedged is not None)
        self.edges += self._beams.edges(flight.crossings)

    # ------------------------------------------------------------ current

    def _ampere(self, cycle: int) -> float:
        """The pack's current at `cycle`."""
        if not self.powered:
            return 0.0
        p = self._p
        board_mA = p.asleep_mA if self.asleep(cycle) else p.idle_mA
        return (board_mA + self._sounding * p.sound_mA + self._driving * p.release_mA) / 1000

    def _step(self, cycle: int) -> None:
        self.steps.append((cycle, self._ampere(cycle)))
