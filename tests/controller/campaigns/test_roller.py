# SPDX-License-Identifier: Apache-2.0
"""Campaigns on the twin: the grid of presses, bursts, hands at the bench, and where every card went."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import pytest

from controller.campaigns.roller import SLIPS_BEFORE_LOOK
from controller.campaigns.shared import UNTIL_FIRE, WASTED_BEFORE_END
from controller.verdict import Exit
from rig.operator import Wait
from rig.twin.bench import CLEAN_S, CLEAR_S, TwinOperator
from rig.wire.messages import TICK_HZ, Wiring
from tests.controller.campaigns.conftest import Conduct
from tests.twins import TAME, bench_of

LATE = 2 * TICK_HZ // 1000 + TICK_HZ // 10_000  # the MCU acts on its 2 ms tick
FAULTY = "twin:roller?seed=11&brain=iid&p_fire=0.7&stick=0.1"


def test_the_places_in_bursts_are_stored_as_they_were_pressed(conducted: Conduct) -> None:
    run = conducted("twin:roller?seed=3&brain=iid&p_fire=0.4&jam=0", 40, bursts=(UNTIL_FIRE,))
    for _, burst in groupby(run.trials, key=lambda trial: trial.burst):
        trials = list(burst)
        assert [trial.burst_index for trial in trials] == list(range(len(trials)))
        assert not any(trial.fired for trial in trials[:-1])
    assert run.trials[-1].burst == sum(trial.fired for trial in run.trials[:-1]) + 1


# ---------------------------------------------------------------------- the grid


@pytest.mark.parametrize("pace_s", [3.0, 1.4993])  # also one that is no whole number of the MCU's ticks
def test_presses_lie_on_a_grid_and_latencies_never_add_up(pace_s: float, conducted: Conduct) -> None:
    run = conducted(TAME, 40, pace_s=pace_s, fill=500)
    first = run.trials[0].tick
    assert first is not None
    for number, trial in enumerate(run.trials):
        assert trial.tick is not None
        assert 0 <= trial.tick - first - number * round(pace_s * TICK_HZ) <= LATE


def test_a_press_that_a_person_held_up_begins_a_new_grid(conducted: Conduct) -> None:
    run = conducted("twin:roller?seed=5&brain=iid&p_fire=1&jam=0&slip=0&stick=0.3", 20, pace_s=2.0)
    assert 3 < sum(trial.sticking for trial in run.trials) < 17
    for before, trial in pairwise(run.trials):
        assert trial.gap_s is not None
        if trial.fill != before.fill:
            continue
        if before.sticking:
            assert trial.gap_s > CLEAR_S
        else:
            assert abs(trial.gap_s - 2.0) <= LATE / TICK_HZ


def test_a_pace_that_trials_cannot_keep_is_as_fast_as_they_go(conducted: Conduct) -> None:
    run = conducted(TAME, 5, pace_s=0.2)
    assert {trial.verdict for trial in run.trials} == {"ok"}
    assert all(trial.gap_s is None or trial.gap_s > 0.4 for trial in run.trials)


# ---------------------------------------------------------------------- hands


def test_an_empty_ledger_has_the_hopper_reloaded(conducted: Conduct) -> None:
    run = conducted(TAME, 12, fill=6)
    assert run.outcome.exit_code is Exit.passed
    assert len(run.data.fills) > 3
    for fill in run.data.fills[:-1]:
        assert (fill.loaded, fill.remaining, fill.dealt, fill.difference) == (6, 0, 6, 0)
    for fill in run.data.fills:
        trials = [trial for trial in run.trials if trial.fill == fill.number]
        assert [trial.hopper for trial in trials] == [6 - sum(t.dealt for t in trials[:n]) for n in range(len(trials))]
        assert trials[0].since_lid_close == 1
    assert min(trial.hopper for trial in run.trials) > 0


def test_three_slips_in_a_row_have_the_hopper_looked_into_and_the_roller_cleaned(conducted: Conduct) -> None:
    run = conducted("twin:roller?seed=2&brain=iid&p_fire=1&jam=0&stick=0&slip=0.9&slip_mm=2000", 30)
    expected, slips = [], 0
    for trial in run.trials:
        slips = slips + 1 if trial.verdict == "slip" else 0
        if slips == SLIPS_BEFORE_LOOK:
            expected.append(trial.number)
            slips = 0
    cleaned = [event.trial for event in run.data.events if event.kind == "clean"]
    assert cleaned == expected
    assert len(cleaned) > 2
    assert any(trial.verdict == "ok" for trial in run.trials)
    fills = {trial.number: trial.fill for trial in run.trials}
    for number in cleaned:
        if number in fills and number + 1 in fills:
            assert fills[number + 1] == fills[number] + 1
    assert all(fill.difference == 0 for fill in run.data.fills)


def test_a_press_that_decided_not_to_run_does_not_make_the_slips_forgotten(conducted: Conduct) -> None:
    run = conducted("twin:roller?seed=2&brain=sequence&sequence=1,3,5&sequence_length=6&slip=1&slip_mm=2000&jam=0", 6)
    assert [trial.verdict for trial in run.trials[:5]] == ["slip", "no_run", "slip", "no_run", "slip"]
    assert [event.trial for event in run.data.events if event.kind == "clean"] == [5]


def test_a_card_in_the_mouth_is_pulled_out_before_the_next_press(conducted: Conduct) -> None:
    run = conducted(FAULTY, 60)
    stuck = [trial.number for trial in run.trials if trial.sticking or trial.verdict == "jam"]
    assert [event.trial for event in run.data.events if event.kind == "clear_mouth"] == stuck
    assert len(stuck) > 3
    assert all(trial.reason != "beam_blocked" for trial in run.trials)


class LeavesTheLidOpen(TwinOperator):
    def reload(self, cards: int, wait: Wait) -> int:
        bench, left = self._bench, super().reload(cards, wait)
        bench.open_lid()
        return left


def test_five_wasted_trials_in_a_row_are_one_broken_rig(conducted: Conduct) -> None:
    run = conducted(TAME, 50, operator=lambda rig: LeavesTheLidOpen(bench_of(rig)))
    assert [(trial.verdict, trial.reason) for trial in run.trials] == [("rejected", "lid")] * WASTED_BEFORE_END
    assert run.outcome.exit_code is Exit.rig_fault
    assert run.data.run.status == "aborted by rule"
    assert run.outcome.cause == "5 trials in a row came to nothing; the last is rejected (lid)"
    assert run.data.run.note == run.outcome.cause
    assert run.data.run.safe_state == "confirmed"


# ---------------------------------------------------------------------- the ledger


def test_fills_begin_and_end_with_the_edges_of_the_lid(conducted: Conduct) -> None:
    run = conducted(TAME, 10, fill=6)
    opened, closed = run.ticks("lid", level=0), run.ticks("lid", level=1)
    assert len(run.data.fills) > 2
    assert [fill.opened_tick for fill in run.data.fills] == closed[: len(run.data.fills)]
    assert [fill.closed_tick for fill in run.data.fills] == opened[1:]
    assert all(
        fill.opened_tick < trial.tick < fill.closed_tick
        for fill in run.data.fills
        for trial in run.trials
        if trial.fill == fill.number and trial.tick and fill.opened_tick and fill.closed_tick
    )


@pytest.mark.parametrize("drive", Wiring)
def test_without_double_feeds_every_card_is_accounted_for(drive: Wiring, conducted: Conduct) -> None:
    decision = {"decision": "iid", "decision_seed": 1} if drive is Wiring.direct else {}
    run = conducted(FAULTY + "&double_feed=0&jam=0.1", 60, fill=25, drive=drive, **decision)
    assert len(run.data.fills) > 2
    verdicts = Counter(trial.verdict for trial in run.trials)
    assert verdicts["jam"] >= 2 and verdicts["ok"] >= 10
    assert [(fill.remaining is None, fill.difference) for fill in run.data.fills] == [(False, 0)] * len(run.data.fills)
    assert [(t.cleared, t.sticking) for t in run.trials] == [(t["cleared"], t["sticking"]) for t in run.truth]


def test_double_feeds_show_as_the_difference_and_as_nothing_else(conducted: Conduct) -> None:
    run = conducted(FAULTY + "&double_feed=0.1&jam=0", 60, fill=40)
    assert sum(each["double_feeds"] for each in run.truth) > 10
    for fill in run.data.fills:
        pairs = [(t, true) for t, true in zip(run.trials, run.truth, strict=True) if t.fill == fill.number]
        left = sum(true["cleared"] + true["sticking"] for _, true in pairs)
        assert fill.remaining is not None
        assert fill.loaded - fill.remaining == left
        assert fill.dealt == sum(t.dealt for t, _ in pairs)
        assert fill.mouth == sum(true["sticking"] for _, true in pairs)
        assert fill.jammed == sum(true["sticking"] - t.sticking for t, true in pairs)
        assert fill.difference == sum(true["cleared"] - t.cleared for t, true in pairs)
    assert sum(fill.difference or 0 for fill in run.data.fills) > 5


def test_cleaning_takes_its_time_and_is_no_press(conducted: Conduct) -> None:
    run = conducted("twin:roller?seed=2&brain=iid&p_fire=1&jam=0&stick=0&slip=1&slip_mm=2000", 4)
    assert [trial.verdict for trial in run.trials] == ["slip"] * 4
    gap_s = run.trials[3].gap_s
    assert gap_s is not None and gap_s > CLEAN_S
