# SPDX-License-Identifier: Apache-2.0
"""A store that an earlier launchrig wrote is brought up to date when it is opened, and nothing in it is lost."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy.dialects import postgresql

from controller.store import store as store_module
from controller.store import tables
from controller.store.place import APPLICATION_ID
from controller.store.records import raw_sha256
from controller.store.store import Store, StoreError, added
from tests.controller.conftest import make_trial

VERSION_1 = """
CREATE TABLE meta ("key" TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY ("key"));
CREATE TABLE run (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, dut TEXT NOT NULL, rig_url TEXT NOT
  NULL, launcher TEXT NOT NULL, drive TEXT NOT NULL, seed BIGINT, status TEXT NOT NULL, started_at DATETIME NOT NULL,
  ended_at DATETIME, firmware JSON NOT NULL, versions JSON NOT NULL, settings JSON NOT NULL, counters JSON NOT NULL,
  raw_sha256 TEXT, note TEXT NOT NULL, safe_state TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL, pid_started_s
  DOUBLE NOT NULL);
CREATE TABLE fill (run_id INTEGER NOT NULL, number INTEGER NOT NULL, loaded INTEGER NOT NULL, remaining INTEGER,
  opened_tick BIGINT, closed_tick BIGINT, mouth INTEGER NOT NULL, jammed INTEGER NOT NULL, PRIMARY KEY (run_id, number),
  FOREIGN KEY(run_id) REFERENCES run (id));
CREATE TABLE event (id INTEGER NOT NULL, run_id INTEGER NOT NULL, tick BIGINT, trial BIGINT, kind TEXT NOT NULL, data
  JSON NOT NULL, at DATETIME NOT NULL, PRIMARY KEY (id), FOREIGN KEY(run_id) REFERENCES run (id));
CREATE INDEX ix_event_run_id ON event (run_id);
CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;
CREATE TABLE trial (id INTEGER NOT NULL, run_id INTEGER NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, drive TEXT
  NOT NULL, burst BIGINT NOT NULL, burst_index INTEGER NOT NULL, tick BIGINT, verdict TEXT NOT NULL, reason TEXT NOT
  NULL, mcu_verdict TEXT NOT NULL, accepted BOOLEAN NOT NULL, cleared INTEGER NOT NULL, sticking INTEGER NOT NULL,
  roller_ms INTEGER NOT NULL, hopper INTEGER NOT NULL, run_ms INTEGER NOT NULL, duty INTEGER NOT NULL, "pack_V" DOUBLE,
  "pack_open_V" DOUBLE, "peak_A" DOUBLE, edges BLOB NOT NULL, bins BLOB NOT NULL, spoiled TEXT NOT NULL, fill INTEGER
  NOT NULL, t_s DOUBLE, dealt INTEGER NOT NULL, since_power_on INTEGER NOT NULL, since_lid_close INTEGER NOT NULL,
  since_fire INTEGER, gap_s DOUBLE, fired BOOLEAN NOT NULL, PRIMARY KEY (id), FOREIGN KEY(run_id, fill) REFERENCES fill
  (run_id, number), UNIQUE (run_id, number));
CREATE TRIGGER trial_no_update BEFORE UPDATE ON trial BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;
CREATE TRIGGER trial_no_delete BEFORE DELETE ON trial BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;
INSERT INTO "meta" VALUES('schema_version', '1');
INSERT INTO "run" VALUES(1, 'demo', 'unit 7', 'twin:roller?seed=3', 'roller', 'button', 3, 'complete',
  '2026-02-03 04:05:06.000000', '2026-02-03 04:05:06.000000', '{"version": "0.1.0", "boot_count": 2}',
  '{"python": "3.11"}', '{"pace_s": 3.0}', '{"crc": 1}',
  'fab8d637a94de2dd35d65c9483e2b349ca2f751e72b08b3d7341235affc81c71', '', 'confirmed', 'bench-1', 25604, 1796076176.48);
INSERT INTO "fill" VALUES(1, 1, 83, 81, 17, 99, 0, 0);
INSERT INTO "trial" VALUES(1, 1, 1, 'press', 'button', 1, 0, 48000000, 'ok', 'none', 'ok', 1, 2, 0, 240, 83, 0, 0,
  4.1875, 4.6875, 0.8125, X'01646CDC0200000000A027EA02000000', X'7B000000FFFF3F00', '', 1, 3.0, 2, 1, 1, NULL, NULL, 1);
INSERT INTO "trial" VALUES(2, 1, 2, 'press', 'button', 1, 0, 48000000, 'no_run', 'none', 'ok', 1, 0, 0, 0, 83, 0, 0,
  4.1875, 4.6875, 0.8125, X'01646CDC0200000000A027EA02000000', X'7B000000FFFF3F00', '', 1, 3.0, 0, 1, 1, 1, 3.0, 0);
