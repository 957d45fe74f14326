# SPDX-License-Identifier: Apache-2.0
"""Couples the AVR and the plant in lockstep: outputs go to the plant, its plans become input edges and voltages.

Time passes only while somebody reads or sleeps; there is no thread and no wall clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from rig.errors import LinkLostError
from rig.operator import Sensor, Wait
from rig.twin.avr import CYCLE_HZ, Avr, Step
from rig.twin.clockset import LOOK_CYCLES, ClockSetter
from rig.twin.coils import Coils
from rig.twin.plan import OUTPUTS
from rig.wire.messages import Launcher

HANDS_IN_S = 10.0
"""Seconds that an operator takes to reach in, opening the lid where there is one, and again to be done."""

CLEAR_S = 5.0
"""Seconds to pull what sticks out of the mouth."""

CLEAN_S = 20.0
"""Seconds to clean the roller."""

WORK_S = 0.5
"""Seconds that an operator keeps a sensor as it is not at rest."""


class Planned(Protocol):
    """What a plant will do, if no output changes: `edges` (cycle, pin, level), `analog` channel -> (cycle, volts)."""

    @property
    def edges(self) -> Sequence[tuple[int, int, int]]:
        """Input edges, by cycle."""
        ...

    @property
    def analog(self) -> dict[int, list[tuple[int, float]]]:
        """Voltages at the ADC's pins."""
        ...


class Plant(Protocol):
    """The physical model, as far as the bench needs it; cycles count from power-on."""

    def start(self, cycle: int) -> Planned:
        """Levels and voltages at the beginning."""
        ...

    def output(self, cycle: int, signal: str, value: float) -> Planned | None:
        """An output changed, by its name in `rig.twin.plan.OUTPUTS`; None when nothing that was planned changes."""
        ...

    def idle_after(self) -> int:
        """Cycle after which nothing more is planned."""
        ...

    def open_lid(self, cycle: int) -> Planned:
        """The lid is opened."""
        ...

    def close_lid(self, cycle: int) -> Planned:
        """The lid is closed."""
        ...

    def take_out(self, cycle: int) -> tuple[int, Planned | None]:
        """The machine is emptied by hand; cards that were in it, and the plan if that changes any."""
        ...

    def load(self, cycle: int, cards: int) -> None:
        """Cards are put in."""
        ...

    def clear_mouth(self, cycle: int) -> tuple[int, Planned]:
        """Cards are pulled out of the mouth; how many."""
        ...

    def clean(self, cycle: int) -> None:
        """The roller is cleaned."""
        ...

    def by_hand(self, cycle: int, sensor: str, worked: bool) -> Sequence[tuple[int, int, int]]:
        """A card is held into a beam, or the interlock is opened; or all is as before."""
        ...


class TwinClock:
    """Virtual time: AVR cycles / 16 MHz. To sleep is to run the AVR."""

    def __init__(self, bench: TwinBench) -> None:
        self._bench = bench

    def now(self) -> float:
        """Seconds since power-on."""
        return self._bench.avr.cycle / CYCLE_HZ

    def sleep(self, seconds: float) -> None:
        """Run the AVR for `seconds`; bytes that it sends meanwhile are kept for the next read.

        Raises `LinkLostError` when the AVR has crashed: then there is no time any more.
        """
        self._bench.advance(self._bench.avr.cycle + math.ceil(seconds * CYCLE_HZ))  # a rest too short for a cycle ends, too
        if self._bench.crashed:
            raise LinkLostError("the simulated AVR has crashed: the firmware ran into nothing")


