# SPDX-License-Identifier: Apache-2.0
"""However a run ends, the outputs are off, the store says how it ended, and the shell sees the right code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.campaigns.roller import RollerCampaign
from controller.campaigns.shared import Progress
from controller.run import Outcome, conduct
from controller.signals import StopFlag
from controller.store.records import raw_sha256
from controller.store.store import Store, StoreError
from controller.verdict import Exit
from rig.board import Board
from rig.errors import LinkLostError, NotOurBoardError, RigError, StopAskedError
from rig.open import open_rig
from rig.operator import NoOperator, Wait
from rig.rig import Rig
from rig.twin.bench import TwinOperator
from rig.wire.frame import Framer
from rig.wire.messages import Actuated, Power, Wiring
from tests.controller.stopping import StopWhen
from tests.twins import INTERLOCK, LID, TAME, OtherLink, bench_of, driven

CARDS_LEAVE_UNPOWERED = {"roller_on_mA": 2000}
"""With this setting the roller's current never counts as a run, so that every card passes an idle roller."""


@pytest.fixture
def rig() -> Iterator[Rig]:
    opened = open_rig(TAME)
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


def ran(
    rig: Rig,
    store: Store,
    trials: int = 3,
    *,
    stop: StopFlag | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_safe: Callable[[bool], None] = lambda safe: None,
    **campaign: Any,
) -> Outcome:
    settings: dict[str, Any] = {"pace_s": 2.0, "fill": 83, "drive": Wiring.button} | campaign
    planned = RollerCampaign(trials, **settings)
    return conduct(
        *(rig, store, lambda launcher, settings: planned),
        kind="press",
        dut="x",
        stop=stop or StopFlag(),
        on_progress=on_progress,
        on_safe=on_safe,
    )


def board_on(rig: Rig) -> Board:
    return Board(rig.link, lambda event: None, nonce=rig.nonce, new_uuid=rig.new_uuid, stop_asked=lambda: False)


def left_switched_on(rig: Rig) -> None:
    """As whoever used the board before may have left it."""
    board_on(rig).demand(Power(1))
    assert driven(bench_of(rig)) == {"A5"}


def elsewhere(path: Path, sql: str) -> None:
    """Another program meddles with the store. (In this process a second SQLite would drop the locks of the first.)"""
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, path, sql], check=True)


def is_off(rig: Rig) -> bool:
    bench_of(rig).clock.sleep(0.05)
    return driven(bench_of(rig)) == set()


# ---------------------------------------------------------------------- carried out


def test_a_run_that_was_carried_out_is_complete_and_safe(rig: Rig, store: Store) -> None:
    seen: list[Progress] = []
    outcome = ran(rig, store, 4, on_progress=seen.append)
    data = store.load(outcome.run_id)
    assert (outcome.status, outcome.exit_code, outcome.cause, outcome.safe) == ("complete", Exit.passed, "", True)
    assert (data.run.status, data.run.safe_state, data.run.note) == ("complete", "confirmed", "")
    assert data.run.raw_sha256 == raw_sha256(data.trials)
    assert data.run.ended_at is not None
    assert is_off(rig)
    assert [(p.done, p.total, p.trial.number) for p in seen] == [(n, 4, n) for n in range(1, 5)]
    assert seen[-1].dealt == sum(trial.dealt for trial in data.trials)


def test_the_store_says_which_board_it_was_and_how_it_was_set(rig: Rig, store: Store) -> None:
    run = store.load(ran(rig, store, 1, pace_s=2.5).run_id).run
    assert run.firmware["board_uuid"] == rig.new_uuid().hex()
    assert run.firmware["launcher"] == run.launcher == "roller"
    assert (run.settings["trials"], run.settings["pace_s"], run.settings["fill"]) == (1, 2.5, 83)
    assert run.settings["jam_ms"] == 300
    assert run.rig_url == rig.url


def test_what_the_board_said_before_the_run_had_a_number_is_kept(rig: Rig, store: Store) -> None:
    bench, said = bench_of(rig), 0

    def out(data: bytes) -> bytes:
        nonlocal said
        said += 1
        if said == 5:  # the board is asked for its settings
            assert store.runs() == []
            bench.avr.edge(0, LID, 1)
        return data

    rig.link = OtherLink(rig.link, out=out)
    rig.operator = NoOperator(rig.preload)
    events = store.load(ran(rig, store, 1).run_id).events
    assert [(event.kind, event.data) for event in events[:1]] == [("lid", {"level": 0})]


