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
