# SPDX-License-Identifier: Apache-2.0
"""The blaster through the real firmware: what is measured is what happened, trial by trial."""

from __future__ import annotations

import random

import pytest

from rig.launcher import Driver
from rig.open import open_rig
from rig.requests import InsertRequest, ResetRequest
from rig.rig import Rig
from rig.slots import Slots
from rig.trial import TrialRecord
from rig.twin.avr import CYCLE_HZ
from rig.twin.rig import make_twin
from rig.wire.messages import Launcher, Wiring
from tests.twins import bench_of, launcher_on

GIVE_UP = 3
"""Resets in a row after which a person empties the slots."""


def campaign(rig: Rig, driver: Driver, trials: int, seed: int) -> list[TrialRecord]:
    """Insert into random free slots; reset, and at last reload, when there are none. Now and then the toy falls asleep."""
    draw, records, resets = random.Random(seed), [], 0
    slots = driver.settings["slots"]
    rig.preload(slots)
    driver.keep_books(Slots().filled(slots))
    while len(records) < trials:
        number, ready = len(records) + 1, driver.books.ready(slots)
        if not ready and (not driver.books.cards or resets == GIVE_UP):
            rig.operator.reload(slots, driver.idle)
            driver.keep_books(Slots().filled(slots))
            resets = 0
            continue
        at = driver.tick_now() + (40 if number % 11 == 0 else 2) * CYCLE_HZ
        if ready:
            record = driver.perform(InsertRequest(number, number, 0, at, len(ready), slot=draw.choice(ready)))
        else:
            resets += 1
            record = driver.perform(ResetRequest(number, number, 0, at, 0))
        records.append(record)
        if record.verdict == "jam":
            driver.keep_books(driver.books.cleared(rig.operator.clear_mouth(driver.idle)))
    return records


@pytest.mark.parametrize("brain", ["hidden_slot", "constant", "creeping"])
def test_verdict_cards_and_slot_are_the_truth_in_every_trial(brain: str) -> None:
    rig = open_rig(f"twin:blast?seed=6&brain={brain}&partial=0.1&latch_fault=0.1&double_feed=0&jam=0.03&sleep_s=30")
    try:
        driver = launcher_on(rig)
        driver.prepare()
        records = campaign(rig, driver, 300, 1)
        assert rig.truth
        rows = {
            row["trial"]: row for row in rig.truth([(each.number, each.tick) for each in records], driver.board.stretches)["trials"]
        }
        for each in records:
            row = rows[each.number]
            assert each.mcu_verdict == each.verdict
            assert (each.verdict, each.cleared, each.slot, each.loaded) == (
                row["cause"],
                row["cleared"],
                row["slot"],
                row["loaded"],
            )
            assert (each.accepted, each.roller_ms > 0) == (row["accepted"], row["fired"])
        causes = {row["cause"] for row in rows.values()}
        assert causes >= {"held", "blast", "partial", "latch_fault", "jam", "ok", "rejected"}
        bench = bench_of(rig)
        assert bench.coils.overlaps == 0
        assert bench.coils.longest("slot1") < 45 * CYCLE_HZ // 1000
        stats = bench.avr.stats()
        assert stats.awake / (bench.clock.now() * 1000) <= 110
        assert stats.exchanges / len(records) <= 30
    finally:
        rig.close()


@pytest.mark.parametrize("slots", [1, 6])
def test_the_board_of_a_blaster_comes_set_up_for_it(slots: int) -> None:
    rig = open_rig(f"twin:blast?seed=1&slots={slots}")
    try:
        driver = launcher_on(rig)
        driver.prepare()
        assert (driver.kind, driver.settings["slots"], driver.settings["wiring"]) == (Launcher.blast, slots, Wiring.button)
    finally:
        rig.close()


def test_the_board_of_a_roller_launcher_comes_as_before() -> None:
    parts = make_twin("twin:roller?seed=1")
    try:
        assert parts.bench.avr.eeprom()[18:64] == b"\xff" * 46
    finally:
        parts.bench.close()


def test_a_seed_reproduces_a_campaign_to_the_bit() -> None:
    def once() -> list[TrialRecord]:
        rig = open_rig("twin:blast?seed=12")
        try:
            driver = launcher_on(rig)
            driver.prepare()
            return campaign(rig, driver, 40, 2)
        finally:
            rig.close()

    assert once() == once()
