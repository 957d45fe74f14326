# SPDX-License-Identifier: Apache-2.0
"""Cards on their way out: order, spacing, dwell, limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest

from rig.twin import pack
from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.beams import A, B
from rig.twin.roller import motor
from rig.twin.roller.cards import Card
from rig.twin.roller.feed import EMPTY, GAP, HELD, NO, Feed, State, in_mouth
from rig.twin.roller.motor import Load
from rig.twin.roller.parameters import RollerParameters

P = RollerParameters()
COAST = motor.coasting(P)
MS = CYCLE_HZ // 1000


def card(**changes: float) -> Card:
    plain = Card(gap_mm=14.0, u_slip=1.0, slip_mm=0.0, drags=False, offset_mm=0.0, sticks=False, jams=False, wedge_mm=25.0)
    return plain._replace(**changes)


def drive(parameters: RollerParameters = P, used_mAh: float = 0, duty: float = 1.0) -> motor.Drive:
    return motor.powered(parameters, pack.open_V(parameters, used_mAh), pack.resistance_ohm(parameters, used_mAh), duty)


def at_rest(x: float = 14.0, phase: int = GAP, bodies: int = 0) -> State:
    return State(0, 0.0, phase, x, 0, bodies, 0, 0, 0, 0, NO, NO, -FOREVER, -FOREVER)


def passages(trace, beam: int) -> list[tuple[int, int]]:
    """(blocked, cleared) by card."""
    edges = sorted((c.cycle, c.blocked) for c in trace.crossings if c.beam == beam)
    assert [blocked for _, blocked in edges] == [True, False] * (len(edges) // 2)
    return [(edges[i][0], edges[i + 1][0]) for i in range(0, len(edges), 2)]


def run(cards: list[Card], state: State | None = None, using: motor.Drive | None = None, parameters: RollerParameters = P):
    return Feed(parameters).run(state or at_rest(), cards, using or drive(parameters), FOREVER)


def test_a_card_blocks_a_then_b_and_clears_a_then_b():
    trace = run([card()] * 5)
    for (a_on, a_off), (b_on, b_off) in zip(passages(trace, A), passages(trace, B), strict=True):
        assert a_on < b_on < a_off < b_off
    assert trace.end.cleared == 5
    assert trace.end.phase == EMPTY


def test_dwell_and_time_between_the_beams_follow_from_length_and_speed():
    for (a_on, a_off), (b_on, b_off) in list(zip(passages(run([card()] * 6), A), passages(run([card()] * 6), B), strict=True))[3:]:
        fly_mm_s = P.beam_b_mm / (b_off - a_off) * CYCLE_HZ
        assert drive().v_inf[Load.card] < fly_mm_s < drive().v_inf[Load.idle]
        assert P.card_mm / fly_mm_s == pytest.approx((a_off - a_on) / CYCLE_HZ, rel=0.01)
        assert P.card_mm / fly_mm_s == pytest.approx((b_off - b_on) / CYCLE_HZ, rel=1e-5)


def test_a_fresh_pack_takes_60_to_100_ms_a_card():
    starts = [on for on, _ in passages(run([card(gap_mm=20.0)] * 8), A)]
    for early, late in pairwise(starts[2:]):
        assert 60 * MS < late - early < 100 * MS


@pytest.mark.parametrize("used_mAh", [0, 3000, 6500])
@pytest.mark.parametrize("x", [0.0, 10.0, 19.9])
def test_single_cards_are_always_countable_and_seen_apart_by_a_look_every_10_ms(used_mAh, x):
    trace = run([card(gap_mm=P.gap_min_mm)] * 12, at_rest(x, HELD, 1), drive(used_mAh=used_mAh))
    for beam in (A, B):
        for (_, off), (on, _) in pairwise(passages(trace, beam)):
            assert on - off > 10 * MS


def corners() -> list[RollerParameters]:
    """The machines of the parameter table that are slowest with a card: heavy, dragging, with a worn pack."""
    heavy = replace(P, inertia_gcm2=1.3, roller_load_mNm=0.6, card_load_mNm=0.4, motor_ohm=5, pack_ohm=1)
    return [replace(heavy, torque_mNm_A=kt, emf_mV_s=ke, beam_a_mm=a) for kt, ke, a in product((1.5, 4), (2, 5), (10, 20))]


@pytest.mark.parametrize("parameters", [P, *corners()])
def test_a_passing_card_never_blocks_a_beam_as_long_as_a_jam(parameters):
    passed = 0
    for used_mAh, duty, x in product(range(0, 8001, 500), (1.0, 0.8, 0.6, 0.5), (0.0, parameters.beam_a_mm - 0.1)):
        double = card(drags=True, offset_mm=10.0)
        trace = run([double] + [card()] * 4, at_rest(x, HELD, 2), drive(parameters, used_mAh, duty), parameters)
        for on, off in passages(trace, A):
            passed += 1
            assert off - on < 299 * MS
    assert passed or parameters is not P


@pytest.mark.parametrize("used_mAh", [0, 3000, 6500])
def test_a_roller_switched_off_at_any_moment_leaves_no_card_in_between(used_mAh):
    feed, cards = Feed(P), [card()] * 6
    forward = feed.run(at_rest(), cards, drive(used_mAh=used_mAh), FOREVER)
    rests = set()
    for off in range(20 * MS, 600 * MS, 3 * MS // 2):
        until = feed.run(at_rest(), cards, drive(used_mAh=used_mAh), off)
        rest = feed.run(until.end, cards, COAST, FOREVER)
        edges = sorted({c for c in until.crossings + rest.crossings if c.sure < off} | set(rest.crossings))
        level = sum(1 if c.blocked else -1 for c in edges if c.beam == A)
        assert level == (in_mouth(rest.end) > 0)
        assert sum(not c.blocked for c in edges if c.beam == A) == rest.end.cleared
        assert rest.end.cycle - off < 100 * MS
        assert rest.end.v == 0
        rests.add(level)
    assert rests == {0, 1}
    assert forward.end.cleared == 6


def test_a_card_lets_go_late_only_as_fast_as_it_can_fly_out():
    """A card that the coasting roller lets go below the throwing speed stays in the mouth."""
    slow = at_rest(P.grip_mm - 0.5, HELD, 1)._replace(v=P.throw_mm_s * 0.9, a=0)
    fast = slow._replace(v=P.throw_mm_s * 1.2)
    assert in_mouth(Feed(P).run(slow, [card()], COAST, FOREVER).end) == 1
    assert in_mouth(Feed(P).run(fast, [card()], COAST, FOREVER).end) == 0
    assert in_mouth(Feed(P).run(fast, [card(sticks=True)], COAST, FOREVER).end) == 1
    assert Feed(P).run(fast, [card(sticks=True)], drive(), FOREVER).end.cleared == 1


def test_nothing_follows_a_card_that_stays_in_the_mouth():
    stuck = at_rest(P.grip_mm - 0.5, HELD, 1)._replace(v=300.0, a=0)
    rest = Feed(P).run(stuck, [card()] * 5, COAST, FOREVER).end
    assert Feed(P).run(rest, [card()] * 5, drive(), FOREVER).end.cleared == 0


def test_the_two_cards_of_a_double_feed_look_like_one():
    exact = run([card(drags=True), card()])
    assert len(passages(exact, A)) == 1
    assert (exact.end.cleared, exact.end.doubles) == (2, 1)
    shingled = run([card(drags=True, offset_mm=6.0), card()])
    (on, off), (a, b) = passages(exact, A)[0], passages(shingled, A)[0]
    assert (b - a) / (off - on) == pytest.approx((88 + 6) / 88, rel=0.01)


def test_the_last_card_drags_nothing_along():
    assert (run([card(drags=True)]).end.cleared, run([card(drags=True)]).end.doubles) == (1, 0)


def test_a_card_that_slips_comes_late_by_the_travel_that_it_slips():
    plain, slipping = run([card()] * 3), run([card(u_slip=0.0, slip_mm=100.0), card(), card()])
    assert slipping.end.slips == 1
    assert slipping.end.cleared == 3
    late_s = (passages(slipping, A)[0][0] - passages(plain, A)[0][0]) / CYCLE_HZ
    assert 100 / drive().v_inf[Load.idle] < late_s < 1.5 * 100 / drive().v_inf[Load.idle]


def test_a_dirty_roller_slips_more_often():
    dirty = at_rest()._replace(since_clean=100_000)
    assert run([card(u_slip=0.1, slip_mm=50.0)], dirty).end.slips == 1
    assert run([card(u_slip=0.1, slip_mm=50.0)]).end.slips == 0


def test_a_wedged_card_blocks_the_mouth_and_stalls_the_roller():
    trace = run([card(), card(jams=True), card()])
    assert trace.end.cleared == 1
    assert in_mouth(trace.end) == 1
    assert trace.segments[-1].end == FOREVER
    last = trace.segments[-1]
    stalled_A = last.drive.still_A - last.drive.slope_A * last.v_inf
    assert stalled_A == pytest.approx(drive().still_A) and stalled_A > 0.85
