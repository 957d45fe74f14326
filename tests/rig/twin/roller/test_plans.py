# SPDX-License-Identifier: Apache-2.0
"""Plans: deterministic, cut anywhere without a trace, and known before they are drawn."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from rig import brains
from rig.brains import Brain
from rig.twin.roller.parameters import RollerParameters
from rig.twin.roller.plant import RollerPlant
from rig.twin.roller.truth import CYCLES_PER_MS, was_jam
from tests.rig.twin.observer import MS, Observer, loaded

EVENTFUL = RollerParameters(double_feed=0.1, jam=0.03, stick=0.2, slip=0.05)


def session(seed: int, parameters: RollerParameters = EVENTFUL) -> Observer:
    observer, at = loaded(parameters, seed)
    for _ in range(12):
        observer.press(at)
        _, plan = observer.plant.clear_mouth(at + 4000 * MS)
        observer.take(at + 4000 * MS, plan)
        at += 6000 * MS
    observer.take(at, observer.plant.output(at, "power", 0.0))
    observer.run(at + MS, 455)
    return observer


def test_the_same_seed_gives_the_same_history_to_the_bit():
    one, other = session(3), session(3)
    assert one.plans == other.plans
    assert one.plant.truth() == other.plant.truth()
    assert one.plant.board_uuid == other.plant.board_uuid


def test_another_seed_gives_another_history():
    one, other = session(3), session(4)
    assert one.plans != other.plans
    assert one.plant.board_uuid != other.plant.board_uuid


def test_the_boards_uuid_is_a_version_8_which_no_silicon_has():
    uuid = UUID(bytes=RollerPlant(EVENTFUL, 5).board_uuid)
    assert uuid.version == 8
    assert uuid.variant == "specified in RFC 4122"


def test_outputs_that_change_nothing_leave_the_plan_and_the_future_alone():
    generator = np.random.default_rng(0)
    calm, at = loaded(EVENTFUL, 6)
    busy, _ = loaded(EVENTFUL, 6)
    for _ in range(25):
        seen = calm.press(at)
        again = busy.press(at)
        for cycle in sorted(generator.integers(at + 121 * MS, at + 3000 * MS, 12).tolist()):
            assert busy.plant.output(cycle, "power", 1.0) is None
            assert busy.plant.output(cycle, "launch", 0.0) is None
            assert busy.plant.output(cycle, "roller", 0.0) is None
            assert busy.plant.output(cycle, "reverse", float(generator.integers(2))) is None
            assert busy.plant.output(cycle, "slot1", 1.0) is None
        assert (seen.edges, seen.truth) == (again.edges, again.truth)
        for observer in (calm, busy):
            _, plan = observer.plant.clear_mouth(at + 4000 * MS)
            observer.take(at + 4000 * MS, plan)
        at += 6000 * MS
    assert calm.analog == busy.analog


def test_a_plan_cut_anywhere_keeps_its_past_and_what_is_in_the_air():
    """The rig's bridge switched off at any moment: edges before that are as planned, cards in flight land as planned."""
    full, at = loaded(replace(EVENTFUL, jam=0), 7, power=False)
    plan = full.plant.output(at, "roller", 1.0)
    assert plan is not None
    for off in range(at + 30 * MS, at + 700 * MS, 7 * MS + 13):
        plant = copy.deepcopy(full.plant)
        after = plant.output(off, "roller", 0.0)
        assert after is not None
        assert all(cycle >= off for cycle, _, _ in after.edges)
        kept = [edge for edge in plan.edges if edge[0] < off]
        levels = {8: 1, 2: 1}
        for _, pin, level in [*kept, *after.edges]:
            assert levels[pin] != level  # every edge changes its level: none is lost, none is doubled
            levels[pin] = level
        cleared = sum(pin == 8 and level == 1 for _, pin, level in [*kept, *after.edges])
        record = plant.truth()[0]
        singles = record.cleared - (record.double_feeds if record.sticking < 2 else record.double_feeds - 1)
        assert cleared == singles
        assert (levels[8] == 0) == bool(record.sticking)


@pytest.mark.parametrize("step", [1, 2])
def test_a_run_cut_short_by_the_rig_is_the_run_that_the_toy_would_have_made(step):
    """Button and bridge drive the same feed: the same run time gives the same cards at the same distances in time."""
    parameters = replace(EVENTFUL, jam=0, brain="iid", p_fire=1, idle_mA=0, sound_mA=0)
    for run_ms in range(145, 700, 80 * step):
        toy, at = loaded(replace(parameters, run_ms=((run_ms, 1.0),)), 8)
        bridge, _ = loaded(parameters, 8, power=False)
        pressed = toy.press(at)
        ran = bridge.run(at, run_ms)
        start = at + 150 * MS
        by_toy = [(cycle - start, pin, level) for cycle, pin, level in pressed.edges if pin in (8, 2)]
        by_rig = [(cycle - at, pin, level) for cycle, pin, level in ran.edges if pin in (8, 2)]
        assert [edge[1:] for edge in by_toy] == [edge[1:] for edge in by_rig]
        # The rig's output goes off 100 cycles later here, which a card that coasts shows magnified.
        allowed = [1 if a[0] < run_ms * MS else MS for a in by_toy]
        assert all(abs(a[0] - b[0]) <= off for a, b, off in zip(by_toy, by_rig, allowed, strict=True))
        assert pressed.truth.cleared == ran.truth.cleared


