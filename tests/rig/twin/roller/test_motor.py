# SPDX-License-Identifier: Apache-2.0
"""The motor and the pack obey the physics that they claim."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rig.twin import pack, waveform
from rig.twin.avr import CYCLE_HZ, FOREVER
from rig.twin.roller import motor
from rig.twin.roller.current import motor_A
from rig.twin.roller.feed import GAP, NO, Feed, State
from rig.twin.roller.motor import Load, speed, time_to, time_to_stop, travel
from rig.twin.roller.parameters import RollerParameters

P = RollerParameters()
FRESH_V, FRESH_OHM = pack.open_V(P, 0), pack.resistance_ohm(P, 0)
FRESH = motor.powered(P, FRESH_V, FRESH_OHM)
CASES = [(0.0, 1250.0, 0.05), (1250.0, 1100.0, 0.05), (900.0, -260.0, 0.052), (700.0, 0.0, 0.03), (1.0, 1300.0, 0.07)]
REST = State(0, 0.0, GAP, 1e9, 0, 0, 0, 0, 0, 0, NO, NO, -FOREVER, -FOREVER)


@pytest.mark.parametrize(("v0", "v_inf", "tau_s"), CASES)
def test_the_closed_forms_solve_the_equation_of_motion(v0, v_inf, tau_s):
    end_s = min(time_to_stop(v0, v_inf, tau_s), 0.3)
    solved = solve_ivp(lambda t, y: [y[1], (v_inf - y[1]) / tau_s], (0, end_s), [0, v0], rtol=1e-9, atol=1e-9)
    assert travel(end_s, v0, v_inf, tau_s) == pytest.approx(solved.y[0][-1], rel=1e-6)
    assert speed(end_s, v0, v_inf, tau_s) == pytest.approx(solved.y[1][-1], rel=1e-6, abs=1e-5)


@pytest.mark.parametrize(("v0", "v_inf", "tau_s"), CASES)
@pytest.mark.parametrize("distance", [0.001, 1.0, 9.0, 15.0, 100.0])
def test_time_to_a_distance_is_the_inverse_of_travel(v0, v_inf, tau_s, distance):
    t = time_to(distance, v0, v_inf, tau_s)
    if t != inf:
        assert travel(t, v0, v_inf, tau_s) == pytest.approx(distance, abs=1e-5)
    else:
        assert travel(min(time_to_stop(v0, v_inf, tau_s), 99.0), v0, v_inf, tau_s) < distance


def test_a_roller_that_stays_still_reaches_nothing():
    assert time_to(1.0, 0.0, 0.0, 0.05) == inf
    assert time_to(1.0, 0.0, -200.0, 0.05) == inf
    assert time_to(0.0, 0.0, 0.0, 0.05) == 0.0


def test_speed_falls_with_voltage_and_with_load():
    volts = np.linspace(FRESH_V, 3.2, 6)
    drives = [motor.powered(P, volt, FRESH_OHM) for volt in volts]
    assert all(a.v_inf[Load.idle] > b.v_inf[Load.idle] for a, b in pairwise(drives))
    assert all(d.v_inf[Load.idle] > d.v_inf[Load.card] > d.v_inf[Load.wedge] for d in drives)


def test_the_model_reproduces_the_motors_data_sheet():
    """FA-130RA-14150 at 3 V: 8300 rpm and 0.11 A without load, 0.90 A stalled."""
    bare = replace(P, roller_load_mNm=0.2, gear=10, roller_mm=10)
    ohm_free = motor.powered(bare, 3.0, 0.0)
    load_A = 0.11 + 0.2 / bare.torque_mNm_A
    rad_s = ohm_free.v_inf[Load.idle] / motor.mm_per_rad(bare)
    no_load_rad_s = rad_s + bare.motor_ohm * (load_A - 0.11) / (bare.emf_mV_s * 1e-3)
    assert no_load_rad_s * 60 / 2 / np.pi == pytest.approx(8300, rel=0.01)
    assert ohm_free.still_A == pytest.approx(0.90, rel=0.01)


def test_no_roller_runs_faster_than_its_pack_could_ever_drive_it():
    emf_limit = FRESH_V / (P.emf_mV_s * 1e-3) * motor.mm_per_rad(P)
    assert 0 < FRESH.v_inf[Load.idle] < emf_limit


@pytest.mark.parametrize("duty", [1.0, 0.7])
def test_the_pack_gives_all_the_energy_that_friction_copper_and_motion_take(duty):
    drive = motor.powered(P, FRESH_V, FRESH_OHM, duty)
    v_inf, tau_s = drive.v_inf[Load.idle], drive.tau_s
    t = np.linspace(0, 0.4, 400_001)
    v = v_inf * (1 - np.exp(-t / tau_s))
    pack_A = drive.still_A - drive.slope_A * v
    motor_A = pack_A / duty
    rad_s = v / motor.mm_per_rad(P)
    given_J = np.trapezoid(FRESH_V * pack_A, t)
    copper_J = np.trapezoid(motor_A**2 * P.motor_ohm + pack_A**2 * FRESH_OHM, t)
    converted_J = np.trapezoid(P.emf_mV_s * 1e-3 * rad_s * motor_A, t)
    friction_J = np.trapezoid(motor.friction_A(P)[Load.idle] * P.torque_mNm_A * 1e-3 * rad_s, t)
    motion_J = P.inertia_gcm2 * 1e-7 * rad_s[-1] ** 2 / 2
    assert given_J == pytest.approx(copper_J + converted_J, rel=1e-4)
    assert friction_J + motion_J < converted_J  # the rest is lost in brushes and iron: kt < ke
    torque_share = P.torque_mNm_A / P.emf_mV_s
    assert friction_J + motion_J == pytest.approx(torque_share * converted_J, rel=1e-4)


def test_running_and_stalled_currents_are_on_their_sides_of_the_thresholds():
    for used_mAh in (0, 2000, 4000):
        volt, ohm = pack.open_V(P, used_mAh), pack.resistance_ohm(P, used_mAh)
        drive = motor.powered(P, volt, ohm)
        for load in (Load.idle, Load.card):
            running_A = drive.still_A - drive.slope_A * drive.v_inf[load]
            assert 0.150 < running_A < 0.850 - (P.idle_mA + P.sound_mA) / 1000
    assert FRESH.still_A > 0.850
    assert (P.idle_mA + P.sound_mA) / 1000 < 0.150


@pytest.mark.parametrize("inertia_gcm2", [1.1, 1.3])
def test_the_inrush_is_shorter_than_a_stall(inertia_gcm2):
    drive = motor.powered(replace(P, inertia_gcm2=inertia_gcm2), FRESH_V, FRESH_OHM)
    end_A = drive.still_A - drive.slope_A * drive.v_inf[Load.idle]
    above_s = drive.tau_s * np.log((drive.still_A - end_A) / (0.850 - (P.idle_mA + P.sound_mA) / 1000 - end_A))
    assert drive.still_A == pytest.approx(FRESH_V / (P.motor_ohm + FRESH_OHM))
    assert above_s < 0.100


@pytest.mark.parametrize("inertia_gcm2", [0.3, 1.1, 1.3])
def test_a_roller_that_is_switched_off_stops_within_a_fraction_of_the_quiet_time(inertia_gcm2):
    parameters = replace(P, inertia_gcm2=inertia_gcm2)
    coast = motor.coasting(parameters)
    assert time_to_stop(FRESH.v_inf[Load.idle], coast.v_inf[Load.idle], coast.tau_s) < 0.120


def test_a_drive_that_is_too_weak_does_not_turn_the_roller():
    weak = motor.powered(P, FRESH_V, FRESH_OHM, 0.3)
    assert weak.v_inf == (0.0, 0.0, 0.0)
    assert weak.still_A == pytest.approx(0.09 * FRESH_V / (P.motor_ohm + 0.09 * FRESH_OHM))


def test_no_drive_that_turns_the_roller_moves_it_slower_than_the_least_speed():
    for volt, duty in product(np.linspace(2.5, 5, 11), np.linspace(0.2, 1, 17)):
        v_inf = motor.powered(P, float(volt), 0.6, float(duty)).v_inf[Load.card]
        assert v_inf == 0 or v_inf >= P.start_mm_s


def test_the_pack_falls_and_stiffens_as_it_is_used():
    used = np.linspace(0, 8000, 41)
    volts = [pack.open_V(P, each) for each in used]
    ohms = [pack.resistance_ohm(P, each) for each in used]
    assert volts[0] == pytest.approx(3 * 1.58)
    assert volts[-1] == pytest.approx(3 * 0.9, rel=0.01)
    assert all(a > b for a, b in pairwise(volts))
    assert all(a < b for a, b in pairwise(ohms))
    assert pack.open_V(P, 9999) == volts[-1]


@pytest.mark.parametrize("v0", [0.0, 600.0, 1230.0])
def test_straight_lines_follow_the_current_within_three_counts(v0):
    trace = Feed(P).run(REST._replace(v=v0), [], FRESH, 10_000_000)
    points = motor_A(trace.segments, 0)
    cycles = np.arange(0, 9_000_000, 1000)
    exact = FRESH.still_A - FRESH.slope_A * speed_array(cycles / CYCLE_HZ, v0)
    drawn = np.interp(cycles, *zip(*points, strict=True))
    assert np.abs(drawn - exact).max() < (0.030 if v0 == 0.0 else 0.0155)


def speed_array(t: np.ndarray, v0: float) -> np.ndarray:
    v_inf = FRESH.v_inf[Load.idle]
    return v_inf + (v0 - v_inf) * np.exp(-t / FRESH.tau_s)


def test_charge_is_the_integral_of_the_current():
    points = [(0, 0.1), (CYCLE_HZ, 0.1), (2 * CYCLE_HZ, 0.5), (4 * CYCLE_HZ, 0.0)]
    assert waveform.charge_mAh(points, 0, 4 * CYCLE_HZ) == pytest.approx((0.1 + 0.3 + 0.5) / 3.6)
    parts = [waveform.charge_mAh(points, a, a + CYCLE_HZ // 2) for a in range(0, 4 * CYCLE_HZ, CYCLE_HZ // 2)]
    assert sum(parts) == pytest.approx((0.1 + 0.3 + 0.5) / 3.6)
    assert waveform.charge_mAh([(0, 0.2)], CYCLE_HZ, 10 * CYCLE_HZ) == pytest.approx(0.2 * 9 / 3.6)


def test_steps_are_added_without_moving_the_waveform():
    points = [(100, 1.0), (199, 0.4), (200, 0.0)]
    total = waveform.add_steps(points, [(10, 0.1), (150, 0.3), (400, 0.1)])
    cycles = np.arange(10, 600)
    motor_part = np.where(cycles < 100, 0, np.interp(cycles, *zip(*points, strict=True)))
    steps = np.where(cycles < 150, 0.1, np.where(cycles < 400, 0.3, 0.1))
    drawn = np.interp(cycles, *zip(*total, strict=True))
    assert np.abs(drawn - motor_part - steps).max() < 1e-9