class TwinBench:
    """An AVR wired to a plant.

    `unmodelled` and `resets` (cycle, MCUSR) collect what the AVR reported, `coils` counts what was energised.
    """

    def __init__(self, plant: Plant, avr: Avr, clock_setter: ClockSetter | None = None) -> None:
        self.plant = plant
        self.avr = avr
        self._clock_setter = clock_setter
        self.clock = TwinClock(self)
        self.crashed = False
        self.unmodelled: list[str] = []
        self.resets: list[tuple[int, int]] = []
        self.coils = Coils()
        self._on: dict[str, float] = {}
        self._received = bytearray()
        self._schedule(plant.start(avr.cycle))

    def write(self, data: bytes) -> None:
        """Put bytes on the AVR's receive line, from now on, at wire rate."""
        self.avr.write(data)

    def read(self, until_cycle: int) -> bytes:
        """Run until the AVR has sent a frame (or what else ends in a zero byte), or to `until_cycle`; b"" then."""
        if not self._received:
            self.advance(until_cycle, until_sent=True)
        data = bytes(self._received)
        self._received.clear()
        return data

    def advance(self, until_cycle: int, *, until_sent: bool = False) -> None:
        """Run to `until_cycle`, plant coupled; with `until_sent`, only until a frame has been sent."""
        run, avr = self.avr.run, self.avr
        while avr.cycle < until_cycle and not self.crashed:
            setter = self._clock_setter
            if setter and setter.due:
                setter.look()
                step = run(min(until_cycle, avr.cycle + LOOK_CYCLES))
            else:
                step = run(until_cycle)
            if step.outputs:
                self._feed(step)
            if step.tx:
                self._received += step.tx
                if until_sent and step.tx[-1] == 0:
                    return
            if step.resets or step.unmodelled or step.crashed:
                self.resets += step.resets
                if step.resets and self._clock_setter:
                    self._clock_setter.was_reset()
                self.unmodelled += step.unmodelled
                self.crashed = step.crashed

    def reset(self, *, power_on: bool = False) -> None:
        """Reset the chip, as the far side does when it opens a board's port."""
        self.avr.reset(power_on=power_on)
        if self._clock_setter:
            self._clock_setter.was_reset()
        self.crashed = False
        self._received.clear()

    @property
    def busy(self) -> bool:
        """Whether anything but toy power is switched on, or the plant has not come to rest."""
        on = any(value for signal, value in self._on.items() if signal != "power")
        return on or self.plant.idle_after() > self.avr.cycle

    def close(self) -> None:
        """End the AVR; closing twice does no harm."""
        self.avr.close()

    # ------------------------------------------------------------------ hands

    def open_lid(self) -> None:
        """Open the lid now."""
        self._replace(self.avr.cycle, self.plant.open_lid(self.avr.cycle))

    def close_lid(self) -> None:
        """Close the lid now."""
        self._replace(self.avr.cycle, self.plant.close_lid(self.avr.cycle))

    def take_out(self) -> int:
        """Empty the machine by hand; how many cards were in it."""
        cards, plan = self.plant.take_out(self.avr.cycle)
        if plan is not None:
            self._replace(self.avr.cycle, plan)
        return cards

    def load(self, cards: int) -> None:
        """Put cards in."""
        self.plant.load(self.avr.cycle, cards)

    def clear_mouth(self) -> int:
        """Pull out what sticks in the mouth; how many cards that was."""
        cards, plan = self.plant.clear_mouth(self.avr.cycle)
        self._replace(self.avr.cycle, plan)
        return cards

    def clean(self) -> None:
        """Clean the roller."""
        self.plant.clean(self.avr.cycle)

    def by_hand(self, sensor: Sensor, worked: bool) -> None:
        """Hold a card into a beam, open the lid or the interlock; or, when it is not `worked`, make all as it was."""
        if sensor == "lid":
            (self.open_lid if worked else self.close_lid)()
        else:
            self.avr.edges(self.plant.by_hand(self.avr.cycle, sensor, worked))

    # ------------------------------------------------------------------ plumbing

    def _feed(self, step: Step) -> None:
        for output in step.outputs:
            signal = OUTPUTS.get(output.pin)
            if signal is None:
                continue
            self._on[signal] = output.value
            self.coils.output(output.cycle, signal, output.value)
            plan = self.plant.output(output.cycle, signal, output.value)
            if plan is not None:
                self._replace(output.cycle, plan)

    def _replace(self, cycle: int, plan: Planned) -> None:
        self.avr.cancel_after(cycle)
        self._schedule(plan)

    def _schedule(self, plan: Planned) -> None:
        self.avr.edges(plan.edges)
        for channel, points in plan.analog.items():
            self.avr.analog(channel, points)


class TwinOperator:
    """The person at the simulated bench; takes virtual time through `wait`, which serves the link meanwhile."""

    def __init__(self, bench: TwinBench, *, lid: bool = True) -> None:
        """`lid`: it has to be opened to get at the cards."""
        self._bench = bench
        self._lid = lid

    def meet(self, launcher: Launcher) -> None:
        """The plant knows which machine it is."""

    def load(self, cards: int, wait: Wait) -> None:
        """The first load."""
        self.reload(cards, wait)

    def count_out(self, wait: Wait) -> int | None:
        """Take out what is left at the end."""
        return self.reload(0, wait)

    def reload(self, cards: int, wait: Wait) -> int:
        """Reach in, take out what is left, put `cards` in, leave: 20 s. Returns how many were left."""
        if self._lid:
            self._bench.open_lid()
        wait(HANDS_IN_S)
        left = self._bench.take_out()
        self._bench.load(cards)
        wait(HANDS_IN_S)
        if self._lid:
            self._bench.close_lid()
        return left

    def clear_mouth(self, wait: Wait) -> int:
        """Pull out whatever sticks in the mouth. Returns how many cards that was."""
        wait(CLEAR_S)
        return self._bench.clear_mouth()

    def clean(self, wait: Wait) -> None:
        """Clean the roller."""
        wait(CLEAN_S)
        self._bench.clean()

    def work(self, sensor: Sensor, wait: Wait) -> None:
        """Work a sensor: half a second as it is not at rest, half a second as it was."""
        self._bench.by_hand(sensor, True)
        wait(WORK_S)
        self._bench.by_hand(sensor, False)
        wait(WORK_S)
