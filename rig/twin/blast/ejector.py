# SPDX-License-Identifier: Apache-2.0
"""The cards, each with a fate of its own, and what becomes of them when the latch lets go.

The spring throws the cards out of their slots one after another, the lowest slot first. Nothing is drawn at random here: a
card carries its fate from the moment it was laid into the loader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rig.twin.avr import CYCLE_HZ
from rig.twin.beams import A, B, Crossing
from rig.twin.blast.parameters import BlastParameters
from rig.twin.plan import cycles

_DRAWS = 6
_TOUCH = CYCLE_HZ // 1000  # cards less than 1 ms apart touch, and look like one


class Card(NamedTuple):
    """A card and its fate. `offset_mm` is that of the next card when this one drags it along; `late_ms` is its own delay.

    known: it has met its fate, having stayed in its slot, and is to be given a new one.
    """

    stays: bool
    jams: bool
    drags: bool
    offset_mm: float
    late_ms: float
    known: bool = False


class Flight(NamedTuple):
    """What a spring that was let go does: cards by their place among those loaded, and what the beams see."""

    left: list[int]
    stayed: list[int]
    wedged: int | None
    double_feeds: int
    crossings: list[Crossing]


def draw_cards(parameters: BlastParameters, generator: np.random.Generator, cards: int) -> list[Card]:
    """Draw what will happen to each of `cards` cards."""
    p = parameters
    return [
        Card(
            stays=u[0] < p.partial,
            jams=u[1] < p.jam,
            drags=u[2] < p.double_feed,
            offset_mm=0.0 if u[3] < p.overlap else p.shingle_mm * u[4],
            late_ms=p.jitter_ms * u[5],
        )
        for u in generator.random((cards, _DRAWS)).tolist()
    ]


def fly(parameters: BlastParameters, cards: Sequence[Card], cycle: int) -> Flight:
    """Let the spring go at `cycle` under `cards`, by slot."""
    p = parameters
    left: list[int] = []
    stayed: list[int] = []
    starts: list[int] = []
    wedged: int | None = None
    for place, card in enumerate(cards):
        if card.stays:
            stayed.append(place)
            continue
        before = cards[left[-1]] if left else None
        if before is None:
            start = cycle + cycles(card.late_ms)
        elif before.drags:
            start = starts[-1] + _travel(before.offset_mm, p)
        else:
            start = starts[-1] + cycles(p.stagger_ms + card.late_ms)
        starts.append(start)
        if card.jams:
            wedged = place
            break
        left.append(place)
    to_a, to_b, length = _travel(p.beam_a_mm, p), _travel(p.beam_a_mm + p.beam_b_mm, p), _travel(p.card_mm, p)
    at_a = _passages([start + to_a for start in starts], length)
    crossings = _crossings(cycle, A, at_a)
    if wedged is not None:
        crossings.pop()  # the last passage does not end
    at_b = _passages([start + to_b for start, _ in zip(starts, left, strict=False)], length)
    crossings += _crossings(cycle, B, at_b)
    return Flight(left, stayed, wedged, len(starts) - len(at_a), crossings)


def _travel(mm: float, p: BlastParameters) -> int:
    """Cycles that a card in flight takes for `mm`."""
    return round(mm / p.throw_mm_s * CYCLE_HZ)


def _crossings(cycle: int, beam: int, passages: Sequence[tuple[int, int]]) -> list[Crossing]:
    both = ((0, True), (1, False))
    return [Crossing(cycle, passage[end], beam, blocked) for passage in passages for end, blocked in both]


def _passages(fronts: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Cycles at which a beam is blocked and cleared by cards that arrive at `fronts`; cards that touch are one passage."""
    found: list[tuple[int, int]] = []
    for front in fronts:
        if found and front < found[-1][1] + _TOUCH:
            found[-1] = (found[-1][0], front + length)
        else:
            found.append((front, front + length))
    return found
