# SPDX-License-Identifier: Apache-2.0
"""The toy's electronics: what a press does and when, and what it ignores."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rig.twin.avr import CYCLE_HZ
from rig.twin.plan import SOUND_PIN
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.plant import RollerPlant
from tests.rig.twin.observer import MS, loaded, reload

ALWAYS = RollerParameters(brain="iid", p_fire=1, jam=0, slip=0, slip_growth=0)
NEVER = replace(ALWAYS, p_fire=0)


def sound(edges):
    return [(cycle, level) for cycle, pin, level in edges if pin == SOUND_PIN]


def motor_starts(observer, after: int) -> list[int]:
    """Cycles at which the current rises by more than 0.5 A within a cycle or two."""
    points = observer.analog[0]
    return [b[0] for a, b in pairwise(points) if b[0] >= after and b[1] - a[1] > 0.5 and b[0] - a[0] <= 2]


@pytest.mark.parametrize("parameters", [ALWAYS, NEVER])
def test_every_accepted_press_sounds_in_time(parameters):
    observer, at = loaded(parameters, 1)
    watched = observer.press(at)
    (begin, up), (end, down) = sound(watched.edges)
    assert (up, down) == (1, 0)
    assert 30 * MS <= begin - at <= 60 * MS
    assert end - begin == 300 * MS
    assert watched.judged.verdict.name == ("ok" if parameters is ALWAYS else "no_run")


def test_the_motor_starts_after_the_sound_and_stops_after_its_run_time():
    observer, at = loaded(ALWAYS, 1)
    watched = observer.press(at)
    (start,) = motor_starts(observer, at)
    assert 100 * MS <= start - at <= 200 * MS
    driven_ms = watched.judged.roller_ms
    assert abs(driven_ms - watched.truth.run_ms) <= 10
    assert watched.truth.run_ms in dict(ALWAYS.run_ms)


def test_idle_sound_and_motor_are_told_apart_by_their_current():
    observer, at = loaded(ALWAYS, 1)
    assert observer.volts(0, np.array([at - 1])) == pytest.approx(0.015)
    observer.press(at)
    assert observer.volts(0, np.array([at + 100 * MS])) == pytest.approx(0.075)
    assert observer.volts(0, np.array([at + 150 * MS])) > 1.2
    assert 0.2 < observer.volts(0, np.array([at + 250 * MS])) < 0.6


def test_the_voltage_sags_by_the_current_times_the_resistance():
    observer, at = loaded(ALWAYS, 1)
    observer.press(at)
    cycles = at + np.arange(0, 900) * MS
    current, half_V = observer.volts(0, cycles), observer.volts(1, cycles)
    assert np.allclose(2 * half_V + ALWAYS.pack_ohm * current, 3 * ALWAYS.cell_V, atol=0.005)


def test_the_current_that_flows_discharges_the_pack():
    observer, at = loaded(ALWAYS, 1)
    before = observer.plant._pack.used_mAh
    observer.press(at)
    later = at + 4000 * MS
    cycles = np.arange(at, later, MS // 4)
    drawn = np.trapezoid(observer.volts(0, cycles), cycles) / CYCLE_HZ / 3.6
    at_press = observer.plant._pack.used_mAh
    observer.take(later, observer.plant.output(later, "power", 0.0))
    assert at_press > before  # the second since power-on
    assert observer.plant._pack.used_mAh - at_press == pytest.approx(drawn, rel=0.01)


def test_a_press_shorter_than_the_debounce_never_was():
    observer, at = loaded(replace(NEVER, brain="sequence", sequence=(2,)), 1)
    short = observer.press(at, hold_ms=19)
    assert sound(short.edges) == []
    assert (short.truth.accepted, short.truth.p_fire, short.truth.cause) == (False, None, "ignored")
    assert not observer.press(at + 1000 * MS).truth.fired
    assert observer.press(at + 2000 * MS).truth.fired  # the second that was taken


@pytest.mark.parametrize("wait_ms", [60, 200, 400])
def test_a_press_is_ignored_while_the_toy_is_busy(wait_ms):
    observer, at = loaded(NEVER, 1)
    observer.press(at)
    second = observer.press(at + wait_ms * MS, hold_ms=25)
    assert (second.truth.accepted, second.truth.cause) == (False, "ignored")
    assert sum(level for _, level in sound(observer.edges)) <= 1


def test_a_press_during_a_run_leaves_the_run_alone():
    one, at = loaded(ALWAYS, 1)
    other, _ = loaded(ALWAYS, 1)
    alone = one.press(at)
    other.press(at)
    assert other.plant.output(at + 260 * MS, "launch", 1.0) is None
    assert other.plant.output(at + 300 * MS, "launch", 0.0) is None
    assert other.plant.truth()[0] == alone.truth
    assert len(other.plant.truth()) == 2


def test_an_unpowered_toy_takes_no_press_and_leaves_no_record():
    observer, at = loaded(ALWAYS, 1, power=False)
    assert observer.plant.output(at, "launch", 1.0) is None
    assert observer.plant.truth() == []


def test_a_booting_toy_takes_no_press():
    observer, at = loaded(ALWAYS, 1, power=False)
    observer.take(at, observer.plant.output(at, "power", 1.0))
    assert not observer.press(at + 190 * MS).truth.accepted
    assert observer.press(at + 500 * MS).truth.accepted


def test_nothing_is_launched_with_the_lid_open():
    observer, at = loaded(ALWAYS, 1)
    observer.take(at, observer.plant.open_lid(at))
    watched = observer.press(at + MS)
    assert not watched.truth.accepted
    assert motor_starts(observer, at) == []


def test_opening_the_lid_stops_a_run():
    observer, at = loaded(replace(ALWAYS, run_ms=((865, 1.0),)), 1)
    observer.press(at)
    planned = observer.plant.truth()[0].cleared
    opened = at + 500 * MS
    observer.take(opened, observer.plant.open_lid(opened))
    assert observer.plant.truth()[0].cleared < planned
    assert observer.volts(0, np.array([opened + MS])) == pytest.approx(0.015)
    assert observer.plant.idle_after() < opened + 400 * MS


def test_closing_the_lid_beeps_and_begins_the_sequence_anew():
    observer, at = loaded(replace(NEVER, brain="sequence", sequence=(1,)), 1)
    assert observer.press(at).truth.fired
    assert not observer.press(at + 2000 * MS).truth.fired
    at += 5000 * MS
    reload(observer, at, 50)
    assert len(sound([edge for edge in observer.edges if edge[0] >= at])) == 2
    assert observer.press(at + 1000 * MS).truth.fired


def test_closing_a_closed_lid_does_nothing():
    observer, at = loaded(replace(NEVER, brain="sequence", sequence=(2,)), 1)
    observer.press(at)
    plan = observer.plant.close_lid(at + 2000 * MS)
    assert plan.edges == []
    assert observer.press(at + 3000 * MS).truth.fired


def test_a_power_cycle_begins_the_sequence_anew():
    observer, at = loaded(replace(NEVER, brain="sequence", sequence=(1,)), 1)
    observer.press(at)
    at += 2000 * MS
    observer.take(at, observer.plant.output(at, "power", 0.0))
    assert observer.volts(0, np.array([at + MS])) == 0
    observer.take(at + MS, observer.plant.output(at + MS, "power", 1.0))
    assert observer.press(at + 1000 * MS).truth.fired


def test_losing_power_ends_sound_and_run_at_once():
    observer, at = loaded(ALWAYS, 1)
    observer.press(at)
    cut = at + 200 * MS
    observer.take(cut, observer.plant.output(cut, "power", 0.0))
    assert sound(observer.edges)[-1] == (cut, 0)
    assert observer.volts(0, np.array([cut + MS])) == 0
    assert observer.plant.idle_after() < cut + 400 * MS


def test_a_wedged_card_keeps_the_motor_on_long_enough_to_be_called_a_jam():
    observer, at = loaded(replace(ALWAYS, jam=1, run_ms=((20, 1.0), (145, 5.0))), 2)
    for _ in range(10):
        watched = observer.press(at)
        if watched.truth.jammed:
            assert watched.judged.verdict.name == "jam"
            assert watched.judged.roller_ms >= 700
            assert watched.truth.dealt == 0
        pulled, plan = observer.plant.clear_mouth(at + 4000 * MS)
        observer.take(at + 4000 * MS, plan)
        assert pulled == watched.truth.jammed + watched.truth.sticking
        at += 6000 * MS


def test_levels_at_the_start_are_those_of_a_bench_at_rest():
    plan = RollerPlant(ALWAYS, 1).start(77)
    assert sorted(plan.edges) == [(77, 2, 1), (77, 8, 1), (77, 13, 0), (77, 17, 0), (77, 18, 0)]
    assert plan.analog == {0: [(77, 0.0)], 1: [(77, pytest.approx(3 * 1.58 / 2))]}


def test_hands_stay_out_while_the_roller_turns():
    observer, at = loaded(ALWAYS, 1)
    observer.press(at)
    for reach in (observer.plant.take_out, observer.plant.clear_mouth, observer.plant.clean):
        with pytest.raises(RuntimeError, match="the roller turns"):
            reach(at + 250 * MS)


def test_a_cleaned_roller_slips_as_a_new_one():
    observer, at = loaded(replace(ALWAYS, slip=0.1, slip_growth=0.01), 1)
    slips = []
    for _ in range(6):
        slips.append(observer.press(at).truth.p_slip)
        _, plan = observer.plant.clear_mouth(at + 3000 * MS)
        observer.take(at + 3000 * MS, plan)
        at += 5000 * MS
    assert slips == sorted(slips) and slips[-1] > slips[0] == 0.1
    observer.plant.clean(at)
    assert observer.press(at + MS).truth.p_slip == 0.1


def test_the_rig_reversing_the_roller_feeds_nothing():
    observer, at = loaded(ALWAYS, 1, power=False)
    assert observer.plant.output(at, "reverse", 1.0) is None
    observer.take(at + MS, observer.plant.output(at + MS, "roller", 1.0))
    assert observer.volts(0, np.array([at + 100 * MS])) > 0.15
    observer.take(at + 500 * MS, observer.plant.output(at + 500 * MS, "roller", 0.0))
    assert [edge for edge in observer.edges if edge[1] in (2, 8) and edge[0] > at] == []
    assert observer.plant.truth() == []
