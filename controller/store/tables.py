# SPDX-License-Identifier: Apache-2.0
"""The tables of the store, and how a trial's edges and samples are packed into them.

Column names are the field names of the records, so that one loop moves a record in and out. Types are generic: SQLite
by default, PostgreSQL as well.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    event,
)

from rig.wire.messages import Channel

SCHEMA_VERSION = 2
"""2 added the blaster's columns to `trial`."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, kept as UTC; SQLite forgets time zones, so they are put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone, since nobody could say later what it meant."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a stored time needs a time zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read a time back as UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Edges(TypeDecorator[tuple[tuple[int, str, int], ...]]):
    """Edges as 8 bytes each, little endian: level in bit 0, code of the channel in bits 1 to 7, tick above."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Sequence[tuple[int, str, int]] | None, dialect: Dialect) -> bytes:
        """Pack (tick, channel, level)."""
        edges = value or ()
        words = (tick << 8 | Channel[channel] << 1 | level for tick, channel, level in edges)
        return struct.pack(f"<{len(edges)}Q", *words)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> tuple[tuple[int, str, int], ...]:
        """Unpack to (tick, channel, level)."""
        blob = bytes(value or b"")
        words = struct.unpack(f"<{len(blob) // 8}Q", blob)
        return tuple((word >> 8, _CHANNEL_NAMES[word >> 1 & 0x7F], word & 1) for word in words)


class Bins(TypeDecorator[tuple[int, ...]]):
    """Sample bins as on the wire, 4 bytes each, little endian."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Sequence[int] | None, dialect: Dialect) -> bytes:
        """Pack the bins."""
        bins = value or ()
        return struct.pack(f"<{len(bins)}I", *bins)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> tuple[int, ...]:
        """Unpack the bins."""
        blob = bytes(value or b"")
        return struct.unpack(f"<{len(blob) // 4}I", blob)


_CHANNEL_NAMES = {channel.value: channel.name for channel in Channel}
_ROW_ID = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in a column that is called INTEGER."""


def _row_id() -> Column[int]:
    return Column("id", _ROW_ID, primary_key=True)


def _run_id() -> Column[int]:
    return Column("run_id", _ROW_ID, ForeignKey("run.id"), nullable=False, index=True)


def _column(name: str, kind: Any, *, null: bool = False, default: str | None = None) -> Column[Any]:
    return Column(name, kind, nullable=null, server_default=default)


metadata = MetaData()

meta = Table("meta", metadata, Column("key", Text, primary_key=True), _column("value", Text))

run = Table(
    "run",
    metadata,
    _row_id(),
    _column("kind", Text),
    _column("dut", Text),
    _column("rig_url", Text),
    _column("launcher", Text),
    _column("drive", Text),
    _column("seed", BigInteger, null=True),
    _column("status", Text),
    _column("started_at", UtcDateTime),
    _column("ended_at", UtcDateTime, null=True),
    _column("firmware", JSON),
    _column("versions", JSON),
    _column("settings", JSON),
    _column("counters", JSON),
    _column("raw_sha256", Text, null=True),
    _column("note", Text),
    _column("safe_state", Text),
    _column("host", Text),
    _column("pid", BigInteger),
    _column("pid_started_s", Double),
    sqlite_autoincrement=True,
)

fill = Table(
    "fill",
    metadata,
    Column("run_id", _ROW_ID, ForeignKey("run.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _column("loaded", Integer),
    _column("remaining", Integer, null=True),
    _column("opened_tick", BigInteger, null=True),
    _column("closed_tick", BigInteger, null=True),
    _column("mouth", Integer),
    _column("jammed", Integer),
)

trial = Table(
    "trial",
    metadata,
    _row_id(),
    Column("run_id", _ROW_ID, nullable=False),
    _column("number", BigInteger),
    _column("kind", Text),
    _column("drive", Text),
    _column("burst", BigInteger),
    _column("burst_index", Integer),
    _column("tick", BigInteger, null=True),
    _column("verdict", Text),
    _column("reason", Text),
    _column("mcu_verdict", Text),
    _column("accepted", Boolean),
    _column("cleared", Integer),
    _column("sticking", Integer),
    _column("roller_ms", Integer),
    _column("hopper", Integer),
    _column("run_ms", Integer),
    _column("duty", Integer),
    _column("pack_V", Double, null=True),
    _column("pack_open_V", Double, null=True),
    _column("peak_A", Double, null=True),
    _column("edges", Edges),
    _column("bins", Bins),
    _column("spoiled", Text),
    _column("fill", Integer),
    _column("t_s", Double, null=True),
    _column("dealt", Integer),
    _column("since_power_on", Integer),
    _column("since_lid_close", Integer),
    _column("since_fire", Integer, null=True),
    _column("gap_s", Double, null=True),
    _column("fired", Boolean),
    _column("slot", Integer, null=True),
    _column("loaded", Integer, null=True),
    _column("toy", Text, default=""),
    _column("round", Integer, null=True),
    _column("insert", Integer, null=True),
    ForeignKeyConstraint(["run_id", "fill"], ["fill.run_id", "fill.number"]),
    UniqueConstraint("run_id", "number"),
)

ADDED: dict[int, tuple[Column[Any], ...]] = {2: (trial.c.slot, trial.c.loaded, trial.c.toy, trial.c.round, trial.c["insert"])}
"""By version of the schema, the columns that it added to those of the version before."""

event_ = Table(
    "event",
    metadata,
    _row_id(),
    _run_id(),
    _column("tick", BigInteger, null=True),
    _column("trial", BigInteger, null=True),
    _column("kind", Text),
    _column("data", JSON),
    _column("at", UtcDateTime),
)

for _table in (trial, event_):
    for _deed in ("UPDATE", "DELETE"):
        _guard = DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER {_table.name}_no_{_deed.lower()} BEFORE {_deed} ON {_table.name} "
            f"BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
        )
        event.listen(_table, "after_create", _guard.execute_if(dialect="sqlite"))
