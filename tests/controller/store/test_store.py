# SPDX-License-Identifier: Apache-2.0
"""The store keeps what it was given, once, and through a kill."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from controller.store import store as store_module
from controller.store import tables
from controller.store.records import Event, Trial, raw_sha256
from controller.store.store import Store, StoreError
from tests.controller.conftest import TrialMaker

RUN: dict[str, Any] = {
    "kind": "demo",
    "dut": 'Stück 7, "rot" \'; DROP TABLE run; --',
    "rig_url": "twin:roller?seed=3",
    "launcher": "roller",
    "drive": "button",
    "seed": 3,
    "firmware": {"version": "0.1.0", "boot_count": 2},
    "versions": {"python": "3.11"},
    "settings": {"pace_s": 3.0},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a new store."""
    with Store.open(tmp_path / "runs.sqlite") as opened:
        yield opened


def open_run(store: Store, **changes: Any) -> int:
    """Begin a run with one fill of 83 cards."""
    run_id = store.create_run(**(RUN | changes))
    store.add_fill(run_id, 1, 83, opened_tick=17)
    return run_id


def end(store: Store, run_id: int, status: str = "complete") -> None:
    """End a run in the ordinary way."""
    store.end_run(run_id, status, counters={"crc": 1}, raw_sha256="00", safe_state="confirmed")


def test_a_trial_comes_back_as_it_was_given(store: Store, trial: TrialMaker) -> None:
    given = trial(tick=2**48 - 1, edges=((2**48 - 2, "beam_b", 1), (2**48 - 1, "interlock", 0)), bins=(0, 2**24 - 1))
    bare = trial(number=2, tick=None, pack_V=None, pack_open_V=None, peak_A=None, edges=(), bins=(), gap_s=0.1)
    run_id = open_run(store)
    store.add_trial(run_id, given)
    store.add_trial(run_id, bare)
    assert store.load(run_id).trials == (given, bare)


def test_a_run_comes_back_as_it_was_given(store: Store) -> None:
    begun = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    run_id = open_run(store, started_at=begun, note="first")
    end(store, run_id)
    run = store.load("last").run
    assert {name: getattr(run, name) for name in RUN} == RUN
    assert (run.id, run.started_at, run.status, run.counters) == (run_id, begun, "complete", {"crc": 1})
    assert (run.note, run.safe_state, run.raw_sha256) == ("first", "confirmed", "00")
    assert run.ended_at is not None and run.ended_at.tzinfo is UTC


def test_events_come_back_in_order(store: Store) -> None:
    at = datetime(2026, 2, 3, tzinfo=UTC)
    run_id = open_run(store)
    store.add_event(run_id, "power", {"on": 1}, tick=5, at=at)
    store.add_event(run_id, "fault", trial=4, at=at)
    assert store.load(run_id).events == (Event(5, None, "power", {"on": 1}, at), Event(None, 4, "fault", {}, at))


def test_the_last_run_is_the_one_begun_last(store: Store) -> None:
    assert store.last_run_id() is None
    first, second = open_run(store), open_run(store)
    end(store, first)
    assert store.last_run_id() == second == store.load("last").run.id
    assert [run.id for run in store.runs()] == [first, second]


@pytest.mark.parametrize("reference", ["last", 99])
def test_a_run_that_is_not_there_is_named(store: Store, reference: Any) -> None:
    with pytest.raises(StoreError, match=f"has no run {reference}"):
        store.load(reference)


def test_a_fill_balances_and_a_card_that_nobody_counted_shows(store: Store, trial: TrialMaker) -> None:
    run_id = open_run(store)
    assert store.load(run_id).fills[0].difference is None
    store.add_trial(run_id, trial(number=1, cleared=2, sticking=1))
    store.add_trial(run_id, trial(number=2, verdict="jam", cleared=4))
    store.close_fill(run_id, 1, remaining=73, closed_tick=99, mouth=3, jammed=2)
    fill = store.load(run_id).fills[0]
    assert (fill.dealt, fill.difference, fill.mouth) == (7, 83 - 73 - 7 - 2, 3)
    assert (fill.opened_tick, fill.closed_tick) == (17, 99)


def test_what_is_closed_is_closed_once(store: Store) -> None:
    run_id = open_run(store)
    store.close_fill(run_id, 1, remaining=0)
    end(store, run_id)
    with pytest.raises(StoreError, match="no open fill 1"):
        store.close_fill(run_id, 1, remaining=5)
    with pytest.raises(StoreError, match=f"no open run {run_id}"):
        end(store, run_id, "aborted by rule")
    assert store.load(run_id).fills[0].remaining == 0
    assert store.load(run_id).run.status == "complete"


