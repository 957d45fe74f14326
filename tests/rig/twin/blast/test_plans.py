# SPDX-License-Identifier: Apache-2.0
"""What an inserted card does and when: the toy's sound and latch, the cards on their way out, and everything that goes wrong."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rig.twin.avr import FOREVER
from tests.rig.twin.blast.watched import TAME, Blaster, Seen, moments
from tests.rig.twin.watcher import DEFAULTS, MS

ALWAYS = TAME | {"brain": "constant", "p_blast": 1}
NEVER = TAME | {"brain": "constant", "p_blast": 0}
LAST = TAME | {"brain": "creeping", "creeping": (0.0, 0.0, 0.0, 1.0)}
"""The fourth card triggers."""


def all_four(**said: object) -> tuple[Blaster, Seen]:
    """A blaster whose fourth card makes it blast, and that last insertion."""
    blaster = Blaster(**LAST | said)  # type: ignore[arg-type]
    *_, last = [blaster.insert(slot) for slot in (2, 4, 1, 3)]
    return blaster, last


def passages(seen: Seen, name: str = "beam_a") -> list[tuple[float, float]]:
    """From and until when a beam was blocked, in ms since actuation."""
    edges = moments(seen, name)
    assert [level for _, level in edges] == [1, 0] * (len(edges) // 2)
    return [(edges[i][0], edges[i + 1][0]) for i in range(0, len(edges), 2)]


# ---------------------------------------------------------------------- held


def test_a_card_that_does_not_trigger_is_answered_by_a_sound_alone() -> None:
    blaster = Blaster(**NEVER)
    seen = blaster.insert(3)
    (begin, up), (end, down) = moments(seen, "sound")
    assert (up, down, end - begin) == (1, 0, 300)
    assert begin == 15 + 20 + 25
    assert {name for _, name, _ in seen.edges} == {"sound"}
    assert (seen.judged.verdict.name, seen.judged.roller_ms) == ("held", 0)
    assert (blaster.inside, blaster.waiting) == ([3], [1, 2, 4])
    record = blaster.truth[0]
    assert (record.cause, record.slot, record.loaded, record.insert, record.p_fire) == ("held", 3, 1, 1, 0)


def test_the_sound_comes_within_the_limit_at_the_slowest_that_can_be_set() -> None:
    seen = Blaster(**NEVER, pull_in_ms=30, debounce_ms=40, sound_delay_ms=70).insert(1)
    assert seen.judged.accepted
    assert seen.judged.verdict.name == "held"


# ---------------------------------------------------------------------- blast


def test_every_loaded_card_leaves_after_the_other_past_a_and_then_b() -> None:
    blaster, seen = all_four()
    at_a, at_b = passages(seen), passages(seen, "beam_b")
    assert len(at_a) == len(at_b) == 4
    assert seen.judged.verdict.name == "blast"
    assert (seen.judged.cleared, blaster.inside, blaster.waiting) == (4, [], [])
    for (begin, end), (begin_b, end_b) in zip(at_a, at_b, strict=True):
        assert end - begin == pytest.approx(88 / 3, abs=0.01)
        assert begin_b - begin == pytest.approx(10, abs=0.01)
        assert end_b - end == pytest.approx(10, abs=0.01)
    gaps = [after[0] - before[1] for before, after in pairwise(at_a)]
    assert all(60 - 88 / 3 <= gap <= 64 - 88 / 3 for gap in gaps)


def over_at(seen: Seen) -> int:
    """Cycle at which a trial is over, by the firmware's rule (`docs/trials.md`), as far as the plant has it in its hands."""
    quiet_bins, ran, sounding = 0, False, False
    for i, each in enumerate(seen.bins):
        close = seen.at + (i + 1) * 10 * MS
        within = [(name, level) for cycle, name, level in seen.edges if close - 10 * MS <= cycle < close]
        for name, level in within:
            sounding = bool(level) if name == "sound" else sounding
        driven = (each & 0xFFF) * 1222 >= DEFAULTS["release_mA"] * 1000
        ran |= driven
        quiet_bins = 0 if driven or within or sounding else quiet_bins + 1
        if quiet_bins * 10 >= DEFAULTS["quiet_ms"] and (ran or (i + 1) * 10 >= DEFAULTS["onset_ms"]):
            return close
    return FOREVER


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"release_delay_ms": 280, "debounce_ms": 40, "pull_in_ms": 30},
        {"release_delay_ms": 280, "debounce_ms": 40, "pull_in_ms": 30, "sound_ms": 50, "sound_delay_ms": 5, "release_ms": 40},
        {"stagger_ms": 150, "jitter_ms": 20, "sound_ms": 50},
        {"release_delay_ms": 20, "sound_ms": 1500},
    ],
)
def test_a_trial_is_not_over_before_everything_is(said: dict[str, float]) -> None:
    _, seen = all_four(**said)
    last = max(cycle for cycle, _, _ in seen.edges)
    assert last < over_at(seen) < seen.at + DEFAULTS["observe_max_ms"] * MS


