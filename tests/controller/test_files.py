# SPDX-License-Identifier: Apache-2.0
"""Products are written whole or not at all, never over a store, and a device stays a device."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from controller.errors import RefusedError
from controller.files import refuse_place, write_whole


def test_a_file_is_made_and_replaced_whole_and_readable_for_all(tmp_path: Path) -> None:
    path = tmp_path / "odds.json"
    for text in ("first", "second"):
        write_whole(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_whole(Path("/dev/null"), "gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_store_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table kept (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="would be lost"):
        write_whole(path, "odds")
    assert path.read_bytes() == before


def test_places_that_cannot_be_meant_are_named(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="is a folder"):
        refuse_place(tmp_path)
    with pytest.raises(RefusedError, match="there is no folder"):
        refuse_place(tmp_path / "none" / "odds.json")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(RefusedError, match="loop"):
        write_whole(loop, "x")