def test_the_same_seed_is_the_same_run_to_the_bit(path: Path, store: Store) -> None:
    hashes = set()
    for _ in range(2):
        again = open_rig("twin:roller?seed=5&jam=0.05&stick=0.1")
        hashes.add(store.load(ran(again, store, 15).run_id).run.raw_sha256)
        again.close()
    assert len(hashes) == 1


# ---------------------------------------------------------------------- the exit code


class LeavesTheLidOpen(TwinOperator):
    def reload(self, cards: int, wait: Wait) -> int:
        left = super().reload(cards, wait)
        self._bench.open_lid()
        return left


def test_a_run_whose_presses_were_all_rejected_is_inconclusive(rig: Rig, store: Store) -> None:
    rig.operator = LeavesTheLidOpen(bench_of(rig))
    outcome = ran(rig, store)
    assert [trial.verdict for trial in store.load(outcome.run_id).trials] == ["rejected"] * 3
    assert (outcome.status, outcome.exit_code) == ("complete", Exit.inconclusive)


def test_a_run_whose_presses_were_all_faults_is_a_rig_fault(rig: Rig, store: Store) -> None:
    board = board_on(rig)
    for name, value in CARDS_LEAVE_UNPOWERED.items():
        board.set(name, value)
    outcome = ran(rig, store)
    assert [(t.verdict, t.mcu_verdict) for t in store.load(outcome.run_id).trials] == [("fault", "fault")] * 3
    assert (outcome.status, outcome.exit_code) == ("complete", Exit.rig_fault)


def test_nobody_at_an_empty_hopper_ends_the_run_inconclusive(rig: Rig, store: Store) -> None:
    rig.operator = NoOperator(rig.preload)
    outcome = ran(rig, store, 10, fill=6)
    data = store.load(outcome.run_id)
    assert (outcome.status, outcome.exit_code, outcome.safe) == ("aborted by rule", Exit.inconclusive, True)
    assert "6 cards and nobody is there" in outcome.cause
    assert (data.run.status, data.run.note) == (outcome.status, outcome.cause)
    assert sum(trial.dealt for trial in data.trials) == 6
    assert [(fill.loaded, fill.remaining, fill.difference) for fill in data.fills] == [(6, None, None)]
    assert is_off(rig)


def test_nobody_is_needed_after_the_last_press(store: Store) -> None:
    slipping = open_rig("twin:roller?seed=2&brain=iid&p_fire=1&jam=0&stick=0&slip=1&slip_mm=2000")
    slipping.operator = NoOperator(slipping.preload)
    outcome = ran(slipping, store, 3)
    slipping.close()
    assert [trial.verdict for trial in store.load(outcome.run_id).trials] == ["slip"] * 3
    assert (outcome.status, outcome.exit_code) == ("complete", Exit.passed)


# ---------------------------------------------------------------------- cut short


def test_a_signal_while_the_supply_settles_leaves_everything_off_and_says_so(rig: Rig, store: Store) -> None:
    outcome = ran(rig, store, stop=StopWhen(lambda: "A5" in driven(bench_of(rig))))
    assert (outcome.status, outcome.exit_code, outcome.safe) == ("aborted by operator", Exit.aborted, True)
    assert outcome.cause == "stopped by SIGTERM"
    data = store.load(outcome.run_id)
    assert (data.run.note, data.run.safe_state, data.trials) == ("stopped by SIGTERM", "confirmed", ())
    assert is_off(rig)


def test_a_signal_in_a_press_keeps_it_as_aborted_and_makes_no_other(rig: Rig, store: Store) -> None:
    outcome = ran(rig, store, stop=StopWhen(lambda: "A2" in driven(bench_of(rig))))
    data = store.load(outcome.run_id)
    assert [(trial.verdict, trial.reason) for trial in data.trials] == [("aborted", "abort")]
    assert (data.run.status, outcome.exit_code) == ("aborted by operator", Exit.aborted)
    assert is_off(rig)


def test_a_signal_before_the_board_has_spoken_makes_no_run(rig: Rig, store: Store) -> None:
    with pytest.raises(StopAskedError):
        ran(rig, store, stop=StopWhen(lambda: True))
    assert store.runs() == []


