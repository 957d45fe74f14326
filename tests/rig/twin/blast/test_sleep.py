# SPDX-License-Identifier: Apache-2.0
"""Sleep after three minutes, and the two meanings of the reset button."""

from __future__ import annotations

import numpy as np
import pytest

from rig.twin.plan import cycles
from tests.rig.twin.blast.watched import TAME, Blaster, S, moments
from tests.rig.twin.watcher import MS

NEVER = TAME | {"brain": "constant", "p_blast": 0}
HIDDEN = TAME | {"brain": "hidden_slot"}
TAKEN = 35 * MS  # from the coil to what counts: pull-in and debounce
PRESSED = 20 * MS


@pytest.mark.parametrize(("idle_s", "asleep"), [(179.9, False), (180.1, True)])
def test_a_card_is_taken_within_three_minutes_of_the_last_activity_and_not_after(idle_s: float, asleep: bool) -> None:
    blaster = Blaster(**NEVER)
    first = blaster.insert(1)
    seen = blaster.insert(2, at=first.at + round(idle_s * S))
    assert seen.judged.verdict.name == ("rejected" if asleep else "held")
    record = blaster.truth[-1]
    assert (record.asleep, record.accepted, record.unseen) == (asleep, not asleep, int(asleep))
    assert record.cause == seen.judged.verdict.name
    assert (record.insert, record.p_fire) == ((None, None) if asleep else (2, 0))
    assert blaster.inside == [1, 2], "the card lies in the slot either way"


@pytest.mark.parametrize("early", [1, 0])
def test_it_falls_asleep_at_the_very_cycle(early: int) -> None:
    blaster = Blaster(**NEVER, sleep_s=5)
    first = blaster.insert(1)
    blaster.insert(2, at=first.at + 5 * S - early)
    assert blaster.truth[-1].asleep == (not early)


@pytest.mark.parametrize("what", ["power", "insert", "reset", "waking"])
def test_power_on_a_card_taken_and_the_button_keep_it_awake(what: str) -> None:
    blaster = Blaster(**NEVER, power=what != "power")
    if what == "power":
        active = blaster.now
        blaster.output("power", 1)
    elif what == "insert":
        active = blaster.insert(1).at + TAKEN
    else:
        at = blaster.now + (200 * S if what == "waking" else 0)
        active = blaster.reset(at=at).at + PRESSED
        assert blaster.truth[-1].asleep == (what == "waking")
    late = blaster.insert(3, at=active + 180 * S - TAKEN)
    assert late.judged.verdict.name == "rejected"
    assert blaster.truth[-1].asleep


def test_what_it_does_not_take_does_not_keep_it_awake() -> None:
    blaster = Blaster(**NEVER)
    active = blaster.insert(1).at + TAKEN
    blaster.insert(1, at=active + 100 * S)  # in vain
    blaster.reset(at=active + 110 * S, hold_ms=19)  # too short
    assert blaster.insert(2, at=active + 180 * S - TAKEN).judged.verdict.name == "rejected"


def test_asleep_it_draws_next_to_nothing() -> None:
    blaster = Blaster(**NEVER)
    active = blaster.insert(1).at + TAKEN
    awake, asleep = blaster.volts(0, np.array([active + 180 * S - 10, active + 180 * S + 10]))
    assert (awake, asleep) == (pytest.approx(0.015), pytest.approx(0.0001))
    assert blaster.plant.idle_after() < active + S, "falling asleep is no movement"


def test_the_button_wakes_it_and_slots_and_hidden_trigger_are_what_they_were() -> None:
    blaster = Blaster(seed=2, **HIDDEN)
    trigger = blaster.plant.ahead.round.trigger
    others = [slot for slot in range(1, 5) if slot != trigger]
    assert blaster.insert(others[0]).judged.verdict.name == "held"
    asleep_at = blaster.now + 200 * S
    unseen = blaster.insert(others[1], at=asleep_at)
    assert unseen.judged.verdict.name == "rejected"
    woken = blaster.reset()
    assert (woken.judged.verdict.name, woken.judged.roller_ms, len(moments(woken, "sound"))) == ("held", 0, 2)
    record = blaster.truth[-1]
    assert (record.asleep, record.fired, record.loaded, record.unseen, record.cause) == (True, False, 2, 1, "held")
    last = blaster.insert(trigger)
    assert (last.judged.verdict.name, last.judged.cleared) == ("blast", 3), "what lay there unseen flies, too"
    record = blaster.truth[-1]
    assert (record.insert, record.p_fire, record.loaded, record.unseen) == (2, pytest.approx(1 / 3), 3, 1)


