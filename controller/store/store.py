# SPDX-License-Identifier: Apache-2.0
"""The store: the one place where runs are kept, append-only, each trial in one durable transaction.

It knows a database and nothing of rigs or statistics; it hands out plain records.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Literal, Self

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, RowMapping
from sqlalchemy.schema import CreateColumn

from controller.store import tables
from controller.store.place import (
    APPLICATION_ID,
    StoreError,
    Writer,
    check_place,
    is_alive,
    local_mounts,
    this_process,
)
from controller.store.records import Event, Fill, Run, RunData, Trial, settle_fill
from rig.clock import WallClock

__all__ = ["Store", "StoreError"]

_WAL_SAFE = (3, 51, 3)
"""Earlier versions can corrupt a database in WAL mode that has two connections (https://www.sqlite.org/wal.html)."""

_BUSY_MS = 5000
_RUN_FIELDS = tuple(field.name for field in fields(Run))
_TRIAL_FIELDS = tuple(field.name for field in fields(Trial))
_EVENT_FIELDS = tuple(field.name for field in fields(Event))
_INSERT_TRIAL = tables.trial.insert()


class Store:
    """Runs, fills, trials and events in a database. Use `Store.open`; close it, or use it as a context manager.

    Not for use by several threads. Every method raises `StoreError` when the database refuses.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        """Take a checked engine; `name` is what errors call the store."""
        self._engine = engine
        self._name = name
        self._connection = engine.connect()

    @classmethod
    def open(cls, path_or_url: str | Path, *, create: bool = True) -> Self:
        """Open a store, making it when there is none and `create` says so.

        path_or_url: the path of an SQLite file, or an SQLAlchemy URL such as ``postgresql+psycopg://host/name``.
        """
        text = str(path_or_url)
        try:
            url = sa.make_url(text) if "://" in text else sa.URL.create("sqlite", database=text)
        except sa.exc.ArgumentError:
            raise StoreError(f"{text}: is neither a path nor a URL such as postgresql+psycopg://host/name") from None
        is_sqlite = url.get_backend_name() == "sqlite"
        name = text
        if is_sqlite:
            path = Path(url.database or "").expanduser().absolute()
            name = str(path)
            if not create and not path.exists():
                raise StoreError(f"{path}: there is no store; name one with --store, or make one with launchrig demo")
            check_place(path, local_mounts())
            url = url.set(database=str(path))
        else:
            name = url.render_as_string(hide_password=True)
        with _one_line(name):
            engine = _sqlite_engine(url) if is_sqlite else sa.create_engine(url)
        try:
            with _one_line(name):
                store = cls(engine, name)
                store._make_or_check_tables()
        except BaseException:
            engine.dispose()
            raise
        return store

    def __enter__(self) -> Self:
        """Use the store in a ``with`` statement."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the database. Whatever was written is already durable."""
        self._connection.close()
        self._engine.dispose()

    def create_run(
        self,
        *,
        kind: str,
        dut: str,
        rig_url: str,
        launcher: str,
        drive: str,
        seed: int | None,
        firmware: Mapping[str, Any],
        versions: Mapping[str, Any],
        settings: Mapping[str, Any],
        note: str = "",
        started_at: datetime | None = None,
    ) -> int:
        """Begin a run and return its id. It shows as ``running`` as long as this process lives."""
        writer = this_process()
        row = {
            "kind": kind,
            "dut": dut,
            "rig_url": rig_url,
            "launcher": launcher,
            "drive": drive,
            "seed": seed,
            "status": "running",
            "started_at": started_at or datetime.now(UTC),
            "firmware": dict(firmware),
            "versions": dict(versions),
            "settings": dict(settings),
            "counters": {},
            "note": note,
            "safe_state": "",
            "host": writer.host,
            "pid": writer.pid,
            "pid_started_s": writer.pid_started_s,
        }
        with self._write() as connection:
            key = connection.execute(tables.run.insert().values(row)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def add_fill(self, run_id: int, number: int, loaded: int, *, opened_tick: int | None = None) -> None:
        """Begin fill `number` (from 1) with `loaded` cards; needed before the first trial of the fill."""
        row = {"run_id": run_id, "number": number, "loaded": loaded, "opened_tick": opened_tick}
        row |= {"mouth": 0, "jammed": 0}
        with self._write() as connection:
            connection.execute(tables.fill.insert().values(row))

    def close_fill(
        self,
        run_id: int,
        number: int,
        *,
        remaining: int,
        closed_tick: int | None = None,
        mouth: int = 0,
        jammed: int = 0,
    ) -> None:
        """Close a fill once, with the cards counted by hand; see `records.Fill` for the terms."""
        fill = tables.fill.c
        changes = {"remaining": remaining, "closed_tick": closed_tick, "mouth": mouth, "jammed": jammed}
        once = (fill.run_id == run_id, fill.number == number, fill.remaining.is_(None))
        with self._write() as connection:
            if connection.execute(tables.fill.update().where(*once).values(changes)).rowcount != 1:
                raise StoreError(f"{self._name}: run {run_id} has no open fill {number}; a fill is closed once")

    def add_trial(self, run_id: int, trial: Trial) -> None:
        """Add one trial in one durable transaction: when this returns, it survives a power cut."""
        row = {name: getattr(trial, name) for name in _TRIAL_FIELDS}
        row["run_id"] = run_id
        with self._write() as connection:
            connection.execute(_INSERT_TRIAL, row)

    def add_event(
        self,
        run_id: int,
        kind: str,
        data: Mapping[str, Any] | None = None,
        *,
        tick: int | None = None,
        trial: int | None = None,
        at: datetime | None = None,
    ) -> None:
        """Add one event in one durable transaction; `at` is now unless given."""
        row: dict[str, Any] = {"run_id": run_id, "tick": tick, "trial": trial, "kind": kind}
        row |= {"data": dict(data or {}), "at": at or datetime.now(UTC)}
        with self._write() as connection:
            connection.execute(tables.event_.insert(), row)

    def end_run(
        self,
        run_id: int,
        status: str,
        *,
        counters: Mapping[str, Any],
        raw_sha256: str | None,
        safe_state: str,
        note: str | None = None,
        ended_at: datetime | None = None,
    ) -> None:
        """Close a run once. `note` replaces the one given at its beginning."""
        changes: dict[str, Any] = {
            "status": status,
            "counters": dict(counters),
            "raw_sha256": raw_sha256,
            "safe_state": safe_state,
            "ended_at": ended_at or datetime.now(UTC),
        }
        if note is not None:
            changes["note"] = note
        run = tables.run.c
        with self._write() as connection:
            update = tables.run.update().where(run.id == run_id, run.ended_at.is_(None)).values(changes)
            if connection.execute(update).rowcount != 1:
                raise StoreError(f"{self._name}: has no open run {run_id}; a run is ended once")

    def runs(self) -> list[Run]:
        """Every run, oldest first, without its trials."""
        with self._read() as connection:
            rows = connection.execute(sa.select(tables.run).order_by(tables.run.c.id)).mappings().all()
        return [self._run(row) for row in rows]

    def last_run_id(self) -> int | None:
        """Id of the run that was begun last, or None when there is none."""
        with self._read() as connection:
            return connection.execute(sa.select(sa.func.max(tables.run.c.id))).scalar()

    def load(self, run_ref: int | Literal["last"]) -> RunData:
        """Everything that is stored of a run, given by id or as ``last``; unfinished and crashed runs too."""
        run_id = self.last_run_id() if run_ref == "last" else run_ref
        with self._read() as connection:
            run = connection.execute(sa.select(tables.run).where(tables.run.c.id == run_id)).mappings().one_or_none()
            if run is None:
                raise StoreError(f"{self._name}: has no run {run_ref}; `launchrig runs list` shows what there is")
            fills = _rows(connection, tables.fill, tables.fill.c.number, run_id)
            trials = _rows(connection, tables.trial, tables.trial.c.number, run_id)
            events = _rows(connection, tables.event_, tables.event_.c.id, run_id)
        dealt: dict[int, int] = {}
        for row in trials:
            dealt[row["fill"]] = dealt.get(row["fill"], 0) + row["dealt"]
        return RunData(
            run=self._run(run),
            fills=tuple(_fill(row, dealt.get(row["number"], 0)) for row in fills),
            trials=tuple(Trial(**{name: row[name] for name in _TRIAL_FIELDS}) for row in trials),
            events=tuple(Event(**{name: row[name] for name in _EVENT_FIELDS}) for row in events),
        )

    def _run(self, row: RowMapping) -> Run:
        values = {name: row[name] for name in _RUN_FIELDS}
        writer = Writer(row["host"], row["pid"], row["pid_started_s"])
        # Of a server's database another host may be the writer, and cannot be asked from here.
        elsewhere = self._engine.dialect.name != "sqlite" and writer.host != this_process().host
        if values["status"] == "running" and not elsewhere and not is_alive(writer):
            values["status"] = "crashed"
        return Run(**values)

    def _make_or_check_tables(self) -> None:
        with self._write() as connection:
            names = set(sa.inspect(connection).get_table_names())
            known = _schema_version(connection) if "meta" in names else None
            if known is None and names & {table.name for table in tables.metadata.sorted_tables}:
                raise StoreError(f"{self._name}: is not a launchrig store (other tables); name another with --store")
            if self._engine.dialect.name == "sqlite":
                _check_application_id(connection, self._name, is_new=not names)
            if known is None:
                tables.metadata.create_all(connection)
                connection.execute(tables.meta.insert(), {"key": "schema_version", "value": str(tables.SCHEMA_VERSION)})
            elif known != str(tables.SCHEMA_VERSION):
                self._bring_up_to_date(connection, known)

    def _bring_up_to_date(self, connection: Connection, known: str) -> None:
        """Add what the tables of an older store lack, in the one transaction of `connection`; what is in it stays."""
        if not (known.isdecimal() and 1 <= int(known) < tables.SCHEMA_VERSION):
            raise StoreError(
                f"{self._name}: has store schema {known} where this launchrig needs {tables.SCHEMA_VERSION}; "
                f"use the launchrig that wrote it, or name another file with --store"
            )
        for version in range(int(known) + 1, tables.SCHEMA_VERSION + 1):
            for statement in added(version, connection.dialect):
                connection.exec_driver_sql(statement)
        meta = tables.meta
        connection.execute(meta.update().where(meta.c.key == "schema_version").values(value=str(tables.SCHEMA_VERSION)))

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with _one_line(self._name), self._connection.begin():
            yield self._connection

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with _one_line(self._name), self._engine.connect() as connection:
            connection = connection.execution_options(launchrig_read=True)
            with connection.begin():
                yield connection


def load_runs(store_name: str, refs: Sequence[str]) -> list[RunData]:
    """The runs that `refs` name, each by number or as ``last``, in that order. Raises `StoreError` when one is missing."""
    with Store.open(store_name, create=False) as store:
        return [store.load("last" if ref == "last" else int(ref)) for ref in refs]


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn whatever the database says into one line that names the store."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        reason = str(error.orig).splitlines()[0].strip()
        raise StoreError(f"{name}: {_REMEDY.get(reason, reason)}") from error
    except (sa.exc.NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"{name}: {error}; install that driver, or name an SQLite file with --store") from error


_REMEDY = {
    "file is not a database": "is not a launchrig store (no SQLite database); name another file with --store",
    "database disk image is malformed": "is damaged or truncated; restore it from a copy, or name another with --store",
    "attempt to write a readonly database": "is not writable; mend its permissions, or name another file with --store",
    "unable to open database file": "cannot be opened; name a file in a directory that is writable with --store",
    "database is locked": f"another program has been writing to it for {_BUSY_MS // 1000} s; end that one first",
    "disk I/O error": "cannot be written (disk I/O error); see that the disk has room and works, then start again",
    "database or disk is full": "the disk is full; make room, then start again",
}


def _sqlite_module() -> ModuleType:
    """The newest SQLite there is: `pysqlite3` bundles its own, Python's may be too old for WAL."""
    try:
        import pysqlite3.dbapi2 as bundled
    except ImportError:
        return sqlite3
    module: ModuleType = bundled
    return module


def _sqlite_engine(url: sa.URL) -> Engine:
    module = _sqlite_module()
    engine = sa.create_engine(url, module=module, poolclass=sa.NullPool)
    journal = "WAL" if module.sqlite_version_info >= _WAL_SAFE else "DELETE"

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        # The driver would begin transactions by itself, and too late: begin() below does it.
        connection.isolation_level = None
        for pragma in (f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}").close()
        _set_journal(connection, journal)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads and then writes fails at once when another wrote between; this one waits its turn.
        is_read = connection.get_execution_options().get("launchrig_read", False)
        connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")

    return engine


def _set_journal(connection: Any, journal: str) -> None:
    """Change the journal's mode, which SQLite refuses at once while another opens the same new file, whatever its timeout."""
    clock = WallClock()
    deadline = clock.now() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode={journal}").close()
            return
        except Exception as error:  # the class belongs to whichever driver is in use
            if "locked" not in str(error) or clock.now() >= deadline:
                raise
            clock.sleep(0.01)


def _check_application_id(connection: Connection, name: str, *, is_new: bool) -> None:
    found = connection.exec_driver_sql("PRAGMA application_id").scalar()
    if is_new and found == 0:
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
    elif found != APPLICATION_ID:
        raise StoreError(f"{name}: is not a launchrig store (another program's database); name another with --store")


def _schema_version(connection: Connection) -> str | None:
    meta = tables.meta.c
    if {column["name"] for column in sa.inspect(connection).get_columns("meta")} != {"key", "value"}:
        return None
    # Of two programs that bring a server's database up to date the second one waits, and finds it done.
    return connection.execute(sa.select(meta.value).where(meta.key == "schema_version").with_for_update()).scalar()


def added(version: int, dialect: sa.Dialect) -> Iterator[str]:
    """The statements that add to a store what schema `version` has and the one before it has not."""
    for column in tables.ADDED[version]:
        yield f"ALTER TABLE {column.table.name} ADD COLUMN {CreateColumn(column).compile(dialect=dialect)}"


def _rows(connection: Connection, table: sa.Table, order: sa.Column[Any], run_id: int | None) -> list[RowMapping]:
    select = sa.select(table).where(table.c.run_id == run_id).order_by(order)
    return list(connection.execute(select).mappings())


_OPENED_FIELDS = tuple(field.name for field in fields(Fill) if field.name not in ("dealt", "difference"))


def _fill(row: RowMapping, dealt: int) -> Fill:
    return settle_fill({name: row[name] for name in _OPENED_FIELDS}, dealt)