INSERT INTO "event" VALUES(1, 1, 5, NULL, 'power', '{"on": 1}', '2026-02-03 04:05:06.000000');
"""
"""A run of two presses as the first version wrote it, with the tables that it made."""

PRESSES = (make_trial(), make_trial(number=2, verdict="no_run", since_fire=1, gap_s=3.0))
HASHED = "fab8d637a94de2dd35d65c9483e2b349ca2f751e72b08b3d7341235affc81c71"  # as the first version hashed these two


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 1."""
    path = tmp_path / "runs.sqlite"
    with store_module._sqlite_module().connect(path) as connection:
        connection.executescript(f"PRAGMA application_id={APPLICATION_ID}; {VERSION_1}")
    connection.close()
    return path


def columns(path: Path) -> list[str]:
    with store_module._sqlite_module().connect(path) as connection:
        found = [row[1] for row in connection.execute("PRAGMA table_info(trial)")]
    connection.close()
    return found


def test_everything_in_an_older_store_is_still_there(old: Path) -> None:
    with Store.open(old, create=False) as store:
        data = store.load("last")
    assert data.trials == PRESSES
    assert (data.run.dut, data.run.status, data.run.settings, data.run.counters) == (
        "unit 7",
        "complete",
        {"pace_s": 3.0},
        {"crc": 1},
    )
    assert [(fill.loaded, fill.remaining, fill.dealt, fill.difference) for fill in data.fills] == [(83, 81, 2, 0)]
    assert [(event.kind, event.tick, event.data) for event in data.events] == [("power", 5, {"on": 1})]


def test_an_older_run_has_the_hash_that_it_was_closed_with(old: Path) -> None:
    with Store.open(old) as store:
        data = store.load(1)
    assert data.run.raw_sha256 == raw_sha256(data.trials) == raw_sha256(PRESSES) == HASHED


def test_an_older_store_gets_runs_of_a_blaster_and_is_brought_up_to_date_once(old: Path) -> None:
    insert = make_trial(kind="insert", verdict="held", slot=3, loaded=2, toy="awake", round=7, insert=2)
    for run_id in (2, 3):
        with Store.open(old) as store:
            assert run_id == store.create_run(
                kind="demo",
                dut="x",
                rig_url="twin:blast",
                launcher="blast",
                drive="button",
                seed=1,
                firmware={},
                versions={},
                settings={},
            )
            store.add_fill(run_id, 1, 4)
            store.add_trial(run_id, insert)
            assert store.load(run_id).trials == (insert,)
    assert columns(old) == [column.name for column in tables.trial.columns]


def test_trials_of_an_older_store_still_cannot_be_changed(old: Path) -> None:
    Store.open(old).close()
    connection = store_module._sqlite_module().connect(old)
    with pytest.raises(Exception, match="append-only"):
        connection.execute("UPDATE trial SET slot = 1")
    connection.close()


def test_a_store_that_cannot_be_brought_up_to_date_stays_as_it_was(old: Path) -> None:
    """Half way, a column is there already: all or nothing."""
    with store_module._sqlite_module().connect(old) as connection:
        connection.execute("ALTER TABLE trial ADD COLUMN toy TEXT")
    connection.close()
    before = columns(old)
    with pytest.raises(StoreError, match="duplicate column name: toy"):
        Store.open(old)
    assert columns(old) == before
    connection = sqlite3.connect(old)
    assert connection.execute("SELECT value FROM meta").fetchall() == [("1",)]
    connection.close()


def test_of_two_programs_that_open_an_older_store_one_brings_it_up_to_date(old: Path) -> None:
    failed: list[Exception] = []

    def look() -> None:
        try:
            Store.open(old).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert columns(old) == [column.name for column in tables.trial.columns]


@pytest.mark.parametrize("version", ["3", "99", "0", "-1", "one"])
def test_a_store_of_a_version_that_is_not_known_is_refused_in_one_line(old: Path, version: str) -> None:
    with store_module._sqlite_module().connect(old) as connection:
        connection.execute("UPDATE meta SET value = ?", (version,))
    connection.close()
    before = columns(old)
    with pytest.raises(StoreError) as refused:
        Store.open(old)
    assert str(refused.value).startswith(f"{old}: has store schema {version} where this launchrig needs {tables.SCHEMA_VERSION}; ")
    assert "\n" not in str(refused.value)
    assert columns(old) == before


def test_what_a_version_adds_is_good_postgresql_too() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    assert list(added(2, dialect)) == [
        "ALTER TABLE trial ADD COLUMN slot INTEGER",
        "ALTER TABLE trial ADD COLUMN loaded INTEGER",
        "ALTER TABLE trial ADD COLUMN toy TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE trial ADD COLUMN round INTEGER",
        "ALTER TABLE trial ADD COLUMN insert INTEGER",
    ]