def test_a_card_in_the_hidden_slot_that_was_not_seen_leaves_a_round_without_a_blast() -> None:
    blaster = Blaster(seed=2, **HIDDEN)
    trigger = blaster.plant.ahead.round.trigger
    blaster.insert(trigger, at=blaster.now + 200 * S)
    blaster.reset()
    verdicts = [blaster.insert(slot).judged.verdict.name for slot in range(1, 5) if slot != trigger]
    assert verdicts == ["held"] * 3
    assert [record.p_fire for record in blaster.truth[2:]] == [pytest.approx(1 / k) for k in (4, 3, 2)]


def test_awake_the_button_ejects_what_is_loaded_and_draws_a_new_trigger() -> None:
    triggers = set()
    for seed in range(30):
        blaster = Blaster(seed=seed, **HIDDEN)
        before = blaster.plant.ahead.round.trigger
        slot = before % 4 + 1
        blaster.insert(slot)
        seen = blaster.reset()
        assert (seen.judged.verdict.name, seen.judged.cleared, blaster.inside) == ("ok", 1, [])
        record = blaster.truth[-1]
        assert (record.kind, record.cause, record.loaded, record.fired, record.p_fire) == ("reset", "ok", 1, True, None)
        blaster.reload()
        known = blaster.plant.ahead.round
        assert known.tried == frozenset()
        triggers.add((before, known.trigger))
    assert len(triggers) > 8


def test_with_nothing_loaded_the_button_drives_the_latch_all_the_same() -> None:
    blaster = Blaster(**NEVER | {"latch_fault": 1})
    seen = blaster.reset()
    assert (seen.judged.verdict.name, seen.judged.cleared) == ("ok", 0)
    assert (blaster.truth[0].latch_fault, blaster.truth[0].cause) == (0, "ok")


@pytest.mark.parametrize(("fault", "verdict"), [({"latch_fault": 1}, "latch_fault"), ({"jam": 1}, "jam")])
def test_what_the_button_ejects_meets_the_same_faults(fault: dict[str, float], verdict: str) -> None:
    blaster = Blaster(**NEVER | fault)
    blaster.insert(1)
    blaster.insert(2)
    assert blaster.reset().judged.verdict.name == verdict == blaster.truth[-1].cause


def test_a_button_let_go_too_early_or_pressed_while_it_sounds_does_nothing() -> None:
    blaster = Blaster(**NEVER)
    seen = blaster.reset(hold_ms=19.9)
    assert (seen.edges, blaster.truth[-1].cause) == ([], "rejected")
    blaster.output("slot1", 1)
    blaster.output("slot1", 0, 40)
    blaster.reset(at=blaster.now + 100 * MS)
    assert (blaster.truth[-1].accepted, blaster.truth[-1].fired, blaster.inside) == (False, False, [1])


def test_power_off_and_on_begins_anew_and_the_cards_stay() -> None:
    triggers = set()
    for seed in range(12):
        blaster = Blaster(seed=seed, **HIDDEN)
        known = blaster.plant.ahead.round
        blaster.insert(known.trigger % 4 + 1)
        blaster.output("power", 0)
        blaster.output("power", 1, 500)
        again = blaster.plant.ahead.round
        triggers.add((known.trigger, again.trigger))
        assert (again.inserts, again.tried, len(blaster.inside)) == (0, frozenset(), 1)
    assert len(triggers) > 4


def test_three_minutes_are_counted_in_cycles() -> None:
    assert cycles(180 * 1000) == 180 * S
