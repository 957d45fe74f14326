# SPDX-License-Identifier: Apache-2.0
"""Campaigns on the blaster in the twin: rounds and what ends them, resets, sleep, and where every card went."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import Any

import pytest

from controller.calibrate.blast.table import tabulate
from controller.campaigns.blast import EJECTIONS
from controller.campaigns.shared import UNTIL_FIRE, WASTED_BEFORE_END, Progress
from controller.signals import StopFlag
from controller.store.records import Trial
from controller.verdict import Exit
from rig.awake import SURELY_ASLEEP_S
from rig.board import Board
from rig.operator import NoOperator
from rig.rig import Rig
from rig.wire.messages import TICK_HZ, Power
from tests.controller.campaigns.conftest import Conduct, Conducted
from tests.controller.stopping import StopWhen
from tests.twins import bench_of, driven

SOUND = "partial=0&latch_fault=0&double_feed=0&jam=0"
TAME = f"twin:blast?seed=7&{SOUND}"
HOLDS = f"{TAME}&brain=constant&p_blast=0"
"""A blaster that never lets go by itself."""

LATE = 2 * TICK_HZ // 1000 + TICK_HZ // 10_000  # the MCU acts on its 2 ms tick


def rounds_of(run: Conducted) -> list[list[Trial]]:
    return [list(trials) for _, trials in groupby(run.trials, key=lambda trial: trial.round)]


def ended(run: Conducted) -> list[tuple[int, str, int]]:
    """(round, what ended it, inserts) of each."""
    return [(event.data["round"], event.data["ended"], event.data["inserts"]) for event in run.events("round")]


def kinds(trials: list[Trial]) -> list[tuple[str, str]]:
    return [(trial.kind, trial.verdict) for trial in trials]


def board_on(rig: Rig) -> Board:
    return Board(rig.link, lambda event: None, nonce=rig.nonce, new_uuid=rig.new_uuid, stop_asked=lambda: False)


# ---------------------------------------------------------------------- rounds


def test_a_toy_that_lets_go_when_its_trial_is_over_is_no_zero_and_its_round_ends(blasted: Conduct) -> None:
    notices: list[str] = []
    run = blasted(f"{TAME}&release_delay_ms=900", 60, on_notice=notices.append)
    late = {event.trial for event in run.events("late_card")}
    assert late == {true["trial"] for true in run.truth if true["fired"] and true["kind"] == "insert"}
    assert len(late) > 5 and all(run.trials[number - 1].verdict == "held" for number in late if number)
    for trials in rounds_of(run)[:-1]:
        after_late = trials[1 + next(n for n, trial in enumerate(trials) if trial.number in late) :]
        assert {trial.kind for trial in after_late} == {"reset"}
    assert {why for _, why, _ in ended(run)[:-1]} <= {"late_card", "full"}
    inserts = tabulate([run.data])
    assert inserts.excluded()["late_card"] == len(late)
    assert not inserts.fired.any() and not set(inserts.number[inserts.at_risk]) & late
    assert {fill.difference for fill in run.data.fills if fill.difference is not None} >= {1}, "the ledger shows them as uncounted"
    assert sum("was over" in notice for notice in notices) == len(late)


@pytest.mark.parametrize("slots", [1, 4, 6])
def test_a_round_goes_from_empty_slots_to_the_blast(slots: int, blasted: Conduct) -> None:
    run = blasted(f"{TAME}&slots={slots}", 40)
    assert run.outcome.exit_code is Exit.passed
    assert len(run.trials) == 40
    whole = rounds_of(run)[:-1]
    assert len(whole) > 40 / slots / 2
    for number, trials in enumerate(whole, start=1):
        assert {trial.round for trial in trials} == {trial.fill for trial in trials} == {number}
        assert [trial.verdict for trial in trials] == ["held"] * (len(trials) - 1) + ["blast"]
        assert [trial.insert for trial in trials] == [trial.loaded for trial in trials] == list(range(1, len(trials) + 1))
        assert [trial.hopper for trial in trials] == list(range(slots, slots - len(trials), -1))
        assert len({trial.slot for trial in trials}) == len(trials)
        assert trials[0].since_lid_close == 1
        assert trials[0].since_fire == (None if number == 1 else 1)
        assert trials[-1].dealt == len(trials)
    assert ended(run)[: len(whole)] == [(n, "blast", len(trials)) for n, trials in enumerate(whole, start=1)]
    assert [event.data for event in run.events("reload")] == [
        {"cards": slots, "round": n} for n in range(1, len(rounds_of(run)) + 1)
    ]


def test_what_was_measured_is_what_was_true(blasted: Conduct) -> None:
    run = blasted("twin:blast?seed=3&partial=0.1&latch_fault=0.1&double_feed=0&jam=0.05", 150)
    assert len({trial.verdict for trial in run.trials}) == 6
    for trial, true in zip(run.trials, run.truth, strict=True):
        told = (trial.verdict, trial.cleared, trial.slot, trial.loaded, trial.insert, trial.accepted)
        assert told == tuple(true[name] for name in ("cause", "cleared", "slot", "loaded", "insert", "accepted")), trial
        assert trial.fired == (true["fired"] and trial.kind == "insert")
    assert {fill.difference for fill in run.data.fills} == {0}


def test_slots_that_are_full_without_a_blast_are_emptied_by_a_reset(blasted: Conduct) -> None:
    run = blasted(HOLDS, 15)
    for trials in rounds_of(run):
        assert kinds(trials) == [("insert", "held")] * 4 + [("reset", "ok")]
        assert (trials[-1].cleared, trials[-1].loaded, trials[-1].insert, trials[-1].fired) == (4, 4, None, False)
        assert (trials[-1].burst, trials[-1].burst_index) == (0, 0)
    assert ended(run) == [(n, "full", 4) for n in (1, 2, 3)]
    assert [(fill.loaded, fill.dealt, fill.remaining, fill.difference) for fill in run.data.fills] == [(4, 4, 0, 0)] * 3
    assert all(trial.since_fire is None for trial in run.trials)


def test_after_a_partial_ejection_resets_follow_until_everything_is_out(blasted: Conduct) -> None:
    run = blasted("twin:blast?seed=5&latch_fault=0&double_feed=0&jam=0&partial=0.4", 80)
    endings = Counter(why for _, why, _ in ended(run))
    assert endings["partial"] > 2 and endings["latch_fault"] > 2  # of one card that stays, none flies
    for trials in rounds_of(run)[:-1]:
        resets = [trial for trial in trials if trial.kind == "reset"]
        last = resets[-1] if resets else trials[-1]
        assert len(resets) <= EJECTIONS
        seemed_partial = any(trial.verdict == "partial" for trial in trials)
        assert last.verdict in ("blast", "ok") or len(resets) == EJECTIONS or (seemed_partial and not last.cleared)
        assert [trial.verdict == "ok" for trial in resets[:-1]] == [False] * len(resets[:-1])
    assert {fill.difference for fill in run.data.fills} == {0}


def test_after_three_resets_a_person_takes_out_what_is_left(blasted: Conduct) -> None:
    run = blasted("twin:blast?seed=5&latch_fault=1&double_feed=0&jam=0&partial=0&slots=1", 12)
    for trials in rounds_of(run):
        assert kinds(trials) == [("insert", "latch_fault")] + [("reset", "latch_fault")] * EJECTIONS
    assert [(fill.loaded, fill.remaining, fill.dealt) for fill in run.data.fills] == [(1, 1, 0)] * 3


def test_after_a_jam_the_mouth_is_cleared_and_the_toy_reset(blasted: Conduct) -> None:
    run = blasted("twin:blast?seed=5&partial=0&latch_fault=0&double_feed=0&jam=0.3", 60)
    jams = [trial.number for trial in run.trials if trial.verdict == "jam"]
    assert [event.trial for event in run.events("clear_mouth")] == jams
    assert len(jams) > 5
    for trial, after in pairwise(run.trials):
        if (trial.kind, trial.verdict) == ("insert", "jam"):
            assert after.kind == "reset"
    assert all(trial.reason != "beam_blocked" and trial.sticking == 0 for trial in run.trials)
    assert sum(fill.jammed for fill in run.data.fills) == len(jams)
    assert {fill.difference for fill in run.data.fills} == {0}


def test_a_double_feed_shows_as_a_difference_in_the_ledger(blasted: Conduct) -> None:
    run = blasted("twin:blast?seed=5&partial=0&latch_fault=0&double_feed=0.3&jam=0", 60)
    missed = Counter[int]()
    for trial, true in zip(run.trials, run.truth, strict=True):
        missed[trial.fill] += true["double_feeds"]
        assert trial.cleared == true["cleared"] - true["double_feeds"]
    assert missed.total() > 3
    for trials in rounds_of(run)[:-1]:  # the card that is missing has flown: one reset tells as much as three
        kinds_of = [trial.kind for trial in trials if trial.kind == "reset" or trial.verdict == "partial"]
        assert kinds_of in ([], ["insert", "reset"])
    assert {fill.number: fill.difference for fill in run.data.fills} == {n: missed[n] for n in missed}


def test_at_the_end_nobody_is_needed_any_more(blasted: Conduct) -> None:
    def nobody(rig: Rig) -> NoOperator:
        return NoOperator(rig.preload)

    run = blasted(HOLDS, 4, operator=nobody)
    assert (run.outcome.status, run.outcome.exit_code) == ("complete", Exit.passed)
    longer = blasted(HOLDS, 6, operator=nobody)
    assert (longer.outcome.status, longer.outcome.exit_code) == ("aborted by rule", Exit.inconclusive)
    assert "the loader wants 4 cards and nobody is there" in longer.outcome.cause
    assert kinds(list(longer.trials)) == [("insert", "held")] * 4 + [("reset", "ok")]


# ---------------------------------------------------------------------- order, bursts, pace


def test_the_slots_come_in_the_order_that_was_asked_for(blasted: Conduct) -> None:
    slots = [trial.slot for trial in blasted(HOLDS, 15, order="fixed:3,1,4,2").trials]
    assert slots == [3, 1, 4, 2, None] * 3
    slots = [trial.slot for trial in blasted(TAME, 12, order="sequential").trials]
    assert slots == [1, 2, 3, 4] * 3
    run = blasted(HOLDS, 10, order="random")
    assert (run.data.run.settings["order"], run.data.run.settings["order_seed"], run.data.run.settings["slots"]) == ("random", 7, 4)


def test_a_list_of_fewer_slots_and_a_loader_with_fewer_cards_end_a_round_sooner(blasted: Conduct) -> None:
    assert [trial.slot for trial in blasted(HOLDS, 6, order="fixed:4,2").trials] == [4, 2, None] * 2
    run = blasted(HOLDS, 6, fill=2, order="sequential")
    assert [trial.slot for trial in run.trials] == [1, 2, None] * 2
    assert [(fill.loaded, fill.dealt, fill.difference) for fill in run.data.fills] == [(2, 2, 0)] * 2


def test_a_burst_until_the_blast_ends_with_it_or_with_the_last_slot(blasted: Conduct) -> None:
    run = blasted(TAME, 30, bursts=(UNTIL_FIRE,))
    assert [trial.burst for trial in run.trials] == [trial.round for trial in run.trials]
    assert [trial.burst_index for trial in run.trials] == [(trial.insert or 0) - 1 for trial in run.trials]
    capped = [trial for trial in blasted(HOLDS, 10, bursts=(UNTIL_FIRE,)).trials if trial.kind == "insert"]
    assert [(trial.burst, trial.burst_index) for trial in capped] == [(n, i) for n in (1, 2) for i in range(4)]


def test_inserts_of_a_round_lie_on_a_grid(blasted: Conduct) -> None:
    for trials in rounds_of(blasted(HOLDS, 15, pace_s=4.0)):
        ticks = [trial.tick for trial in trials if trial.kind == "insert" and trial.tick is not None]
        # the first of a round is made at once
        assert all(0 <= tick - ticks[0] - n * 4 * TICK_HZ <= LATE for n, tick in enumerate(ticks))


# ---------------------------------------------------------------------- sleep


def test_a_pace_over_three_minutes_wakes_the_toy_and_rounds_go_on(blasted: Conduct) -> None:
    run = blasted(TAME, 30, pace_s=240.0)
    assert run.outcome.exit_code is Exit.passed
    for trials in rounds_of(run)[:-1]:
        n = sum(trial.kind == "insert" for trial in trials)
        assert kinds(trials) == [("insert", "held"), ("reset", "held")] * (n - 1) + [("insert", "blast")]
        assert {trial.toy for trial in trials if trial.kind == "reset"} <= {"asleep"}
        ticks = [trial.tick for trial in trials if trial.kind == "insert" and trial.tick is not None]
        assert all(0 <= tick - ticks[0] - k * 240 * TICK_HZ <= LATE for k, tick in enumerate(ticks))
    assert {why for _, why, _ in ended(run)} <= {"blast", "end"}
    wakes = [trial.number for trial in run.trials if trial.kind == "reset"]
    assert [event.trial for event in run.events("wake")] == wakes
    assert {event.data["toy"] for event in run.events("sleep")} == {"asleep"}
    assert [true["asleep"] for true in run.truth] == [trial.toy == "asleep" for trial in run.trials]


@pytest.mark.parametrize("pace_s", [177.0, 180.0, 183.0])
def test_where_nobody_can_know_the_rig_waits_until_the_toy_surely_sleeps_and_says_so(pace_s: float, blasted: Conduct) -> None:
    said: list[str] = []
    run = blasted(TAME, 12, pace_s=pace_s, on_notice=said.append)
    assert len(said) == 1
    assert said[0].startswith("it cannot be known whether the toy sleeps when the next insert is due: ")
    assert {event.data["toy"] for event in run.events("sleep")} == {"unknown"}
    resets = [trial for trial in run.trials if trial.kind == "reset"]
    assert len(resets) > 2
    assert {(trial.verdict, trial.toy) for trial in resets} == {("held", "asleep")}
    assert all(trial.gap_s is not None and SURELY_ASLEEP_S <= trial.gap_s < SURELY_ASLEEP_S + 0.01 for trial in resets)
    assert {trial.verdict for trial in run.trials if trial.kind == "insert"} <= {"held", "blast"}


def test_a_toy_that_is_found_awake_by_the_reset_that_was_to_wake_it_begins_anew(blasted: Conduct) -> None:
    run = blasted(f"{HOLDS}&sleep_s=3600", 6, pace_s=240.0)
    assert kinds(list(run.trials)) == [("insert", "held"), ("reset", "ok")] * 3
    assert [(trial.round, trial.insert) for trial in run.trials] == [(1, 1), (1, None), (2, 1), (2, None), (3, 1), (3, None)]
    assert ended(run) == [(n, "reset", 1) for n in (1, 2, 3)]
    assert not any(trial.fired for trial in run.trials)
    assert {fill.difference for fill in run.data.fills} == {0}


def test_an_insert_that_a_sleeping_toy_did_not_take_censors_the_round(blasted: Conduct) -> None:
    run = blasted(f"{HOLDS}&sleep_s=60", 8, pace_s=100.0)
    once = [("insert", "held"), ("insert", "rejected"), ("reset", "held"), ("reset", "ok")]
    assert kinds(list(run.trials)) == once * 2
    rejected = run.trials[1]
    assert (rejected.reason, rejected.loaded, rejected.insert, rejected.round) == ("no_sound", 2, None, 1)
    assert [trial.cleared for trial in run.trials] == [0, 0, 0, 2] * 2
    assert [trial.since_power_on for trial in run.trials] == [1, 2, 2, 2, 2, 3, 3, 3]
    assert ended(run) == [(1, "rejected", 1), (2, "rejected", 1)]
    assert run.outcome.exit_code is Exit.inconclusive, "a quarter of the trials told nothing"


# ---------------------------------------------------------------------- what goes wrong


def test_a_board_that_is_reset_in_mid_round_censors_it(blasted: Conduct) -> None:
    def reset_it(rig: Rig, progress: Progress) -> None:
        if progress.done == 2:
            bench_of(rig).reset()

    run = blasted(HOLDS, 12, on_progress=reset_it)
    assert ended(run)[0][:2] == (1, "gap")
    first, second = rounds_of(run)[:2]
    assert kinds(first)[:2] == [("insert", "held")] * 2
    assert {trial.kind for trial in first[2:]} == {"reset"}
    assert kinds(first)[-1] == ("reset", "ok")
    assert first[-1].cleared == first[-1].loaded == 2
    assert first[2].gap_s is None
    assert second[0].since_fire is None and second[0].insert == second[0].loaded == 1
    assert {fill.difference for fill in run.data.fills} == {0}
    assert [true["cause"] for true in run.truth] == [trial.verdict for trial in run.trials]


def test_a_board_that_is_reset_while_the_next_insert_is_waited_for_censors_the_round(blasted: Conduct) -> None:
    """The toy has lost its power, so that the insert would be the first of another round to it."""
    hit: list[float] = []

    class Later(StopFlag):
        def __call__(self) -> bool:
            rig = rigs[0]
            if hit and rig.link.clock.now() > hit[0]:
                hit[0] = float("inf")
                bench_of(rig).reset()
            return super().__call__()

    rigs: list[Rig] = []

    def plan_it(rig: Rig, progress: Progress) -> None:
        if progress.done == 2:
            hit.append(rig.link.clock.now() + 20.0)

    run = blasted(HOLDS, 10, pace_s=60.0, stop=Later(), on_progress=plan_it, before=rigs.append)
    assert ended(run)[0] == (1, "gap", 2)
    first = rounds_of(run)[0]
    assert [kind for kind, _ in kinds(first)] == ["insert", "insert", *["reset"] * (len(first) - 2)]
    assert kinds(first)[-1] == ("reset", "ok")


def test_a_toy_whose_sound_is_never_heard_is_one_broken_rig(blasted: Conduct) -> None:
    run = blasted(f"{HOLDS}&sound_delay_ms=70", 50, before=lambda rig: board_on(rig).set("accept_ms", 40))
    assert len(run.trials) == WASTED_BEFORE_END
    assert kinds(list(run.trials))[0] == ("insert", "rejected")
    assert {(trial.kind, trial.reason) for trial in run.trials[1:]} == {("reset", "ran_unheard")}
    assert (run.outcome.status, run.outcome.exit_code) == ("aborted by rule", Exit.rig_fault)
    assert run.outcome.cause.startswith("5 trials in a row came to nothing; the last is fault (ran_unheard)")


def test_resets_that_work_do_not_hide_inserts_that_never_do(blasted: Conduct) -> None:
    """The toy sleeps at once, and only a reset is heard."""
    run = blasted(f"{HOLDS}&sleep_s=5", 50)
    inserts = [trial.verdict for trial in run.trials if trial.kind == "insert"]
    assert inserts == ["rejected"] * WASTED_BEFORE_END
    assert run.outcome.exit_code is Exit.rig_fault


def left_on(rig: Rig) -> None:
    """As a host leaves the toy that was killed between two trials."""
    board_on(rig).demand(Power(1))
    assert driven(bench_of(rig)) == {"A5"}


def test_a_toy_that_was_on_before_is_emptied_first(blasted: Conduct) -> None:
    run = blasted(TAME, 12, before=left_on)
    assert ended(run)[0] == (1, "toy_unknown", 0)
    first, second = rounds_of(run)[:2]
    assert kinds(first) == [("reset", "ok")]
    assert first[0].toy == "awake"
    assert second[0].kind == "insert"


SLOT_PINS = {"D5", "D6", "D7", "D9"}


@pytest.mark.parametrize("moment", ["between trials", "a coil on"])
def test_a_signal_in_mid_round_ends_it_and_leaves_everything_off(moment: str, blasted: Conduct) -> None:
    rigs: list[Rig] = []
    done: list[int] = []

    def now() -> bool:
        return len(done) >= 2 and (moment == "between trials" or bool(SLOT_PINS & driven(bench_of(rigs[0]))))

    run = blasted(HOLDS, 50, stop=StopWhen(now), before=rigs.append, on_progress=lambda rig, progress: done.append(progress.done))
    assert (run.outcome.status, run.outcome.exit_code, run.outcome.safe) == ("aborted by operator", Exit.aborted, True)
    assert ended(run) == [(1, "operator", 2)] or ended(run) == [(1, "operator", 3)]
    assert [trial.verdict for trial in run.trials[:2]] == ["held", "held"]
    assert [trial.verdict for trial in run.trials[2:]] == (["aborted"] if moment == "a coil on" else [])
    bench_of(rigs[0]).clock.sleep(0.05)
    assert driven(bench_of(rigs[0])) == set()


def test_a_bad_line_spoils_no_round_that_is_counted(blasted: Conduct) -> None:
    url = f"faulty+twin:blast?seed=9&fault_seed=3&corrupt=0.01&drop=0.003&{SOUND}"
    run = blasted(url, 60)
    assert run.outcome.status == "complete"
    assert sum(run.data.run.counters.get(name, 0) for name in ("crc", "resync", "host_crc", "host_resent")) > 20
    for trial, true in zip(run.trials, run.truth, strict=True):
        if not trial.spoiled:
            assert (trial.verdict, trial.cleared, trial.loaded) == (true["cause"], true["cleared"], true["loaded"])
            assert trial.kind == "reset" or trial.insert == true["insert"]


def test_the_same_seed_is_the_same_run_to_the_bit(blasted: Conduct) -> None:
    url = "twin:blast?seed=5&partial=0.05&latch_fault=0.05"
    hashes = {blasted(url, 25).data.run.raw_sha256 for _ in range(2)}
    assert len(hashes) == 1
    other = blasted("twin:blast?seed=6&partial=0.05&latch_fault=0.05", 25)
    assert other.data.run.raw_sha256 not in hashes


# ---------------------------------------------------------------------- by hand


def by_hand(blasted: Conduct, url: str = TAME, **wanted: Any) -> Conducted:
    return blasted(url, 1, command="insert", **wanted)


def test_inserts_by_hand_are_made_as_asked_and_nothing_is_added(blasted: Conduct) -> None:
    run = by_hand(blasted, HOLDS, into=(3, 1))
    assert [(trial.slot, trial.insert, trial.loaded) for trial in run.trials] == [(3, 1, 1), (1, 2, 2)]
    assert [(fill.loaded, fill.remaining, fill.difference) for fill in run.data.fills] == [(4, 4, 0)]
    assert run.outcome.exit_code is Exit.passed
    assert [trial.slot for trial in by_hand(blasted).trials] == [1]


def test_until_the_blast_ends_with_it(blasted: Conduct) -> None:
    lengths = set()
    for seed in range(6):
        run = by_hand(blasted, TAME.replace("seed=7", f"seed={seed}"), until_blast=True)
        verdicts = [trial.verdict for trial in run.trials]
        assert verdicts == ["held"] * (len(verdicts) - 1) + ["blast"]
        assert run.outcome.exit_code is Exit.passed
        lengths.add(len(verdicts))
    assert len(lengths) > 1


def test_until_the_blast_ends_with_one_that_comes_too_late_to_count(blasted: Conduct) -> None:
    run = by_hand(blasted, f"{TAME}&brain=constant&p_blast=1&release_delay_ms=1500", until_blast=True)
    assert [trial.verdict for trial in run.trials] == ["held"]
    assert [event.trial for event in run.events("late_card")] == [1]
    assert ended(run) == [(1, "late_card", 1)]


def test_until_the_blast_ends_at_the_last_slot_when_there_is_none(blasted: Conduct) -> None:
    assert [trial.slot for trial in by_hand(blasted, HOLDS, until_blast=True).trials] == [1, 2, 3, 4]
    assert [trial.slot for trial in by_hand(blasted, HOLDS, until_blast=True, into=(2, 4)).trials] == [2, 4]


def test_by_hand_inserts_into_a_toy_that_was_on_before_enter_no_hazard(blasted: Conduct) -> None:
    run = by_hand(blasted, HOLDS, into=(3, 1), before=left_on)
    assert [(trial.verdict, trial.insert) for trial in run.trials] == [("held", None), ("held", None)]
    assert tabulate([run.data]).excluded()["after_unsure"] == 2


def test_after_a_blast_the_next_insert_by_hand_begins_a_round(blasted: Conduct) -> None:
    run = by_hand(blasted, f"{TAME}&brain=constant&p_blast=1", into=(2, 4))
    assert [(trial.verdict, trial.round, trial.insert) for trial in run.trials] == [("blast", 1, 1), ("blast", 2, 1)]


@pytest.mark.parametrize(
    ("wanted", "says", "made"),
    [
        ({"into": (2, 2)}, "slot 2 holds a card", 1),
        ({"into": (1, 3), "fill": 2}, "slot 3: no card waits in its loader", 1),
        ({"into": (4,), "fill": 3}, "slot 4: no card waits in its loader", 0),
    ],
)
def test_an_insert_that_is_not_possible_ends_the_run_and_no_coil_moves(
    wanted: dict[str, Any], says: str, made: int, blasted: Conduct
) -> None:
    rigs: list[Rig] = []
    run = by_hand(blasted, HOLDS, before=rigs.append, **wanted)
    assert says in run.outcome.cause
    assert (run.outcome.exit_code, run.outcome.status, run.outcome.safe) == (Exit.usage, "aborted by rule", True)
    assert (run.data.run.status, run.data.run.note, run.data.run.safe_state) == ("aborted by rule", run.outcome.cause, "confirmed")
    assert len(run.trials) == len(run.truth) == made
    assert sum(len(spans) for name, spans in bench_of(rigs[0]).coils.spans.items() if name != "power") == made


def test_resets_by_hand_ask_nobody_for_cards(blasted: Conduct) -> None:
    run = blasted(HOLDS, 2, command="reset", pace_s=200.0, operator=lambda rig: NoOperator())
    assert [(trial.verdict, trial.toy) for trial in run.trials] == [("ok", "awake"), ("held", "asleep")]
    assert run.outcome.exit_code is Exit.passed
    assert [(fill.loaded, fill.remaining) for fill in run.data.fills] == [(0, None)]
