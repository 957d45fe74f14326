# SPDX-License-Identifier: Apache-2.0
"""The three decision models."""

from __future__ import annotations

from collections import Counter

import pytest

from rig import brains
from rig.brains import Brain


def fires(brain: Brain, presses: int, u_fire: float = 0.5) -> list[int]:
    return [n for n in range(1, presses + 1) if brain.decide(u_fire, 0.5).fired]


def test_the_sequence_fires_on_its_list_and_begins_again():
    brain = Brain(brains.sequence())
    listed = list(brains.SEQUENCE)
    assert fires(brain, 192) == listed + [n + 96 for n in listed]


def test_the_sequence_leaves_nothing_to_chance():
    for u_fire in (0.0, 0.999999):
        assert fires(Brain(brains.sequence((2, 3), 4)), 8, u_fire) == [2, 3, 6, 7]


def test_the_hazard_follows_the_presses_since_the_last_fire():
    brain = Brain(brains.hazard((0.1, 0.2, 0.9)))
    seen = [brain.decide(0.5, 0.5) for _ in range(5)]
    assert [each.p_fire for each in seen] == [0.1, 0.2, 0.9, 0.1, 0.2]
    assert [each.fired for each in seen] == [False, False, True, False, False]


def test_the_hazard_stays_at_its_last_entry():
    brain = Brain(brains.hazard((0.1, 0.2)))
    assert [brain.decide(0.99, 0.5).p_fire for _ in range(5)] == [0.1, 0.2, 0.2, 0.2, 0.2]


def test_the_default_hazard_fires_at_the_fourth_press_at_the_latest():
    brain = Brain(brains.hazard())
    assert [brain.decide(0.9999, 0.5).fired for _ in range(4)] == [False, False, False, True]


def test_iid_forgets_everything():
    brain = Brain(brains.iid(0.3))
    assert {brain.decide(u / 10, 0.5).p_fire for u in range(10)} == {0.3}
    assert fires(Brain(brains.iid(0.3)), 3, 0.3) == []  # a probability of 0.3 is met by u below 0.3
    assert fires(Brain(brains.iid(0.3)), 3, 0.2999) == [1, 2, 3]


def test_a_restart_begins_the_count_anew():
    brain = Brain(brains.sequence((2,), 96))
    brain.decide(0.5, 0.5)
    brain.restart()
    assert fires(brain, 3) == [2]


def test_a_look_ahead_changes_nothing():
    brain = Brain(brains.hazard())
    for _ in range(10):
        ahead = brain.ahead()
        assert brain.ahead() == ahead
        assert brain.decide(0.4, 0.4).p_fire == ahead.p_fire
        assert ahead.runs == brains.RUNS


def test_a_press_that_is_recalled_leaves_no_trace():
    one, other = Brain(brains.hazard()), Brain(brains.hazard())
    for u_fire in (0.5, 0.5, 0.3, 0.1, 0.9):
        memory = one.memory()
        one.decide(0.0, 0.0)
        one.recall(memory)
        assert one.decide(u_fire, 0.5) == other.decide(u_fire, 0.5)


def test_run_times_come_by_their_weights():
    brain = Brain(brains.iid(1.0), ((100, 1.0), (200, 0.0), (300, 3.0)))
    seen = Counter(brain.decide(0.0, (i + 0.5) / 1000).run_ms for i in range(1000))
    assert seen == {100: 250, 300: 750}


def test_the_largest_uniform_still_gives_a_run():
    assert Brain(brains.iid(1.0)).decide(0.0, 1 - 2**-53).run_ms == brains.RUNS[-1][0]


def test_a_press_without_a_fire_has_no_run_time():
    assert Brain(brains.iid(0.0)).decide(0.0, 0.5) == (0.0, False, 0)


def test_no_run_time_ends_with_a_sample_bin():
    assert all(run_ms % 10 for run_ms, _ in brains.RUNS)


@pytest.mark.parametrize("runs", [(), ((0, 1.0),), ((100, 0.0),), ((100, -1.0), (200, 2.0)), ((100, float("nan")),)])
def test_impossible_run_times_are_refused(runs):
    with pytest.raises(ValueError, match="run times"):
        Brain(brains.iid(), runs)


@pytest.mark.parametrize("name", brains.MODELS)
def test_every_model_has_defaults(name):
    brain = Brain(brains.MODELS[name]())
    assert 20 < len(fires(brain, 96, 0.3)) <= 96
