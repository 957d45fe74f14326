# SPDX-License-Identifier: Apache-2.0
"""The verdict, case by case: the table of `docs/trials.md`."""

from __future__ import annotations

from typing import Any

import pytest

from rig.verdict import current_uA, driven, judge, pack_uV
from rig.wire.messages import SETTINGS, BinFlag, Reason, Verdict, Wiring

DEFAULTS = {name: setting.default for name, setting in SETTINGS.items()}


def sample(mA: float = 0, flags: int = 0, volts: float = 4.5) -> int:
    return round(mA * 1000 / 1222) | round(volts * 1e6 / 9775) << 12 | flags << 22


STILL, RUNNING, STALLED = sample(15), sample(300), sample(1100)
BLOCKED = sample(300, BinFlag.beam_a)
SOUND = (1500, "sound", 1)
ONE_CARD = ((2000, "beam_a", 1), (3000, "beam_a", 0))


def verdict(**given: Any) -> Any:
    case = {
        "drive": Wiring.button,
        "actuated_tick": 1000,
        "edges": (),
        "bins": (STILL,) * 10,
        "hopper": 50,
        "settings": DEFAULTS,
        "reason": Reason.none,
    }
    if given.pop("sounds", True):
        given["edges"] = (SOUND, *given.get("edges", ()))
    return judge(**(case | given))


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (Verdict.no_run, {}),
        (Verdict.ok, {"bins": (RUNNING,) * 20, "edges": ONE_CARD}),
        (Verdict.slip, {"bins": (RUNNING,) * 20}),
        (Verdict.empty, {"bins": (RUNNING,) * 20, "hopper": 0}),
        (Verdict.jam, {"bins": (STALLED,) * 26, "edges": ONE_CARD}),
        (Verdict.ok, {"bins": (STALLED,) * 25, "edges": ONE_CARD}),
        (Verdict.jam, {"bins": (BLOCKED,) * 30, "edges": ONE_CARD[:1]}),
        (Verdict.ok, {"bins": (BLOCKED,) * 29, "edges": ONE_CARD[:1]}),
        (Verdict.ok, {"bins": (BLOCKED,) * 20 + (RUNNING,) + (BLOCKED,) * 20, "edges": ONE_CARD}),
        (Verdict.rejected, {"sounds": False}),
        (Verdict.fault, {"sounds": False, "bins": (RUNNING,)}),
        (Verdict.fault, {"edges": ONE_CARD}),
        (Verdict.rejected, {"reason": Reason.beam_blocked, "actuated_tick": None}),
        (Verdict.rejected, {"reason": Reason.interlock, "actuated_tick": None}),
        (Verdict.aborted, {"reason": Reason.interlock, "bins": (RUNNING,), "edges": ONE_CARD}),
        (Verdict.aborted, {"reason": Reason.lease}),
        (Verdict.fault, {"reason": Reason.ring_full, "bins": (RUNNING,) * 20, "edges": ONE_CARD}),
        (Verdict.fault, {"reason": Reason.timeout, "bins": (RUNNING,) * 20, "edges": ONE_CARD}),
        (Verdict.jam, {"reason": Reason.timeout, "bins": (STALLED,) * 26}),
        (Verdict.no_run, {"drive": Wiring.direct, "bins": (RUNNING,) * 10}),
        (Verdict.slip, {"drive": Wiring.direct, "bins": (sample(0, BinFlag.roller),) * 10}),
    ],
)
def test_each_rule_decides_its_case(expected: Verdict, given: dict[str, Any]) -> None:
    assert verdict(**given).verdict is expected


def test_cards_are_counted_from_the_moment_of_actuation() -> None:
    edges = ((500, "beam_a", 1), (900, "beam_a", 0), *ONE_CARD, (4000, "beam_b", 0), (5000, "beam_a", 1))
    judged = verdict(bins=(RUNNING,) * 20, edges=edges)
    assert (judged.cleared, judged.sticking, judged.roller_ms) == (1, 1, 200)


def test_a_jammed_card_does_not_stick() -> None:
    assert verdict(bins=(STALLED,) * 30, edges=ONE_CARD[:1]).sticking == 0


