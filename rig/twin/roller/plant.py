# SPDX-License-Identifier: Apache-2.0
"""The simulated roller launcher as the bench sees it: outputs go in, edges and waveforms come out, truth is kept.

Whenever something happens to it the plant plans ahead until all is at rest. A later event cuts the plan: what was sure
by then stays, the rest is made again. It knows no AVR, only cycles of its clock.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from rig.twin.avr import FOREVER
from rig.twin.beams import CLEAR, PINS, A, B, Beams, Crossing
from rig.twin.pack import Pack
from rig.twin.plan import INTERLOCK_PIN, LID_PIN, SOUND_PIN, Plan, cycles, new_uuid
from rig.twin.roller import motor
from rig.twin.roller.cards import Card, draw_cards
from rig.twin.roller.current import motor_A
from rig.twin.roller.feed import (
    EMPTY,
    NO,
    SLIP,
    STALL,
    WEDGE,
    Feed,
    Segment,
    State,
    Trace,
    cut,
    in_mouth,
    next_card,
    p_slip,
)
from rig.twin.roller.foresight import plan_run
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.toy import Toy
from rig.twin.roller.truth import CYCLES_PER_MS, Activation, was_jam
from rig.twin.waveform import Points, add_steps, at_pins


class RollerPlant:
    """A roller launcher. Cycles given to its methods must not decrease.

    The same parameters, seed and calls give the same answers, to the bit.
    """

    def __init__(self, parameters: RollerParameters, seed: int) -> None:
        self.parameters = parameters
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self.board_uuid = new_uuid(self._generator)
        self._feed = Feed(parameters)
        self._beams = Beams(parameters)
        self._toy = Toy(parameters)
        self._coast = motor.coasting(parameters)
        self._cards: list[Card] = []
        self._duty = 0.0
        self._reverse = False
        self._pack = Pack(parameters)
        # The plan in force: where it began, how it goes on, where it ends.
        self._start = self._end = State(0, 0.0, EMPTY, 0.0, 0, 0, 0, 0, 0, 0, NO, NO, -FOREVER, -FOREVER)
        self._segments: list[Segment] = []
        self._crossings: list[Crossing] = []
        self._current_A: Points = [(0, 0.0)]
        # The activation in force: its record, the feed before it, and when its drive goes off.
        self._truth: list[Activation] = []
        self._active: Activation | None = None
        self._before = self._start
        self._off = 0

    # ------------------------------------------------------------ the bench

    def start(self, cycle: int) -> Plan:
        """Levels of every input at `cycle`: beams clear, lid and interlock closed, no sound, nothing drawn from the pack."""
        self._pack.counted = cycle
        self._cut(cycle)
        levels = ((PINS[A], CLEAR), (PINS[B], CLEAR), (SOUND_PIN, 0), (INTERLOCK_PIN, 0), (LID_PIN, 0))
        return self._plan(cycle, *((cycle, pin, level) for pin, level in levels))

    def output(self, cycle: int, signal: str, value: float) -> Plan | None:
        """An output changed to `value` (0, 1, or the roller's duty). None when that changes nothing that was planned.

        The plant listens to `launch`, `roller`, `reverse` and `power`.
        """
        match signal:
            case "launch":
                return self._launch(cycle, value > 0)
            case "power":
                return self._power(cycle, value > 0)
            case "roller":
                return self._bridge(cycle, min(max(value, 0.0), 1.0), self._reverse)
            case "reverse":
                return self._bridge(cycle, self._duty, value > 0)
        return None

    def idle_after(self) -> int:
        """The cycle after which nothing more is planned."""
        ends = [segment.end for segment in self._segments if segment.end != FOREVER]
        last = [crossing.cycle + self._beams.delay for crossing in self._crossings]
        return max(self._start.cycle, self._toy.sound[1], self._current_A[-1][0], *ends, *last)

    @property
    def is_empty(self) -> bool:
        """No card is in the hopper; one may still stand in the mouth."""
        return len(self._cards) - self._end.card - in_mouth(self._end) == 0

    def truth(self) -> list[Activation]:
        """One record per button-down that reached a powered toy, or per start of the roller by the rig, by cycle."""
        return list(self._truth)

    # ------------------------------------------------------------ the operator

    def open_lid(self, cycle: int) -> Plan:
        """Open the lid: the toy stops."""
        self._forget_press(cycle)
        was_closed = self._toy.lid_closed
        self._toy.open_lid()
        self._interrupt(cycle)
        return self._plan(cycle, *([(cycle, LID_PIN, 1)] if was_closed else []))

    def close_lid(self, cycle: int) -> Plan:
        """Close the lid until it snaps: the toy beeps and begins anew. Nothing happens when it is closed."""
        was_closed = self._toy.lid_closed
        if not was_closed:
            self._toy.close_lid(cycle)
        self._interrupt(cycle)
        return self._plan(cycle, *([] if was_closed else [(cycle, LID_PIN, 0)]))

    def take_out(self, cycle: int) -> tuple[int, None]:
        """Empty the hopper by hand. Returns the cards that were in it, one that rests short of beam A included; no plan changes."""
        state = self._resting(cycle)
        held = in_mouth(state)
        inside = len(self._cards) - state.card - held
        self._cards = self._cards[state.card : state.card + held]
        phase, x = (state.phase, state.x) if held else (EMPTY, 0.0)
        self._set_resting(state._replace(card=0, phase=phase, x=x, bodies=held))
        return inside, None

    def load(self, cycle: int, cards: int) -> None:
        """Put `cards` cards into the hopper, on top of what is in it."""
        if cards < 0:
            raise ValueError(f"{cards} cards cannot be loaded")
        state = self._resting(cycle)
        self._cards = self._cards[state.card :] + draw_cards(self.parameters, self._generator, cards)
        phase, x = next_card(self._cards, 0) if state.phase == EMPTY else (state.phase, state.x)
        self._set_resting(state._replace(card=0, phase=phase, x=x))

    def clear_mouth(self, cycle: int) -> tuple[int, Plan]:
        """Pull out what stands in beam A. Returns the number of cards and the plan in which the beams clear."""
        state = self._resting(cycle)
        pulled = in_mouth(state)
        beams = ((A, state.a), (B, state.b))
        cleared = [Crossing(cycle - 1, cycle, beam, False) for beam, since in beams if since != NO and pulled]
        if pulled:
            following = state.card + pulled
            phase, x = next_card(self._cards, following)
            self._set_resting(
                state._replace(card=following, phase=phase, x=x, bodies=0, a=NO, b=NO, since_clean=state.since_clean + pulled)
            )
        self._cut(cycle)
        self._crossings += cleared
        return pulled, self._plan(cycle)

    def clean(self, cycle: int) -> None:
        """Clean the roller."""
        self._set_resting(self._resting(cycle)._replace(since_clean=0))

    def by_hand(self, cycle: int, sensor: str, worked: bool) -> list[tuple[int, int, int]]:
        """Hold a card into `beam_a` or `beam_b`, or open the `interlock`; undo that when not `worked`.

        Returns the edges that this makes. A card that stands in the beam hides the one held into it.
        """
        if sensor == "interlock":
            return [(cycle, INTERLOCK_PIN, int(worked))]
        state = self._state(cycle)
        beam, since = (A, state.a) if sensor == "beam_a" else (B, state.b)
        return self._beams.edges([Crossing(cycle, cycle, beam, worked)]) if since == NO else []

    # ------------------------------------------------------------ outputs

    def _launch(self, cycle: int, down: bool) -> Plan | None:
        if not down:
            if not self._forget_press(cycle):
                return None
            self._interrupt(cycle)
            return self._plan(cycle)
        if not self._toy.powered or self._duty > 0:  # the bridge drives: the motor is not on the toy's board
            return None
        u_fire, u_run = self._generator.random(2).tolist()
        state = self._state(cycle)
        record = Activation(cycle, "button", hopper=len(self._cards) - state.card)
        self._truth.append(record)
        draw = self._toy.press(cycle, u_fire, u_run)
        if draw is None:
            return None
        record.accepted, record.cause = True, "no_run"
        record.p_fire, record.fired, record.p_slip = draw.p_fire, draw.fired, p_slip(self.parameters, state.since_clean)
        self._activate(record, cycle)
        if draw.fired:
            self._fire(record, cycle + cycles(self.parameters.motor_delay_ms), draw.run_ms)
        else:
            self._follow(self._feed.run(self._start, self._cards, self._coast, FOREVER))
        return self._plan(cycle)

    def _fire(self, record: Activation, begin: int, run_ms: int) -> None:
        """Plan the toy's own run of the roller, which begins at cycle `begin`."""
        # The roller may still coast from an earlier run.
        until = self._feed.run(self._start, self._cards, self._coast, begin)
        start = until.end._replace(cycle=begin)
        drive = motor.powered(self.parameters, self._pack.open_V, self._pack.ohm)
        run = plan_run(
            self._feed, self._cards, start, drive, self._coast, self._toy.brain.runs, run_ms, self.parameters.jam_hold_ms
        )
        record.run_ms, record.p_count, record.p_jam = run_ms, run.p_count, run.p_jam
        self._follow(until)
        self._follow(run.trace)
        self._toy.stay_deaf(run.off)
        self._settle(run.off)

    def _forget_press(self, cycle: int) -> bool:
        """The button came up, or the toy was cut short: undo a press that was not yet taken, if there is one."""
        record = self._active
        if record is None or not self._toy.forget(cycle):
            return False
        position = next(i for i, each in enumerate(self._truth) if each is record)
        self._truth[position] = Activation(record.cycle, record.drive, record.hopper)
        self._active = None
        return True

    def _power(self, cycle: int, on: bool) -> Plan | None:
        if on == self._toy.powered:
            return None
        sounding = self._toy.sound[0] < cycle < self._toy.sound[1]
        if on:
            self._toy.power_on(cycle)
        else:
            self._forget_press(cycle)
            self._toy.power_off(cycle)
        self._interrupt(cycle)
        return self._plan(cycle, *([(cycle, SOUND_PIN, 0)] if sounding else []))

    def _bridge(self, cycle: int, duty: float, reverse: bool) -> Plan | None:
        """The rig's own bridge drives the motor."""
        if (duty, reverse and duty > 0) == (self._duty, self._reverse and self._duty > 0):
            self._reverse = reverse
            return None
        begins = self._duty == 0 and duty > 0 and not reverse
        self._duty, self._reverse = duty, reverse
        if begins:
            state = self._state(cycle)
            record = Activation(cycle, "direct", len(self._cards) - state.card, accepted=True, fired=True)
            record.p_slip = p_slip(self.parameters, state.since_clean)
            self._truth.append(record)
            self._activate(record, cycle)
        self._interrupt(cycle)
        return self._plan(cycle)

    # ------------------------------------------------------------ the plan in force

    def _state(self, cycle: int) -> State:
        """The feed just before `cycle`."""
        segments = self._segments
        if not segments or cycle <= segments[0].state.cycle:
            return self._start._replace(cycle=cycle)
        if cycle > segments[-1].end:
            return self._end._replace(cycle=cycle)
        return cut(segments[bisect_left(segments, cycle, key=lambda segment: segment.end)], cycle)

    def _cut(self, cycle: int) -> None:
        """End the plan in force at `cycle`; crossings that were sure by then stay."""
        self._pack.count(self._current_A, cycle)
        self._start = self._end = self._state(cycle)
        self._segments = []
        delay = self._beams.delay
        self._crossings = [each for each in self._crossings if each.sure < cycle <= each.cycle + delay]

    def _follow(self, trace: Trace) -> None:
        self._segments += trace.segments
        self._crossings += trace.crossings
        self._end = trace.end

    def _activate(self, record: Activation, cycle: int) -> None:
        """From `cycle` on what happens belongs to `record`."""
        self._cut(cycle)
        self._active, self._before, self._off = record, self._start, FOREVER

    def _interrupt(self, cycle: int) -> None:
        """Something happened at `cycle` that ends any run of the toy's; the rig's bridge goes on."""
        self._cut(cycle)
        if self._duty > 0:
            make = motor.reversed_ if self._reverse else motor.powered
            drive = make(self.parameters, self._pack.open_V, self._pack.ohm, self._duty)
            self._follow(self._feed.run(self._start, self._cards, drive, FOREVER))
        else:
            self._follow(self._feed.run(self._start, self._cards, self._coast, FOREVER))
        self._settle(FOREVER if self._duty > 0 else min(self._off, cycle))

    def _settle(self, off: int) -> None:
        """Bring the record of the activation in force up to the plan; its drive goes off at `off`."""
        self._off = off
        record, before, end = self._active, self._before, self._end
        if record is None:
            return
        held = in_mouth(end)
        wedged = end.phase in (WEDGE, STALL) and held > 0
        record.jammed = int(wedged and was_jam(record.cycle, end.a, off))
        record.cleared = end.cleared - before.cleared
        record.sticking = 0 if record.jammed else held
        record.double_feeds = end.doubles - before.doubles + (held > 1)
        record.slips = end.slips - before.slips + (before.phase == SLIP)
        record.cause = self._cause(record)
        if record.drive == "direct" and off != FOREVER:
            record.run_ms = (off - record.cycle) / CYCLES_PER_MS

    def _cause(self, record: Activation) -> str:
        if record.jammed:
            return "jam"
        if not record.fired:
            return "no_run"
        if record.dealt:
            return "ok"
        return "slip" if record.hopper else "empty"

    def _resting(self, cycle: int) -> State:
        """The feed at `cycle`; raises `RuntimeError` while the roller turns: nobody reaches into it then."""
        state = self._state(cycle)
        if state.v > 0 or (self._segments and cycle <= self._segments[-1].end):
            raise RuntimeError("the roller turns")
        return state

    def _set_resting(self, state: State) -> None:
        """Put the feed into `state`, which an operator has made. The record of the last activation is closed."""
        self._active = None
        self._segments = []
        self._start = self._end = state

    def _plan(self, cycle: int, *extra: tuple[int, int, int]) -> Plan:
        edges = sorted([*extra, *self._toy.sound_edges(cycle), *self._beams.edges(self._crossings)])
        self._current_A = add_steps(motor_A(self._segments, cycle), self._toy.steps_A(cycle))
        return Plan(edges, at_pins(self._current_A, self._pack.open_V, self._pack.ohm))