def test_the_same_duty_again_changes_nothing_and_another_does():
    observer, at = loaded(EVENTFUL, 9, power=False)
    assert observer.plant.output(at, "roller", 0.8) is not None
    assert observer.plant.output(at + 50 * MS, "roller", 0.8) is None
    assert observer.plant.output(at + 60 * MS, "roller", 0.9) is not None
    assert len(observer.plant.truth()) == 1


class _Forced(Brain):
    """A brain that has already made up its mind."""

    def __init__(self, runs: brains.Runs, run_ms: int) -> None:
        super().__init__(brains.iid(1.0), runs)
        self._forced_ms = run_ms

    def decide(self, u_fire: float, u_run: float) -> brains.Draw:
        return super().decide(u_fire, u_run)._replace(run_ms=self._forced_ms)


def test_what_is_told_before_the_draw_is_what_every_draw_would_lead_to():
    """All run times played out, each in a copy of the world, give exactly the odds that the plant wrote down before."""
    observer, at = loaded(replace(EVENTFUL, brain="iid", p_fire=1, jam=0.06), 10)
    jams = 0
    for _ in range(25):
        counts: dict[int, float] = {}
        p_jam = 0.0
        for run_ms, weight in brains.RUNS:
            world = copy.deepcopy(observer.plant)
            world._toy.brain = _Forced(brains.RUNS, run_ms)
            world.output(at, "launch", 1.0)
            record = world.truth()[-1]
            assert record.run_ms == run_ms
            if record.jammed:
                p_jam += weight / 100
            else:
                counts[record.dealt] = counts.get(record.dealt, 0.0) + weight / 100
        truth = observer.press(at).truth
        assert truth is not None and truth.p_count is not None
        assert truth.p_jam == pytest.approx(p_jam)
        assert {k: p for k, p in enumerate(truth.p_count) if p} == pytest.approx(counts)
        assert sum(truth.p_count) + truth.p_jam == pytest.approx(1)
        jams += 0 < p_jam < 1
        _, plan = observer.plant.clear_mouth(at + 4000 * MS)
        observer.take(at + 4000 * MS, plan)
        at += 6000 * MS
    assert jams  # some of those worlds jam and others do not


def test_the_odds_are_kept_only_where_something_was_drawn():
    observer, at = loaded(replace(EVENTFUL, brain="iid", p_fire=0.5), 11)
    for _ in range(20):
        truth = observer.press(at).truth
        assert truth is not None
        assert truth.p_fire == 0.5
        assert (truth.p_count is None) == (not truth.fired)
        _, plan = observer.plant.clear_mouth(at + 4000 * MS)
        observer.take(at + 4000 * MS, plan)
        at += 6000 * MS
    at += MS
    observer.take(at, observer.plant.output(at, "power", 0.0))
    direct = observer.run(at + MS, 305).truth
    assert direct is not None
    assert (direct.p_fire, direct.p_count) == (None, None)
    assert direct.run_ms == pytest.approx(305, abs=0.1)


def test_fires_come_as_often_as_their_probabilities_say():
    observer, at = loaded(replace(EVENTFUL, jam=0), 12)
    for _ in range(1000):
        observer.plant.output(at, "launch", 1.0)
        observer.plant.output(at + 120 * MS, "launch", 0.0)
        at += 3000 * MS
        if observer.plant.truth()[-1].sticking:
            observer.plant.clear_mouth(at)
            at += MS
    records = observer.plant.truth()
    p = np.array([record.p_fire for record in records])
    fired = np.array([record.fired for record in records])
    assert abs((fired - p).sum()) < 4 * np.sqrt((p * (1 - p)).sum())


@pytest.mark.parametrize(
    ("blocked_ms", "off_ms", "jam"),
    [
        (53.0, 360.0, True),  # 31 closes: 60 to 360
        (53.0, 359.0, False),
        (53.0, 355.5, False),
        (47.0, 355.5, True),
        (51.0, 360.0, True),
        (51.0, 351.5, True),  # the bin that ended at 51.5 saw it already
        (51.0, 355.0, False),
        (100.0, 90.0, False),
    ],
)
def test_a_jam_is_counted_in_bins_from_actuation(blocked_ms, off_ms, jam):
    at = 1_000_003
    cycles = (at, at + round(blocked_ms * CYCLES_PER_MS), at + round(off_ms * CYCLES_PER_MS))
    assert was_jam(*cycles) is jam


def test_records_can_be_written_as_json():
    record = session(3).plant.truth()[0].to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {"cycle", "cleared", "sticking", "double_feeds", "slips", "jammed", "cause", "p_fire", "p_count"} <= set(record)


def test_a_motor_too_weak_to_turn_draws_nothing_once_it_is_off():
    plant = RollerPlant(RollerParameters(used_mAh=7700, brain="iid", p_fire=1), 3)
    plant.start(0)
    plant.load(0, 83)
    plant.output(0, "power", 1.0)
    plan = plant.output(48_000_000, "launch", 1.0)
    (record,) = plant.truth()
    assert record.fired and record.cause == "slip"
    idle_A = plan.analog[0][0][1]
    assert max(volts for _, volts in plan.analog[0]) > 0.5
    assert plan.analog[0][-1][1] == pytest.approx(idle_A, abs=1e-9)