def test_a_store_that_refuses_the_run_leaves_everything_off_and_says_why(rig: Rig, path: Path, store: Store) -> None:
    left_switched_on(rig)
    elsewhere(path, "drop table run")
    with pytest.raises(StoreError, match="run"):
        ran(rig, store)
    assert is_off(rig)


def test_a_store_that_refuses_a_trial_leaves_everything_off_and_says_why(rig: Rig, path: Path, store: Store) -> None:
    def spoil(progress: Progress) -> None:
        if progress.done == 2:
            elsewhere(path, "create trigger no_more before insert on trial begin select raise(abort, 'enough'); end")

    with pytest.raises(StoreError, match="enough"):
        ran(rig, store, 5, on_progress=spoil)
    data = store.load("last")
    assert len(data.trials) == 2
    assert (data.run.status, data.run.safe_state) == ("crashed", "confirmed")
    assert "enough" in data.run.note
    assert is_off(rig)


def test_a_store_that_refuses_everything_does_not_come_between_the_rig_and_its_safe_state(
    rig: Rig, path: Path, store: Store
) -> None:
    told: list[bool] = []

    def spoil(progress: Progress) -> None:
        for table in ("trial", "event", "run"):
            elsewhere(path, f"create trigger no_{table} before insert on {table} begin select raise(abort, 'enough'); end")

    with pytest.raises(StoreError, match="enough"):
        ran(rig, store, 5, on_progress=spoil, on_safe=told.append)
    assert told == [True]
    assert is_off(rig)


def test_an_open_interlock_ends_the_run_before_its_first_press(rig: Rig, store: Store) -> None:
    bench_of(rig).avr.edge(bench_of(rig).avr.cycle + 16_000, INTERLOCK, 1)
    outcome = ran(rig, store)
    assert (outcome.status, outcome.exit_code, outcome.safe) == ("aborted by rule", Exit.rig_fault, True)
    assert "(A3)" in outcome.cause
    assert store.load(outcome.run_id).trials == ()


def test_a_reset_in_the_middle_is_a_gap_and_the_run_goes_on(rig: Rig, store: Store) -> None:
    outcome = ran(rig, store, 5, on_progress=lambda progress: bench_of(rig).reset() if progress.done == 2 else None)
    data = store.load(outcome.run_id)
    assert (outcome.status, outcome.safe) == ("complete", True)
    assert [trial.number for trial in data.trials] == [1, 2, 3, 4, 5]
    assert [trial.verdict for trial in data.trials if trial.verdict != "fault"] == ["ok"] * 5
    (gap,) = (event for event in data.events if event.kind == "gap")
    assert gap.data["boot_after"] == gap.data["boot_before"] + 1
    (after,) = (trial for trial in data.trials if trial.number == 3)
    assert after.gap_s is None and after.since_power_on == 1
    ticks = [trial.tick for trial in data.trials if trial.tick is not None]
    assert ticks == sorted(ticks)
    assert is_off(rig)


def test_a_trial_that_is_lost_stands_before_the_gap_and_the_next_one_begins_anew(rig: Rig, store: Store) -> None:
    framer, bench, actuations = Framer(), bench_of(rig), 0

    def into(data: bytes) -> bytes:
        nonlocal actuations
        for frame in framer.feed(data):
            if frame and frame.type == Actuated.TYPE:
                actuations += 1
                if actuations == 3:
                    bench.reset()
        return data

    rig.link = OtherLink(rig.link, into=into)
    outcome = ran(rig, store, 5)
    data = store.load(outcome.run_id)
    assert outcome.status == "complete"
    before, lost, after, last = data.trials[1:5]
    assert (before.since_power_on, lost.since_power_on, after.since_power_on, last.since_power_on) == (2, 3, 1, 2)
    assert (lost.verdict, lost.spoiled, lost.sticking) == ("fault", "reset", 0)
    assert lost.gap_s is not None and last.gap_s is not None
    assert after.gap_s is None
    assert [event.trial for event in data.events if event.kind in ("lost", "gap")] == [3, 3]


def test_nothing_at_the_port_makes_no_run(rig: Rig, store: Store) -> None:
    rig.link = OtherLink(rig.link, into=lambda data: b"")
    with pytest.raises(NotOurBoardError):
        ran(rig, store)
    assert store.runs() == []