def test_the_latch_shows_in_whole_bins_and_nothing_else_does() -> None:
    _, seen = all_four(release_mA=400, release_ms=40)
    whole = [each & 0xFFF for each in seen.bins if (each & 0xFFF) * 1222 // 1000 >= 399]
    assert len(whole) >= 2
    assert max(seen.bins, key=lambda each: each & 0xFFF) & 0xFFF < 850_000 // 1222
    held = Blaster(**NEVER, idle_mA=50, sound_mA=70).insert(1)
    assert all((each & 0xFFF) * 1222 < 130_000 for each in held.bins)


def test_the_voltage_sags_by_the_current_times_the_resistance() -> None:
    blaster, seen = all_four()
    cycles = seen.at + np.arange(0, 900) * MS
    current, half_V = blaster.volts(0, cycles), blaster.volts(1, cycles)
    assert current.max() == pytest.approx(0.675)
    assert np.allclose(2 * half_V + 0.6 * current, 4.8, atol=0.005)


def test_the_current_that_flows_discharges_the_pack() -> None:
    blaster, seen = all_four()
    before = blaster.plant._pack.used_mAh
    later = seen.at + 4000 * MS
    cycles = np.arange(seen.at, later, MS // 4)
    drawn = np.trapezoid(blaster.volts(0, cycles), cycles) / 16e6 / 3.6
    blaster.take(later, blaster.plant.output(later, "power", 0))
    assert blaster.plant._pack.used_mAh - before == pytest.approx(drawn, rel=0.02)


def test_six_cards_are_the_most() -> None:
    blaster = Blaster(**LAST | {"slots": 6, "creeping": (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)})
    *_, last = [blaster.insert(slot) for slot in range(1, 7)]
    assert (last.judged.verdict.name, last.judged.cleared) == ("blast", 6)


# ---------------------------------------------------------------------- the coil moves in vain


def test_a_coil_let_go_too_early_pushes_nothing_in() -> None:
    blaster = Blaster(**NEVER)
    seen = blaster.insert(1, hold_ms=14.9)
    assert (seen.edges, blaster.inside, blaster.waiting) == ([], [], [1, 2, 3, 4])
    record = blaster.truth[0]
    assert (record.vain, record.loaded, record.accepted, record.cause) == (1, 0, False, "rejected")
    assert blaster.insert(1, hold_ms=15.1).judged.verdict.name == "held"


def test_into_an_occupied_slot_and_from_an_empty_loader_nothing_moves() -> None:
    blaster = Blaster(**NEVER, cards=2)
    blaster.insert(1)
    for slot in (1, 3):
        seen = blaster.insert(slot)
        assert (seen.judged.verdict.name, seen.edges) == ("rejected", [])
        assert (blaster.truth[-1].vain, blaster.truth[-1].loaded) == (1, 1)
    blaster.reload(0)
    blaster.load(1)
    assert blaster.insert(1).judged.verdict.name == "held"
    blaster.load(1)
    blaster.insert(1)
    assert (blaster.truth[-1].vain, blaster.inside, blaster.waiting) == (1, [1], [1])


def test_a_solenoid_that_the_toy_has_no_slot_for_moves_nothing() -> None:
    blaster = Blaster(**NEVER)
    blaster.output("slot5", 1)
    blaster.output("launch", 1)
    assert (blaster.truth, blaster.inside) == ([], [])


def test_a_toy_without_power_takes_no_note_of_a_card() -> None:
    blaster = Blaster(**ALWAYS, power=False)
    assert blaster.insert(1).edges == []
    assert (blaster.inside, blaster.truth[0].unseen, blaster.truth[0].vain) == ([1], 1, 0)
    blaster.output("power", 1)
    seen = blaster.insert(2, at=blaster.now + 150 * MS)  # the card lies there before the toy has booted
    assert (seen.edges, blaster.truth[1].unseen) == ([], 2)
    assert blaster.insert(3).judged.cleared == 3


def test_a_card_that_comes_while_the_toy_sounds_is_not_seen_and_flies_all_the_same() -> None:
    blaster = Blaster(**ALWAYS)
    blaster.output("slot1", 1)
    blaster.output("slot1", 0, 40)
    second = blaster.insert(2, at=blaster.now + 60 * MS)
    first, other = blaster.truth
    assert (first.cause, first.cleared) == ("blast", 2)
    assert (other.accepted, other.unseen, other.cause) == (False, 1, "rejected")
    assert len(passages(second)) == 2


# ---------------------------------------------------------------------- power


@pytest.mark.parametrize(
    ("off_ms", "sounds", "fired", "cards"),
    [(30, False, False, 0), (100, True, False, 0), (195, True, True, 0), (206, True, True, 1)],
)
def test_power_that_goes_off_ends_what_had_not_begun(off_ms: float, sounds: bool, fired: bool, cards: int) -> None:
    blaster = Blaster(**ALWAYS)
    at = blaster.now
    blaster.output("slot1", 1)
    blaster.output("slot1", 0, 40 if off_ms > 40 else 20)
    blaster.output("power", 0, off_ms)
    edges = blaster.named(at)
    assert sum(level for _, name, level in edges if name == "sound") == sounds
    assert all(cycle <= at + off_ms * MS for cycle, name, _ in edges if name == "sound")
    assert sum(level for _, name, level in edges if name == "beam_a") == cards
    (record,) = blaster.truth
    assert (record.accepted, record.fired, record.cleared) == (sounds, fired, cards)
    assert blaster.volts(0, np.array([at + off_ms * MS + 10])) == 0


def test_a_plan_ends_and_is_made_again_without_leaving_a_trace() -> None:
    one, _ = all_four()
    other = Blaster(**LAST)
    for slot in (2, 4, 1):
        other.insert(slot)
    at = other.now
    other.forget(at)
    other.output("slot3", 1)
    for after_ms in range(1, 400, 7):
        cycle = at + after_ms * MS
        other.take(cycle, other.plant.open_lid(cycle))
        if after_ms == 43:
            other.take(cycle, other.plant.output(cycle, "slot3", 0))
    assert one.truth == other.truth
    assert one.named(at) == [edge for edge in other.named(at) if edge[1] != "lid"]


# ---------------------------------------------------------------------- double feeds


@pytest.mark.parametrize("overlap", [0, 1])
def test_a_card_on_top_of_another_looks_like_one(overlap: float) -> None:
    blaster, seen = all_four(double_feed=1, overlap=overlap)
    assert len(passages(seen)) == len(passages(seen, "beam_b")) == 1
    ((begin, end),) = passages(seen)
    assert (end - begin == pytest.approx(88 / 3, abs=0.01)) == bool(overlap)
    record = blaster.truth[-1]
    assert (record.cleared, record.double_feeds, record.cause) == (4, 3, "blast")
    assert (seen.judged.cleared, seen.judged.verdict.name) == (1, "partial")


def test_cards_that_come_too_close_touch_and_are_a_double_feed() -> None:
    blaster, seen = all_four(stagger_ms=30, jitter_ms=0)
    assert (len(passages(seen)), blaster.truth[-1].double_feeds) == (1, 3)
    blaster, seen = all_four(stagger_ms=31, jitter_ms=0)
    assert (len(passages(seen)), blaster.truth[-1].double_feeds) == (4, 0)


def test_six_cards_that_touch_are_no_jam() -> None:
    said = {"slots": 6, "creeping": (0.0,) * 5 + (1.0,), "stagger_ms": 38, "jitter_ms": 0, "throw_mm_s": 2400, "card_mm": 89}
    blaster = Blaster(**LAST | said)  # type: ignore[arg-type]
    *_, last = [blaster.insert(slot) for slot in range(1, 7)]
    assert (last.judged.cleared, last.judged.verdict.name) == (1, "partial")


# ---------------------------------------------------------------------- partial


def test_a_card_that_stays_lies_in_its_slot_until_it_flies_with_another_release() -> None:
    for seed in range(40):
        blaster, seen = all_four(seed=seed, partial=0.5)
        record = blaster.truth[-1]
        if record.partial:
            break
    assert 0 < record.cleared < 4
    assert (record.cause, seen.judged.verdict.name) == ("partial", "partial")
    assert len(blaster.inside) == 4 - record.cleared
    cards = len(blaster.inside)
    while blaster.inside:
        again = blaster.reset()
        assert again.judged.cleared == cards - len(blaster.inside)
        cards = len(blaster.inside)


def test_a_release_that_every_card_sits_out_cannot_be_told_from_a_failing_latch() -> None:
    blaster = Blaster(**ALWAYS | {"partial": 1})
    seen = blaster.insert(1)
    record = blaster.truth[0]
    assert (record.latch_fault, record.partial, record.cause) == (1, 0, "latch_fault")
    assert seen.judged.verdict.name == "latch_fault"


def test_each_card_stays_with_the_probability_that_is_set_also_when_it_has_stayed_before() -> None:
    blaster = Blaster(seed=3, **ALWAYS | {"partial": 0.3})
    stayed = of = 0
    for _ in range(300):
        if not blaster.waiting:
            blaster.reload()
        slot = next((slot for slot in blaster.waiting if slot not in blaster.inside), None)
        before = len(blaster.inside)
        if slot is None:
            blaster.reset()
        else:
            blaster.insert(slot)
            before += 1
        stayed += len(blaster.inside)
        of += before
    assert abs(stayed / of - 0.3) < 4 * (0.3 * 0.7 / of) ** 0.5


# ---------------------------------------------------------------------- jam


def test_a_wedged_card_blocks_beam_a_until_a_person_clears_it_and_keeps_those_behind_in() -> None:
    for seed in range(60):
        blaster, seen = all_four(seed=seed, jam=0.4)
        record = blaster.truth[-1]
        if record.jammed and record.cleared == 1:
            break
    assert (record.cause, seen.judged.verdict.name) == ("jam", "jam")
    assert [level for _, level in moments(seen, "beam_a")] == [1, 0, 1]
    assert len(passages(seen, "beam_b")) == 1
    assert len(blaster.inside) == 2
    assert blaster.plant.by_hand(blaster.now, "beam_a", True) == []
    again = blaster.reset()
    assert (blaster.truth[-1].jammed, len(blaster.inside), moments(again, "beam_a")) == (1, 2, [])
    at = blaster.now
    assert blaster.clear_mouth() == 1
    assert [(name, level) for cycle, name, level in blaster.named(at)] == [("beam_a", 0)]
    assert blaster.clear_mouth() == 0


# ---------------------------------------------------------------------- the latch


def test_a_latch_that_fails_lets_nothing_out_and_the_toy_begins_anew() -> None:
    blaster, seen = all_four(latch_fault=1)
    record = blaster.truth[-1]
    assert (record.cause, record.latch_fault, record.cleared, record.p_latch) == ("latch_fault", 1, 0, 1)
    assert (seen.judged.verdict.name, moments(seen, "beam_a")) == ("latch_fault", [])
    assert seen.judged.roller_ms >= 70
    assert blaster.inside == [1, 2, 3, 4]
    assert blaster.plant.ahead.round.inserts == 0


@pytest.mark.parametrize(("used_mAh", "rises"), [(0, False), (500, False), (1600, True), (2700, True)])
def test_the_latch_fails_more_often_below_a_loaded_voltage(used_mAh: float, rises: bool) -> None:
    blaster = Blaster(**ALWAYS | {"latch_fault": 0.02}, used_mAh=used_mAh)
    seen = blaster.insert(1)
    record, p = blaster.truth[0], blaster.parameters
    drop = seen.at + round((15 + 20 + 150 + 50) * MS)
    loaded_V = 2 * float(blaster.volts(1, np.array([drop]))[0])
    assert record.p_latch == pytest.approx(0.02 + p.latch_fault_growth * max(p.latch_V - loaded_V, 0), abs=1e-6)
    assert (record.p_latch > 0.021) == rises


def test_it_fails_as_often_as_it_is_said_to() -> None:
    blaster = Blaster(seed=5, **ALWAYS | {"latch_fault": 0.2})
    for _ in range(250):
        blaster.reload()
        blaster.insert(1)
        blaster.reload()
        blaster.insert(2)
    failed = sum(record.latch_fault for record in blaster.truth)
    assert all(record.p_latch == 0.2 for record in blaster.truth)
    assert abs(failed / 500 - 0.2) < 4 * (0.2 * 0.8 / 500) ** 0.5


# ---------------------------------------------------------------------- hands


def test_a_person_takes_out_every_card_wherever_it_is() -> None:
    blaster = Blaster(**NEVER)
    blaster.insert(1)
    blaster.insert(4)
    assert not blaster.plant.is_empty
    assert blaster.reload(2) == 4
    assert (blaster.inside, blaster.waiting) == ([], [1, 2])
    blaster.insert(1)
    blaster.insert(2)
    assert blaster.plant.is_empty
    jammed = Blaster(**ALWAYS | {"jam": 1})
    jammed.insert(3)
    at = jammed.now
    assert jammed.reload(0) == 4
    assert [(name, level) for _, name, level in jammed.named(at)] == [("beam_a", 0)]
    jammed.plant.clean(jammed.now)


def test_loaders_take_one_card_each() -> None:
    blaster = Blaster(**NEVER)
    with pytest.raises(ValueError, match="loader of slot 1 holds a card"):
        blaster.load(1)
    with pytest.raises(ValueError, match="5 cards cannot be loaded: there are 4 loaders"):
        blaster.load(5)
    with pytest.raises(ValueError, match="-1 cards"):
        blaster.load(-1)


def test_nobody_reaches_into_what_moves() -> None:
    blaster = Blaster(**ALWAYS)
    blaster.output("slot1", 1)
    for hand in (blaster.plant.take_out, blaster.plant.clear_mouth, lambda cycle: blaster.plant.load(cycle, 0)):
        with pytest.raises(RuntimeError, match="moves"):
            hand(blaster.now + 200 * MS)


def test_sensors_can_be_worked_by_hand() -> None:
    plant = Blaster(**NEVER).plant
    at = 2000 * MS
    assert plant.by_hand(at, "interlock", True) == [(at, 17, 1)]
    assert plant.by_hand(at, "beam_b", True) == [(at + 240, 2, 0)]
    assert plant.open_lid(at).edges == [(at, 18, 1)]
    assert plant.close_lid(at + MS).edges == [(at + MS, 18, 0)]
    blind = Blaster(**NEVER, beam="blind").plant
    assert blind.by_hand(at, "beam_a", True) == []


# ---------------------------------------------------------------------- all of it


def session(seed: int) -> tuple[object, ...]:
    """A long session with every fault in it."""
    blaster = Blaster(seed=seed, partial=0.1, latch_fault=0.1, double_feed=0.1, jam=0.05)
    for _ in range(80):
        free = [slot for slot in blaster.waiting if slot not in blaster.inside]
        if blaster.plant.ahead.mouth is not None:
            blaster.clear_mouth()
        if free:
            blaster.insert(free[len(blaster.truth) % len(free)])
        elif blaster.inside:
            blaster.reset()
        if not blaster.waiting:
            blaster.reload()
    return blaster.truth, blaster.plans, blaster.plant.board_uuid


def test_a_seed_reproduces_a_session_to_the_bit() -> None:
    assert session(4) == session(4)
    assert session(4)[0] != session(5)[0]


def test_nothing_is_planned_when_all_is_over_but_that_it_falls_asleep() -> None:
    blaster, seen = all_four()
    last = max(cycle for cycle, _, _ in seen.edges)
    assert blaster.plant.idle_after() == last < FOREVER