def test_the_roller_threshold_is_inclusive_and_exact() -> None:
    count = -(-150_000 // 1222)
    assert driven([count, count - 1], Wiring.button, 150) == [True, False]


def test_samples_scale_as_the_page_says() -> None:
    assert current_uA(4 * 100) == 100 * 4888
    assert pack_uV(460 << 12) == 460 * 9775


@pytest.mark.parametrize(
    ("tick", "accepted"), [(999, False), (1000, True), (1000 + 150 * 16_000, True), (1001 + 150 * 16_000, False)]
)
def test_a_press_is_accepted_by_a_sound_that_begins_in_time(tick: int, accepted: bool) -> None:
    assert verdict(sounds=False, edges=((tick, "sound", 1),)).accepted is accepted


def test_in_direct_drive_every_actuated_press_is_accepted() -> None:
    assert verdict(drive=Wiring.direct, sounds=False).accepted
    assert not verdict(drive=Wiring.direct, sounds=False, actuated_tick=None).accepted


# ---------------------------------------------------------------------- the blaster

QUIET, RELEASED, BLOCKED_UNDRIVEN = sample(15), sample(600), sample(15, BinFlag.beam_a)
LATCH = (QUIET,) * 15 + (RELEASED,) * 8 + (QUIET,) * 30


def cards(number: int) -> tuple[tuple[int, str, int], ...]:
    return tuple((2000 + 100 * n + 50 * (1 - level), "beam_a", level) for n in range(number) for level in (1, 0))


@pytest.mark.parametrize(
    ("insert", "reset", "given"),
    [
        (Verdict.held, Verdict.held, {"loaded": 2}),
        (Verdict.blast, Verdict.ok, {"loaded": 2, "bins": LATCH, "edges": cards(2)}),
        (Verdict.partial, Verdict.partial, {"loaded": 2, "bins": LATCH, "edges": cards(1)}),
        (Verdict.latch_fault, Verdict.latch_fault, {"loaded": 1, "bins": LATCH}),
        (Verdict.fault, Verdict.ok, {"loaded": 1, "bins": LATCH, "edges": cards(2)}),
        (Verdict.fault, Verdict.fault, {"loaded": 2, "edges": cards(2)}),
        (Verdict.fault, Verdict.fault, {"loaded": 2, "edges": cards(1)}),
        (Verdict.rejected, Verdict.rejected, {"loaded": 2, "sounds": False}),
        (Verdict.fault, Verdict.fault, {"loaded": 2, "sounds": False, "bins": LATCH, "edges": cards(2)}),
        (Verdict.fault, Verdict.fault, {"loaded": 2, "sounds": False, "edges": cards(1)}),
        (Verdict.jam, Verdict.jam, {"loaded": 2, "bins": (*LATCH, *(BLOCKED_UNDRIVEN,) * 30), "edges": cards(2)[:3]}),
        (Verdict.blast, Verdict.ok, {"loaded": 2, "bins": (*LATCH, *(BLOCKED_UNDRIVEN,) * 29), "edges": cards(2)}),
        (Verdict.jam, Verdict.jam, {"loaded": 2, "bins": (STALLED,) * 26}),
        (Verdict.jam, Verdict.jam, {"loaded": 1, "sounds": False, "bins": (BLOCKED_UNDRIVEN,) * 30, "edges": cards(1)[:1]}),
        (Verdict.fault, Verdict.fault, {"loaded": 1, "reason": Reason.timeout, "bins": LATCH, "edges": cards(1)}),
        (Verdict.rejected, Verdict.rejected, {"loaded": 0, "reason": Reason.wrong_wiring, "actuated_tick": None}),
        (Verdict.aborted, Verdict.aborted, {"loaded": 1, "reason": Reason.stop, "bins": LATCH, "edges": cards(1)}),
    ],
)
def test_each_rule_of_the_blaster_decides_its_case(insert: Verdict, reset: Verdict, given: dict[str, Any]) -> None:
    assert verdict(kind="insert", **given).verdict is insert
    assert verdict(kind="reset", **given).verdict is reset


def test_a_reset_of_an_empty_blaster_that_is_awake_is_ok() -> None:
    assert verdict(kind="reset", loaded=0, bins=LATCH).verdict is Verdict.ok


def test_the_latch_counts_as_driven_by_its_own_setting() -> None:
    counts = -(-DEFAULTS["release_mA"] * 1000 // 1222)
    judged = verdict(kind="insert", loaded=1, bins=(*(QUIET,) * 10, counts, counts - 1, *(QUIET,) * 30))
    assert judged.roller_ms == 10
    assert judged.verdict is Verdict.latch_fault
