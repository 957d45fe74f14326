# SPDX-License-Identifier: Apache-2.0
"""The simulated blaster as the bench sees it: outputs go in, edges and waveforms come out, truth is kept.

It knows no AVR, only cycles of its clock. Whenever something happens to it the machine runs up to then, and a copy of it runs on
until all is at rest: that is the plan.
"""

from __future__ import annotations

import numpy as np

from rig.twin.beams import CLEAR, PINS, A, B, Beams, Crossing
from rig.twin.blast.ejector import draw_cards
from rig.twin.blast.machine import Draws, Machine
from rig.twin.blast.parameters import BlastParameters
from rig.twin.blast.truth import Activation, Kind
from rig.twin.pack import Pack
from rig.twin.plan import INTERLOCK_PIN, LID_PIN, SOUND_PIN, Edge, Plan, new_uuid
from rig.twin.waveform import Points, add_steps, at_pins


class BlastPlant:
    """A blaster. Cycles given to its methods must not decrease.

    The same parameters, seed and calls give the same answers, to the bit.
    """

    def __init__(self, parameters: BlastParameters, seed: int) -> None:
        self.parameters = parameters
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self.board_uuid = new_uuid(self._generator)
        self.machine = Machine(parameters)  # as it was when something last happened to it
        self.ahead = self.machine.ahead(0)  # as it will be when all that is due is over
        self._beams = Beams(parameters)
        self._pack = Pack(parameters)
        self._current_A: Points = [(0, 0.0)]
        self._slots = {f"slot{slot}": slot for slot in range(1, parameters.slots + 1)}
        self._listened = frozenset(self._slots) | {"reset", "power"}
        self._truth: list[Activation] = []
        self._rest = 0

    # ------------------------------------------------------------ the bench

    def start(self, cycle: int) -> Plan:
        """Levels of every input at `cycle`: beams clear, lid and interlock closed, no sound, nothing drawn from the pack."""
        self._pack.counted = cycle
        levels = ((PINS[A], CLEAR), (PINS[B], CLEAR), (SOUND_PIN, 0), (INTERLOCK_PIN, 0), (LID_PIN, 0))
        return self._plan(cycle, *((cycle, pin, level) for pin, level in levels))

    def output(self, cycle: int, signal: str, value: float) -> Plan | None:
        """An output changed to `value`, 0 or 1. None when that changes nothing that was planned.

        The plant listens to `slot1` and so on, as many as it has, to `reset` and to `power`.
        """
        on, machine = value > 0, self.machine
        if signal not in self._listened:
            return None
        slot = self._slots.get(signal)
        machine.run(cycle)
        if signal == "power":
            if on == machine.powered:
                return None
            machine.power(cycle, on, float(self._generator.random()) if on else 0.0)
        elif not on:
            if not machine.let_up(slot):
                return None
        elif slot is not None:
            machine.push(cycle, slot, self._activate(cycle, "insert", slot))
        else:
            machine.press(cycle, self._activate(cycle, "reset", None))
        return self._plan(cycle)

    def idle_after(self) -> int:
        """The cycle after which nothing more is planned, but that the toy falls asleep."""
        return self._rest

    @property
    def is_empty(self) -> bool:
        """No card waits in a loader."""
        return not self.ahead.waiting

    def truth(self) -> list[Activation]:
        """One record per slot solenoid or reset actuator switched on, by cycle."""
        return list(self._truth)

    # ------------------------------------------------------------ the operator

    def open_lid(self, cycle: int) -> Plan:
        """Work the bench's lid switch: the toy has no lid that matters."""
        return self._replan(cycle, (cycle, LID_PIN, 1))

    def close_lid(self, cycle: int) -> Plan:
        """Let go of the bench's lid switch."""
        return self._replan(cycle, (cycle, LID_PIN, 0))

    def take_out(self, cycle: int) -> tuple[int, Plan]:
        """Take every card out of loaders, slots and mouth. Returns how many, and the plan in which the beam clears.

        The toy does not notice: what it knows of its round stays. Raises `RuntimeError` while anything moves.
        """
        pulled, cleared = self._clear(cycle)
        machine = self.machine
        cards = len(machine.waiting) + len(machine.inside) + pulled
        machine.waiting.clear()
        machine.inside.clear()
        machine.unseen = frozenset()
        return cards, self._plan(cycle, *cleared)

    def load(self, cycle: int, cards: int) -> None:
        """Lay one card into each of the first `cards` loaders.

        Raises `ValueError` for more cards than there are slots, or a loader that has its card.
        """
        self._at_rest(cycle)
        slots = range(1, cards + 1)
        if not 0 <= cards <= self.parameters.slots:
            raise ValueError(f"{cards} cards cannot be loaded: there are {self.parameters.slots} loaders, for one card each")
        if taken := [slot for slot in slots if slot in self.machine.waiting]:
            raise ValueError(f"the loader of slot {taken[0]} holds a card already")
        self.machine.waiting |= zip(slots, draw_cards(self.parameters, self._generator, cards), strict=True)
        self.ahead = self.machine.ahead(cycle)

    def clear_mouth(self, cycle: int) -> tuple[int, Plan]:
        """Pull out what stands in beam A. Returns the number of cards and the plan in which the beam clears."""
        cards, cleared = self._clear(cycle)
        return cards, self._plan(cycle, *cleared)

    def clean(self, cycle: int) -> None:
        """Nothing in a blaster wants cleaning."""

    def by_hand(self, cycle: int, sensor: str, worked: bool) -> list[Edge]:
        """Hold a card into `beam_a` or `beam_b`, or open the `interlock`; undo that when not `worked`.

        Returns the edges that this makes. A card that stands in the beam hides the one held into it.
        """
        if sensor == "interlock":
            return [(cycle, INTERLOCK_PIN, int(worked))]
        beam = A if sensor == "beam_a" else B
        hidden = beam == A and self.ahead.mouth is not None
        return [] if hidden else self._beams.edges([Crossing(cycle, cycle, beam, worked)])

    # ------------------------------------------------------------ plumbing

    def _activate(self, cycle: int, kind: Kind, slot: int | None) -> int:
        """Begin a record and draw for it; its number. Cards that met their fate and stayed are given another one."""
        machine, generator = self.machine, self._generator
        stayed = [where for where, card in machine.inside.items() if card.known]
        machine.inside |= zip(stayed, draw_cards(self.parameters, generator, len(stayed)), strict=True)
        number = len(self._truth)
        machine.draws[number] = Draws(*generator.random(3).tolist())
        record = Activation(cycle, kind, slot, len(machine.inside), len(machine.unseen), vain=int(kind == "insert"))
        machine.records[number] = record
        self._truth.append(record)
        return number

    def _clear(self, cycle: int) -> tuple[int, list[Edge]]:
        self._at_rest(cycle)
        pulled, self.machine.mouth = int(self.machine.mouth is not None), None
        return pulled, self._beams.edges([Crossing(cycle, cycle, A, False)] * pulled)

    def _at_rest(self, cycle: int) -> None:
        """Come to `cycle`; raises `RuntimeError` while anything moves: nobody reaches into it then."""
        if cycle < self._rest:
            raise RuntimeError("the blaster moves")
        self.machine.run(cycle)

    def _replan(self, cycle: int, *edges: Edge) -> Plan:
        self.machine.run(cycle)
        return self._plan(cycle, *edges)

    def _plan(self, cycle: int, *edges: Edge) -> Plan:
        machine, pack = self.machine, self._pack
        pack.count(self._current_A, cycle)
        machine.open_V, machine.ohm = pack.open_V, pack.ohm
        self.ahead = future = machine.ahead(cycle)
        for number, record in future.records.items():
            self._truth[number] = record
        self._rest = max(cycle, future.rest)
        self._current_A = add_steps([], future.steps)
        return Plan(sorted([*edges, *future.edges]), at_pins(self._current_A, pack.open_V, pack.ohm))