@pytest.mark.parametrize("statement", ["UPDATE trial SET cleared = 9", "DELETE FROM trial", "DELETE FROM event"])
def test_trials_and_events_cannot_be_changed_even_in_sql(tmp_path: Path, trial: TrialMaker, statement: str) -> None:
    path = tmp_path / "runs.sqlite"
    with Store.open(path) as store:
        run_id = open_run(store)
        store.add_trial(run_id, trial())
        store.add_event(run_id, "power")
        other = store_module._sqlite_module().connect(path)
        with pytest.raises(Exception, match="append-only"):
            other.execute(statement)
        other.close()


def test_a_trial_number_is_used_once_in_a_run(store: Store, trial: TrialMaker) -> None:
    first, second = open_run(store), open_run(store)
    store.add_trial(first, trial())
    store.add_trial(second, trial())
    with pytest.raises(StoreError, match="UNIQUE"):
        store.add_trial(first, trial())
    store.add_trial(first, trial(number=2))
    assert [found.number for found in store.load(first).trials] == [1, 2]


def test_a_trial_needs_its_fill(store: Store, trial: TrialMaker) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.add_trial(open_run(store), trial(fill=2))


def test_an_existing_store_gets_a_further_run(tmp_path: Path) -> None:
    for expected in (1, 2):
        with Store.open(tmp_path / "runs.sqlite") as store:
            run_id = open_run(store)
            end(store, run_id)
            assert run_id == expected


_WRITER = """
import sys
from controller.store.store import Store
from tests.controller.conftest import make_trial
from tests.controller.store.test_store import open_run
store = Store.open(sys.argv[1])
run_id = open_run(store)
for number in range(1, 100_000):
    store.add_trial(run_id, make_trial(number=number))
    print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_loses_no_trial_and_its_run_shows_as_crashed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "50\n":
                break
        with Store.open(path) as store:
            assert store.load("last").run.status == "running"
        process.send_signal(signal.SIGKILL)
        reported = 50 + len(process.stdout.readlines())
    with Store.open(path) as store:
        data = store.load("last")
        # One more may be on disk than was reported: the kill came between.
        assert len(data.trials) in (reported, reported + 1)
        assert [found.number for found in data.trials] == list(range(1, len(data.trials) + 1))
        assert (data.run.status, data.run.ended_at) == ("crashed", None)
        assert store.runs()[0].status == "crashed"


def test_a_run_copied_from_another_host_shows_as_crashed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with Store.open(path) as store:
        open_run(store)
        assert store.runs()[0].status == "running"
        other = store_module._sqlite_module().connect(path)
        other.execute("UPDATE run SET host = 'elsewhere'")
        other.commit()
        other.close()
        assert store.runs()[0].status == "crashed"


def test_two_writers_take_turns(tmp_path: Path, trial: TrialMaker) -> None:
    path = tmp_path / "runs.sqlite"
    failed: list[Exception] = []

    def write() -> None:
        try:
            with Store.open(path) as store:
                run_id = open_run(store)
                for number in range(1, 41):
                    store.add_trial(run_id, trial(number=number))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with Store.open(path) as store:
        assert [len(store.load(run.id).trials) for run in store.runs()] == [40, 40]


def test_an_old_sqlite_gets_a_rollback_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: TrialMaker) -> None:
    monkeypatch.setattr(store_module, "_sqlite_module", lambda: sqlite3)
    monkeypatch.setattr(store_module, "_WAL_SAFE", (999,))
    path = tmp_path / "runs.sqlite"
    with Store.open(path) as store:
        store.add_trial(open_run(store), trial())
        assert not Path(f"{path}-wal").exists()
    assert path.read_bytes()[18:20] == b"\x01\x01"  # file format: 1 = rollback journal, 2 = WAL


@pytest.mark.skipif(store_module._sqlite_module() is sqlite3, reason="needs pysqlite3")
def test_the_bundled_sqlite_gets_wal_and_waits_for_the_disk(store: Store) -> None:
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


def test_the_hash_tells_measurements_apart_and_nothing_else(store: Store, trial: TrialMaker) -> None:
    trials = [trial(number=1), trial(number=2, verdict="no_run")]
    hashes = set()
    for _ in range(2):
        run_id = open_run(store)
        for one in trials:
            store.add_trial(run_id, one)
        hashes.add(raw_sha256(store.load(run_id).trials))
    assert len(hashes) == 1 and hashes == {raw_sha256(trials)}
    moved: Trial = replace(trials[0], edges=((48_000_101, "beam_a", 1), (48_900_000, "beam_a", 0)))
    sampled = replace(trials[0], bins=(124, 4_194_303))
    assert len({raw_sha256([first, trials[1]]) for first in (trials[0], moved, sampled)}) == 3


def test_the_tables_are_good_postgresql_too() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    text = " ".join(str(CreateTable(table).compile(dialect=dialect)) for table in tables.metadata.sorted_tables)
    assert "id BIGSERIAL" in text and "edges BYTEA" in text and "started_at TIMESTAMP WITH TIME ZONE" in text


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(Exception, match="time zone"):
        open_run(store, started_at=datetime(2026, 1, 1))
