# SPDX-License-Identifier: Apache-2.0
"""Where each trial stands in the run, and where every card is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.ledger import FillAccount, History
from rig.trial import TrialRecord

NO_RUN = TrialRecord(
    number=1,
    kind="press",
    drive="button",
    burst=1,
    burst_index=0,
    tick=16_000_000,
    verdict="no_run",
    reason="none",
    mcu_verdict="no_run",
    accepted=True,
    cleared=0,
    sticking=0,
    roller_ms=0,
    hopper=83,
    run_ms=0,
    duty=0,
    pack_V=None,
    pack_open_V=4.7,
    peak_A=0.05,
    edges=(),
    bins=(),
    spoiled="",
)
FIRE = replace(NO_RUN, verdict="ok", cleared=3, roller_ms=300)
REJECTED = replace(NO_RUN, verdict="rejected", accepted=False)
HELD = replace(NO_RUN, kind="insert", verdict="held", slot=1, loaded=1, toy="awake")
BLAST = replace(HELD, verdict="blast", cleared=2, roller_ms=80, loaded=2)
NOT_TAKEN = replace(HELD, verdict="rejected", accepted=False)
WOKE = replace(HELD, kind="reset", verdict="held", slot=None, toy="asleep")
EJECTED = replace(WOKE, verdict="ok", cleared=1, roller_ms=80, toy="awake")


def counts(*records: TrialRecord | str) -> list[tuple[int, int, int | None]]:
    history, found = History(), []
    for record in records:
        if isinstance(record, str):
            history = getattr(history, record)()
            continue
        trial, history = history.place(record, fill=1)
        found.append((trial.since_power_on, trial.since_lid_close, trial.since_fire))
    return found


def test_presses_are_counted_since_each_event() -> None:
    assert counts(NO_RUN, FIRE, NO_RUN, NO_RUN, "lid_close", NO_RUN, "power_on", FIRE, NO_RUN) == [
        (1, 1, None),
        (2, 2, None),
        (3, 3, 1),
        (4, 4, 2),
        (5, 1, 3),
        (1, 2, 4),
        (2, 3, 1),
    ]


def test_a_press_that_the_toy_did_not_take_advances_nothing() -> None:
    assert counts(FIRE, REJECTED, NO_RUN) == [(1, 1, None), (2, 2, 1), (2, 2, 1)]


def test_inserts_are_counted_as_presses_are_and_resets_are_not() -> None:
    assert counts(BLAST, HELD, NOT_TAKEN, HELD, WOKE, HELD, BLAST, HELD) == [
        (1, 1, None),
        (2, 2, 1),
        (3, 3, 2),  # the toy did not take it
        (3, 3, 2),
        (4, 4, 3),  # the reset only woke it
        (4, 4, 3),
        (5, 5, 4),
        (6, 6, 1),
    ]


@pytest.mark.parametrize("verdict", ["ok", "partial", "latch_fault", "jam", "fault", "aborted"])
def test_after_a_reset_that_may_have_ejected_nobody_knows_when_the_toy_let_go(verdict: str) -> None:
    assert counts(BLAST, HELD, replace(EJECTED, verdict=verdict), HELD)[-1] == (3, 3, None)


@pytest.mark.parametrize("reset", [WOKE, replace(WOKE, verdict="rejected", accepted=False), replace(EJECTED, tick=None)])
def test_a_reset_that_cannot_have_ejected_changes_nothing(reset: TrialRecord) -> None:
    assert counts(BLAST, HELD, reset, HELD)[-1] == (3, 3, 2)


def test_a_loader_that_is_filled_is_a_hopper_that_is_closed() -> None:
    assert counts(BLAST, "lid_close", HELD, HELD) == [(1, 1, None), (2, 1, 1), (3, 2, 2)]


def test_round_and_insert_are_kept_with_the_trial() -> None:
    trial, _ = History().place(HELD, 1, round=3, insert=2)
    assert (trial.round, trial.insert) == (3, 2)
    press, _ = History().place(NO_RUN, 1)
    assert (press.round, press.insert) == (None, None)


def test_the_gap_is_measured_in_mcu_time_between_actuations() -> None:
    history = History()
    first, history = history.place(NO_RUN, 1)
    unactuated, history = history.place(replace(NO_RUN, tick=None, accepted=False), 1)
    third, _ = history.place(replace(NO_RUN, tick=16_000_000 + 48_000_001), 1)
    assert first.gap_s is None
    assert unactuated.gap_s is None
    assert third.gap_s == pytest.approx(3.0 + 1 / 16e6, abs=1e-12)


def test_every_card_is_booked_once() -> None:
    account = FillAccount(1, loaded=20)
    fired, _ = History().place(replace(FIRE, cleared=3, sticking=1), 1)
    account.take(fired)
    account.clear_mouth(2, counted=1)  # two overlapped cards stuck where the beam could see one
    assert (account.hopper, account.mouth, account.jammed) == (15, 2, 1)


def test_the_hopper_is_never_believed_below_empty() -> None:
    account = FillAccount(1, loaded=2)
    trial, _ = History().place(FIRE, 1)
    account.take(trial)
    assert account.hopper == 0
