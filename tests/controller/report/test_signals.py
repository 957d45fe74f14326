# SPDX-License-Identifier: Apache-2.0
"""Edges and bins as the figures read them."""

from __future__ import annotations

import numpy as np
import pytest

from controller.report import signals
from controller.report.roller.figures import TYPICAL
from controller.store.records import RunData
from rig.wire import messages as wire
from tests.controller.report.factory import MS, make_bin, make_data, make_run, make_trial


def test_bins_decode_to_amperes_volts_and_the_verdicts_own_driven() -> None:
    import dataclasses

    trial = dataclasses.replace(make_trial(), bins=(make_bin(0.1, 4.5), make_bin(0.4, 4.25, roller=True)))
    taken = signals.samples(trial, on_mA=150)
    assert taken.current_A == pytest.approx([0.1, 0.4], abs=wire.CURRENT_UA_PER_COUNT * 1e-6)
    assert taken.pack_V == pytest.approx([4.5, 4.25], abs=wire.VOLTAGE_UV_PER_COUNT * 1e-6)
    assert taken.driven.tolist() == [False, True]
    direct = dataclasses.replace(trial, drive="direct", bins=(make_bin(0.4, 4.5), make_bin(0.0, 4.5, roller=True)))
    assert signals.samples(direct, on_mA=150).driven.tolist() == [False, True], "there the rig's output tells"


def test_a_channel_was_before_its_first_edge_where_the_edge_came_from() -> None:
    edges = ((10 * MS, "sound", 0), (20 * MS, "beam_a", 1), (50 * MS, "beam_a", 0), (70 * MS, "beam_a", 1))
    assert signals.intervals_ms(edges, "sound", 0, 100.0) == [(0.0, 10.0)]
    assert signals.intervals_ms(edges, "beam_a", 0, 100.0) == [(20.0, 50.0), (70.0, 100.0)]
    assert signals.intervals_ms(edges, "beam_b", 0, 100.0) == []


def test_blocked_times_are_those_of_passages_that_ended() -> None:
    trials = [make_trial(cards=3, dwell_ms=70.0), make_trial(2, cards=2, sticking=1, dwell_ms=80.0)]
    assert signals.blocked_ms(trials) == pytest.approx([70.0, 70.0, 70.0, 80.0])


@pytest.mark.parametrize(("last_s", "unit"), [(100.0, "s"), (600.0, "min"), (20_000.0, "h")])
def test_the_axis_of_a_run_is_mcu_time_in_a_unit_that_reads_well(last_s: float, unit: str) -> None:
    axis = signals.run_axis([make_trial(1, t_s=1.0), make_trial(2, "rejected"), make_trial(3, t_s=last_s)], "press")
    assert axis.label == f"MCU time ({unit})" and axis.seconds is not None
    assert axis.at * axis.seconds == pytest.approx([1.0, 1.0, last_s]), "one never actuated stands with the one before"


def test_a_clock_that_restarted_is_not_used_as_an_axis() -> None:
    axis = signals.run_axis([make_trial(1, t_s=100.0), make_trial(2, t_s=3.0)], "press")
    assert axis.at.tolist() == [1.0, 2.0] and axis.seconds is None and "press number" in axis.label


def test_the_typical_press_is_ok_unspoiled_with_nothing_stuck_and_of_median_size() -> None:
    cards = (1, 1, 2, 3, 3, 9, 9)
    trials = [make_trial(n, cards=k) for n, k in enumerate(cards, start=1)]
    spoiled = make_trial(99, cards=3, spoiled="link")
    stuck = make_trial(0, cards=3, sticking=1)
    found = signals.typical([spoiled, stuck, *trials], TYPICAL)
    assert found is not None and found.number == 4 and found.dealt == int(np.median(cards))


def test_without_an_ok_press_a_jam_is_worth_showing() -> None:
    found = signals.typical([make_trial(1, "no_run"), make_trial(2, "slip"), make_trial(3, "jam")], TYPICAL)
    assert found is not None and found.verdict == "jam"
    assert signals.typical([make_trial(1, "no_run")], TYPICAL) is None


def test_a_setting_comes_from_the_run_and_else_from_the_firmwares_initial_value() -> None:
    data = make_data(1)
    assert signals.setting(data.run, "jam_ms") == 300
    changed = RunData(make_run(settings={"firmware": {"jam_ms": 120}}), (), (), ())
    assert signals.setting(changed.run, "jam_ms") == 120
    assert signals.setting(changed.run, "stall_mA") == wire.SETTINGS["stall_mA"].default
