# SPDX-License-Identifier: Apache-2.0
"""The hopper, the cards and the roller that draws them out, as a chain of closed-form segments.

The roller is an eccentric wheel, as in the patent (`docs/facts.md#mechanism`): it grips the bottom card, moves it for a part
of its length and lets go; the card flies on, past two beams, at the speed it then has. The next card is not gripped before
that one is out of the way. Nothing here is drawn at random: each card carries what will happen to it from the moment it is
loaded, so a plan can be cut anywhere and made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.beams import A, B, Crossing
from rig.twin.roller.cards import Card
from rig.twin.roller.motor import Drive, Load, speed, time_to, time_to_stop, travel
from rig.twin.roller.parameters import RollerParameters

NO = -1  # where a state gives the cycle since which a beam is blocked: it is clear
_FOLLOW = CYCLE_HZ // 500  # cards behind each other never come closer than 2 ms at a beam
_SEIZE_S = 0.004  # a seizing motor comes to rest within a few milliseconds [UNV]


# What the roller is about; plain integers, since the feed looks at little else.
GAP = 0  # turning until the next card is gripped; `x` mm of travel are left
SLIP = 1  # turning under a card that it does not grip; `x` mm of travel are left
HELD = 2  # drawing a card, whose leading edge has come `x` mm
WEDGE = 3  # slipping on a card that is wedged in the mouth; `x` s are left until it stalls
STALL = 4  # stalled by that card
CAUGHT = 5  # a card rests in the mouth, out of the roller's reach
EMPTY = 6  # no card left

_LOADS = (Load.idle, Load.idle, Load.card, Load.wedge, Load.wedge, Load.idle, Load.idle)


class State(NamedTuple):
    """The feed at one moment. `card` is the index of the first card that is still inside; `bodies` are on their way out."""

    cycle: int
    v: float
    phase: int
    x: float
    card: int
    bodies: int
    since_clean: int
    cleared: int
    doubles: int
    slips: int
    a: int  # cycle since which beam A is blocked, or NO
    b: int
    a_clear: int  # cycle at which the last card that left clears beam A
    b_clear: int


class Segment(NamedTuple):
    """A stretch with one closed form, from `state` until `end`."""

    state: State
    end: int
    v_inf: float
    tau_s: float
    drive: Drive


class Trace(NamedTuple):
    """A stretch of the feed's future."""

    segments: list[Segment]
    crossings: list[Crossing]
    end: State


def next_card(cards: Sequence[Card], index: int) -> tuple[int, float]:
    """Phase and travel left when card `index` is the next one to come."""
    return (GAP, cards[index].gap_mm) if index < len(cards) else (EMPTY, 0.0)


def in_mouth(state: State) -> int:
    """Cards that stand in beam A."""
    return state.bodies if state.a != NO else 0


def p_slip(parameters: RollerParameters, since_clean: int) -> float:
    """Probability that the roller slips on the next card."""
    return min(parameters.slip + parameters.slip_growth * since_clean, 1.0)


def _moved(s: State, cycle: int, v: float, phase: int, x: float) -> State:
    """`s` with what changes all the time; much cheaper than `_replace`."""
    return State(cycle, v, phase, x, *s[4:])


def at(segment: Segment, cycle: int) -> State:
    """The state at `cycle` within `segment`."""
    s = segment.state
    t = (cycle - s.cycle) / CYCLE_HZ
    moved = travel(t, s.v, segment.v_inf, segment.tau_s)
    x = s.x
    if s.phase == HELD:
        x += moved
    elif s.phase in (GAP, SLIP):
        x -= moved
    elif s.phase == WEDGE and segment.drive.driven:
        x -= t
    v = max(speed(t, s.v, segment.v_inf, segment.tau_s), 0.0)
    return _moved(s, cycle, v, s.phase, x)


def cut(segment: Segment, cycle: int) -> State:
    """The state when something from outside happens at `cycle`: a beam that would be blocked only then is not blocked yet."""
    state = at(segment, cycle)
    if state.a >= cycle or state.b >= cycle:
        state = state._replace(a=state.a if state.a < cycle else NO, b=state.b if state.b < cycle else NO)
    return state


