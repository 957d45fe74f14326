# SPDX-License-Identifier: Apache-2.0
"""The motor and the roller it turns, in closed form.

Under a constant drive and a constant friction a DC motor's speed approaches its end value exponentially:
`dv/dt = (v_inf - v) / tau`. Travel, time to a distance and time to standstill follow. Speeds are those of the roller's
surface in mm/s, distances in mm, times in s. Inductance (about 0.1 ms) and brush noise are not modelled.
"""

from __future__ import annotations

from enum import IntEnum
from math import exp, inf, log
from typing import NamedTuple

from rig.twin.roller.parameters import RollerParameters

_ENOUGH_S = 1e-9  # a sixtieth of a cycle


class Load(IntEnum):
    """What the roller works against."""

    idle = 0
    card = 1
    wedge = 2


class Drive(NamedTuple):
    """A motor switched on or off, with everything that its motion and its current need.

    v_inf: end speed by `Load`; negative when friction alone decides, so that the roller stops within a finite time.
    The pack's current is `still_A - slope_A * v`; its voltage `open_V - pack_ohm * current`.
    """

    driven: bool
    tau_s: float
    v_inf: tuple[float, float, float]
    still_A: float
    slope_A: float


def mm_per_rad(parameters: RollerParameters) -> float:
    """Travel of the roller's surface for one radian of the motor's shaft."""
    return parameters.roller_mm / parameters.gear


def friction_A(parameters: RollerParameters) -> tuple[float, float, float]:
    """Motor current that holds a steady speed, by `Load`."""
    bare = parameters.motor_idle_mA / 1000 + parameters.roller_load_mNm / parameters.torque_mNm_A
    return bare, bare + parameters.card_load_mNm / parameters.torque_mNm_A, parameters.wedge_mA / 1000


def _tau_s(parameters: RollerParameters, ohm: float) -> float:
    inertia_kgm2 = parameters.inertia_gcm2 * 1e-7
    return inertia_kgm2 * ohm / (parameters.torque_mNm_A * 1e-3 * parameters.emf_mV_s * 1e-3)


def powered(parameters: RollerParameters, open_V: float, pack_ohm: float, duty: float = 1.0) -> Drive:
    """The motor on the pack, through a bridge at `duty` (0 to 1].

    Means over a PWM period: the motor sees duty times the pack's voltage, the pack duty times the motor's current. A drive
    that could not keep a card moving at `start_mm_s` does not overcome the friction of rest: the roller stays still.
    """
    emf = parameters.emf_mV_s * 1e-3 / mm_per_rad(parameters)  # V per mm/s
    ohm = parameters.motor_ohm + duty * duty * pack_ohm
    v_inf = tuple((duty * open_V - ohm * ampere) / emf for ampere in friction_A(parameters))
    turns = v_inf[Load.card] >= parameters.start_mm_s
    return Drive(
        driven=True,
        tau_s=_tau_s(parameters, ohm),
        v_inf=(v_inf[0], v_inf[1], max(v_inf[2], 0.0)) if turns else (0.0, 0.0, 0.0),
        still_A=duty * duty * open_V / ohm,
        slope_A=duty * emf / ohm,
    )


def reversed_(parameters: RollerParameters, open_V: float, pack_ohm: float, duty: float = 1.0) -> Drive:
    """The motor backwards: it draws the current of an idling roller and feeds nothing.

    What a roller that turns backwards does to a card is not modelled: the cards stay where they are.
    """
    ampere = duty * friction_A(parameters)[Load.idle]
    return powered(parameters, open_V, pack_ohm, duty)._replace(v_inf=(0.0, 0.0, 0.0), still_A=ampere, slope_A=0.0)


def coasting(parameters: RollerParameters) -> Drive:
    """The motor off: its driver shorts the winding, as a freewheel path does [UNV], and friction brings it to rest."""
    emf = parameters.emf_mV_s * 1e-3 / mm_per_rad(parameters)
    bare, card, _ = (-parameters.motor_ohm * ampere / emf for ampere in friction_A(parameters))
    return Drive(False, _tau_s(parameters, parameters.motor_ohm), (bare, card, card), 0.0, 0.0)


def speed(t: float, v0: float, v_inf: float, tau: float) -> float:
    """Speed after `t`."""
    return v_inf + (v0 - v_inf) * exp(-t / tau)


def travel(t: float, v0: float, v_inf: float, tau: float) -> float:
    """Distance after `t`."""
    return v_inf * t + (v0 - v_inf) * tau * (1.0 - exp(-t / tau))


def time_to_stop(v0: float, v_inf: float, tau: float) -> float:
    """Time until standstill; infinite when the drive never lets it come to that."""
    if v0 <= 0.0:
        return 0.0 if v_inf < 0.0 else inf
    return tau * log(1.0 - v0 / v_inf) if v_inf < 0.0 else inf


def time_to(distance: float, v0: float, v_inf: float, tau: float) -> float:
    """Time until `distance` is travelled; infinite when it never is.

    Newton's method from the side on which it converges without overshoot: travel is convex while the speed rises and
    concave while it falls.
    """
    if distance <= 0.0:
        return 0.0
    excess = v0 - v_inf
    if v_inf <= 0.0:
        stop = time_to_stop(v0, v_inf, tau)
        if distance > (v0 * tau if stop == inf else travel(stop, v0, v_inf, tau)):
            return inf
        t = 0.0
    else:
        t = 0.0 if excess > 0.0 else (distance - excess * tau) / v_inf
    for _ in range(60):
        fading = exp(-t / tau)
        v = v_inf + excess * fading
        if v <= 0.0:
            break
        step = (distance - v_inf * t - excess * tau * (1.0 - fading)) / v
        t += step
        if -_ENOUGH_S < step < _ENOUGH_S:
            break
    return t
