# SPDX-License-Identifier: Apache-2.0
"""What can be measured from outside equals what really happened."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rig import brains
from rig.twin.roller.parameters import RollerParameters
from rig.wire.messages import Verdict
from tests.rig.twin.observer import MS, QUIET_MS, Observer, Watched, loaded, refill_if_low

HARSH = RollerParameters(double_feed=0, jam=0.06, stick=0.2, slip=0.05)
PACKS = [0, 3000, 6500]
CAUSES = {
    "ok": Verdict.ok,
    "no_run": Verdict.no_run,
    "jam": Verdict.jam,
    "slip": Verdict.slip,
    "empty": Verdict.empty,
}


def tidy(observer: Observer, watched: Watched, at: int) -> int:
    """Clear the mouth and refill as a campaign does; returns how many cards were pulled out."""
    pulled, plan = observer.plant.clear_mouth(at)
    observer.take(at, plan)
    assert (pulled > 0) == bool(watched.judged.sticking or watched.judged.verdict is Verdict.jam)
    return pulled


def by_button(parameters: RollerParameters, seed: int, presses: int) -> list[Watched]:
    observer, at = loaded(parameters, seed)
    trials = []
    for _ in range(presses):
        trials.append(observer.press(at))
        at += 4000 * MS
        tidy(observer, trials[-1], at - 1000 * MS)
        refill_if_low(observer, at)
        at += 2000 * MS + 12345
    return trials


def by_bridge(parameters: RollerParameters, seed: int, presses: int) -> list[Watched]:
    observer, at = loaded(parameters, seed, power=False)
    brain, generator = parameters.new_brain(), np.random.default_rng(seed)
    trials = []
    for _ in range(presses):
        draw = brain.decide(*generator.random(2).tolist())
        if draw.fired:
            trials.append(observer.run(at, draw.run_ms))
            tidy(observer, trials[-1], at + 3000 * MS)
        refill_if_low(observer, at + 3500 * MS)
        at += 6000 * MS + 54321
    return trials


@pytest.mark.parametrize("used_mAh", PACKS)
@pytest.mark.parametrize("brain", brains.MODELS)
@pytest.mark.parametrize("campaign", [by_button, by_bridge])
def test_without_double_feeds_every_trial_is_measured_as_it_was(campaign, brain, used_mAh):
    trials = campaign(replace(HARSH, brain=brain, used_mAh=used_mAh), 5, 600)
    assert sum(each.truth.jammed for each in trials) > 2
    assert sum(each.truth.sticking for each in trials) > 5
    for each in trials:
        seen = (each.judged.cleared, each.judged.sticking, each.judged.verdict)
        assert seen == (each.truth.cleared, each.truth.sticking, CAUSES[each.truth.cause]), each


@pytest.mark.parametrize("campaign", [by_button, by_bridge])
def test_with_double_feeds_only_trials_that_the_truth_calls_so_differ(campaign):
    trials = campaign(replace(HARSH, double_feed=0.2), 6, 400)
    differing = [t for t in trials if (t.judged.cleared, t.judged.sticking) != (t.truth.cleared, t.truth.sticking)]
    assert differing
    assert all(each.truth.double_feeds for each in differing)


def test_a_blind_beam_sees_nothing_while_cards_fly():
    observer, at = loaded(replace(HARSH, beam="blind", jam=0), 7)
    for _ in range(20):
        assert observer.press(at).judged.cleared == 0
        observer.plant.clear_mouth(at + 3000 * MS)
        at += 5000 * MS
    assert not any(pin in (8, 2) for cycle, pin, _ in observer.edges if cycle > 0)
    assert sum(each.cleared for each in observer.plant.truth()) > 20


@pytest.mark.parametrize("used_mAh", PACKS)
@pytest.mark.parametrize("campaign", [by_button, by_bridge])
def test_all_comes_to_rest_within_the_quiet_time(campaign, used_mAh):
    for each in campaign(replace(HARSH, used_mAh=used_mAh, jam=0), 8, 150):
        cycles = [cycle for cycle, pin, _ in each.edges if pin in (8, 2)]
        if not cycles:
            continue
        # From the end of the run on, no two edges are farther apart than the quiet time.
        off = each.off
        late = [cycle for cycle in cycles if cycle > off]
        assert all(b - a < 0.9 * QUIET_MS * MS for a, b in pairwise([off, *late]))


@pytest.mark.parametrize("stepped", [1, 3])
def test_cards_are_conserved_over_a_fill(stepped):
    observer, at = loaded(replace(HARSH, double_feed=0.1), 9, 60)
    gone = 0
    for _ in range(40):
        watched = observer.press(at)
        at += 4000 * MS * stepped
        gone += watched.truth.cleared + tidy(observer, watched, at)
        at += 10 * MS
    assert observer.plant.take_out(at)[0] + gone == 60
    assert gone > 20


def test_an_emptied_hopper_gives_empty_runs_and_nothing_else():
    observer, at = loaded(replace(HARSH, brain="iid", p_fire=1, jam=0, slip=0, slip_growth=0), 10, 9)
    causes = []
    for _ in range(8):
        watched = observer.press(at)
        causes.append(watched.judged.verdict)
        assert CAUSES[watched.truth.cause] is watched.judged.verdict
        tidy(observer, watched, at + 3000 * MS)
        at += 5000 * MS
    assert observer.plant.is_empty
    assert causes[-1] is Verdict.empty


def test_a_card_that_stops_short_of_the_beam_is_still_inside_and_comes_first():
    parameters = replace(HARSH, jam=0, slip=0, slip_growth=0)
    for run_ms in range(20, 200, 3):
        observer, at = loaded(parameters, 11, 5, power=False)
        first = observer.run(at, run_ms)
        held = observer.plant._end.x
        if first.truth.dealt == 0 and held > 1 and observer.plant._end.bodies == 1:
            assert observer.plant.take_out(at + 3000 * MS) == (5, None)
            return
    pytest.fail("no run stopped with a card short of the beam")