class Feed:
    """Runs cards under a drive."""

    def __init__(self, parameters: RollerParameters) -> None:
        self._p = parameters
        self._a_mm = parameters.beam_a_mm
        self._b_mm = parameters.beam_a_mm + parameters.beam_b_mm
        self._grip_mm = parameters.grip_mm

    def run(self, state: State, cards: Sequence[Card], drive: Drive, until: int) -> Trace:
        """Follow the feed from `state` under `drive` until the cycle `until`, or until it has come to rest."""
        segments: list[Segment] = []
        crossings: list[Crossing] = []
        driven, loads, drive_tau_s = drive.driven, drive.v_inf, drive.tau_s
        while state.cycle < until and (driven or state.v > 0.0):
            cycle, v, phase, x = state[:4]
            seizing = phase == STALL and driven
            v_inf, tau_s = (0.0, _SEIZE_S) if seizing else (loads[_LOADS[phase]], drive_tau_s)
            # The segment ends with its phase, with the time given, or at rest.
            t = end_s = (until - cycle) / CYCLE_HZ if until != FOREVER else inf
            if not driven:
                t = min(t, time_to_stop(v, v_inf, tau_s))
            reach_s = inf
            if phase == HELD:
                card = cards[state.card]
                reach_s = time_to((card.wedge_mm if card.jams else self._grip_mm) - x, v, v_inf, tau_s)
                t = min(t, reach_s)
                state = self._cross(state, crossings, v_inf, tau_s, t)
            elif phase <= SLIP:
                reach_s = time_to(x, v, v_inf, tau_s)
            elif phase == WEDGE and driven:
                reach_s = x
            t = min(t, reach_s)
            end = until if t == end_s else cycle + round(t * CYCLE_HZ)
            segment = Segment(state, end, v_inf, tau_s, drive)
            segments.append(segment)
            if end == FOREVER:
                break
            if t == reach_s:
                state = self._next(state, end, speed(t, v, v_inf, tau_s), cards, drive, crossings)
            else:
                state = at(segment, end)
                if t < end_s:
                    state = state._replace(v=0.0)
                    break
        return Trace(segments, crossings, state)

    def _cross(self, state: State, crossings: list[Crossing], v_inf: float, tau_s: float, t: float) -> State:
        """Let the leading edge block the beams that it reaches within `t`."""
        a, b = state.a, state.b
        if a == NO:
            reach_s = time_to(self._a_mm - state.x, state.v, v_inf, tau_s)
            if reach_s > t or reach_s == inf:
                return state
            a = max(state.cycle + round(reach_s * CYCLE_HZ), state.a_clear + _FOLLOW)
            crossings.append(Crossing(a, a, A, True))
        if b == NO and self._b_mm < self._grip_mm:
            reach_s = time_to(self._b_mm - state.x, state.v, v_inf, tau_s)
            if reach_s <= t and reach_s != inf:
                b = max(state.cycle + round(reach_s * CYCLE_HZ), state.b_clear + _FOLLOW)
                crossings.append(Crossing(b, b, B, True))
        return State(*state[:10], a, b, *state[12:])

    def _next(self, s: State, cycle: int, v: float, cards: Sequence[Card], drive: Drive, crossings: list[Crossing]) -> State:
        """What follows when a phase has ended by itself."""
        if s.phase == WEDGE:
            return _moved(s, cycle, v, STALL, 0.0)
        card = cards[s.card]
        if s.phase == GAP and card.u_slip < p_slip(self._p, s.since_clean):
            return _moved(s, cycle, v, SLIP, card.slip_mm)._replace(slips=s.slips + 1)
        if s.phase in (GAP, SLIP):
            bodies = 2 if card.drags and s.card + 1 < len(cards) else 1
            return State(cycle, v, HELD, 0.0, s.card, bodies, *s[6:])
        if card.jams:
            return _moved(s, cycle, v, WEDGE, self._p.wedge_ms / 1000)
        if not drive.driven and (v < self._p.throw_mm_s or card.sticks):
            return _moved(s, cycle, v, CAUGHT, self._grip_mm)
        return self._throw(s, cycle, v, cards, drive, crossings)

    def _throw(self, s: State, cycle: int, v: float, cards: Sequence[Card], drive: Drive, crossings: list[Crossing]) -> State:
        """The roller lets go of a card, which flies past the beams at its speed; a driven roller pushes a slow one on."""
        fly_mm_s = max(v, self._p.throw_mm_s)
        length_mm = self._p.card_mm + (cards[s.card].offset_mm if s.bodies > 1 else 0.0)
        cycles_per_mm = CYCLE_HZ / fly_mm_s
        a_mm = self._a_mm - self._grip_mm + length_mm  # until beam A is clear
        b_mm = self._b_mm - self._grip_mm
        if s.b == NO:
            crossings.append(Crossing(cycle, cycle + round(b_mm * cycles_per_mm), B, True))
        a_clear, b_clear = cycle + round(a_mm * cycles_per_mm), cycle + round((b_mm + length_mm) * cycles_per_mm)
        crossings.append(Crossing(cycle, a_clear, A, False))
        crossings.append(Crossing(cycle, b_clear, B, False))
        following = s.card + s.bodies
        phase, x = next_card(cards, following)
        if phase == GAP:
            # While the card in flight clears beam A, the roller's surface moves no further than this at its end speed; the
            # next card, `beam_a_mm` short of the beam, starts so much later that its own gap remains.
            x += a_mm * max(drive.v_inf[Load.idle] / fly_mm_s, 1.0) - self._a_mm
        doubles, slips = s.doubles + (s.bodies > 1), s.slips
        since_clean, cleared = s.since_clean + s.bodies, s.cleared + s.bodies
        return State(cycle, v, phase, x, following, 0, since_clean, cleared, doubles, slips, NO, NO, a_clear, b_clear)