def test_a_board_that_is_deaf_for_a_while_before_the_run_has_a_number_is_waited_for(rig: Rig, store: Store) -> None:
    clock, said, deaf_until = rig.link.clock, 0, 0.0

    def out(data: bytes) -> bytes:
        nonlocal said, deaf_until
        said += 1
        if said == 5:
            deaf_until = clock.now() + 2.0
        return data if clock.now() >= deaf_until else b""

    rig.link = OtherLink(rig.link, out=out)
    assert ran(rig, store).status == "complete"


def test_a_board_that_hears_nothing_but_stop_is_a_rig_fault_with_everything_off(rig: Rig, store: Store) -> None:
    left_switched_on(rig)
    said = 0

    def out(data: bytes) -> bytes:
        nonlocal said
        said += 1
        return data if said < 5 or not any(data) else b""

    bench = bench_of(rig)
    rig.link = OtherLink(rig.link, out=out)
    with pytest.raises(RigError, match="it did not come back within 300 s"):
        ran(rig, store)
    assert store.runs() == []
    bench.clock.sleep(0.05)
    assert driven(bench) == set()


# ---------------------------------------------------------------------- failed set-up


def test_a_board_that_says_boot_and_hears_nothing_is_not_confirmed_safe(rig: Rig, store: Store) -> None:
    told: list[bool] = []
    rig.link = OtherLink(rig.link, out=lambda data: b"")
    with pytest.raises(LinkLostError, match="does not answer HELLO"):
        ran(rig, store, on_safe=told.append)
    assert (told, store.runs()) == ([False], [])


def test_a_board_that_hears_late_is_made_safe_all_the_same(rig: Rig, store: Store) -> None:
    """Power is left on, and HELLO is answered only after set-up has failed."""
    told: list[bool] = []
    bench = bench_of(rig)
    left_switched_on(rig)
    deaf_until = rig.link.clock.now() + 3.5  # BOOT comes after a second of silence, HELLO is given up two later
    rig.link = OtherLink(rig.link, out=lambda data: data if rig.link.clock.now() >= deaf_until else b"")
    with pytest.raises(LinkLostError, match="does not answer HELLO"):
        ran(rig, store, on_safe=told.append)
    assert told == [True]
    assert driven(bench) == set()


def test_nothing_is_said_of_outputs_where_no_board_of_ours_spoke(rig: Rig, store: Store) -> None:
    told: list[bool] = []
    rig.link = OtherLink(rig.link, into=lambda data: b"")
    with pytest.raises(NotOurBoardError):
        ran(rig, store, on_safe=told.append)
    assert told == []


def test_a_run_is_closed_although_nobody_can_be_told_of_its_safe_state(rig: Rig, store: Store) -> None:
    def say(safe: bool) -> None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        ran(rig, store, on_safe=say)
    run = store.load("last").run
    assert (run.status, run.safe_state) == ("complete", "confirmed")
    assert run.ended_at is not None


# ---------------------------------------------------------------------- counters


def losses(counters: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in counters.items() if value and name != "round_trip_us"}


def test_the_counters_are_those_of_the_run(rig: Rig, store: Store) -> None:
    def noise(progress: Progress) -> None:
        if progress.done == 2:
            rig.link.write(b"\x05rubbish\0")

    clean = store.load(ran(rig, store).run_id).run.counters
    noisy = store.load(ran(rig, store, on_progress=noise).run_id)
    clean_again = store.load(ran(rig, store).run_id).run.counters
    assert losses(clean) == losses(clean_again) == {}
    assert noisy.run.counters["resync"] == 1
    assert [trial.verdict for trial in noisy.trials] == ["ok"] * 3
    assert board_on(rig).counters()["resync"] == 1, "the board itself counts from its reset on"


def test_a_board_that_is_gone_leaves_the_hosts_own_counters(rig: Rig, store: Store) -> None:
    deaf = [False]
    rig.link = OtherLink(rig.link, out=lambda data: b"" if deaf[0] else data)
    outcome = ran(rig, store, 5, on_progress=lambda progress: deaf.__setitem__(0, progress.done >= 2))
    run = store.load(outcome.run_id).run
    assert (outcome.exit_code, outcome.safe, run.safe_state) == (Exit.rig_fault, False, "not confirmed")
    assert run.counters["host_resent"] > 0
    assert "crc" not in run.counters
