# SPDX-License-Identifier: Apache-2.0
"""A file that cannot be a store is refused in one line that names it, and is left as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from controller.store import place
from controller.store.place import StoreError, Writer, is_alive, network_file_system, this_process
from controller.store.store import Store

MOUNTS = [("/", "ext4"), ("/home", "nfs4"), ("/home/me/local", "xfs"), ("/mnt/c", "9p")]
MOUNTS += [("/data", "ext4"), ("/data", "cifs")]


def refusal(path: Path | str) -> str:
    """The line with which a store refuses a path."""
    with pytest.raises(StoreError) as caught:
        Store.open(path)
    line = str(caught.value)
    assert "\n" not in line and str(path) in line
    return line


def make_store(path: Path) -> None:
    """Make an empty store."""
    Store.open(path).close()


def test_a_text_file_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    path.write_text("trial,verdict\n" * 100)
    assert "is not a launchrig store" in refusal(path)
    assert path.read_text() == "trial,verdict\n" * 100


def test_another_programs_database_is_foreign_and_stays_untouched(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE trial (a)")
    other.close()
    before = path.read_bytes()
    assert "another program's database" in refusal(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.5, 0.99])
def test_a_truncated_store_is_said_to_be_truncated(tmp_path: Path, share: float) -> None:
    path = tmp_path / "runs.sqlite"
    make_store(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "truncated" in refusal(path)
    assert len(path.read_bytes()) == int(len(whole) * share)


def test_a_store_with_a_damaged_middle_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    make_store(path)
    whole = bytearray(path.read_bytes())
    whole[100:4096] = b"\xff" * 3996
    path.write_bytes(whole)
    assert "damaged" in refusal(path)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    path.touch()
    with Store.open(path) as store:
        assert store.runs() == []


def test_a_store_of_another_schema_names_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    make_store(path)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE meta SET value = '99'")
    other.close()
    assert "has store schema 99 where this launchrig needs 2" in refusal(path)


def test_a_directory_is_refused_with_a_file_name_to_use(tmp_path: Path) -> None:
    assert f"such as {tmp_path / 'runs.sqlite'}" in refusal(tmp_path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    assert f"there is no directory {tmp_path / 'none'}" in refusal(tmp_path / "none" / "runs.sqlite")


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refusal(tmp_path / "file" / "runs.sqlite")


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refusal(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory where even root cannot write")
def test_a_place_where_nothing_can_be_made_is_refused() -> None:
    refusal("/proc/runs.sqlite")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    make_store(path)
    path.chmod(0o444)
    assert "not readable and writable" in refusal(path)


@pytest.mark.parametrize("url", ["nonsense://", "mysql+nothing://host/name", "://", "postgresql+nodriver://host/name"])
def test_a_url_that_names_no_known_database_is_refused(url: str) -> None:
    refusal(url)


def test_an_sqlite_url_is_as_good_as_a_path(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'runs.sqlite'}") as store:
        assert store.runs() == []
    assert (tmp_path / "runs.sqlite").exists()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tmp/runs.sqlite", None),
        ("/home/me/runs.sqlite", "nfs4"),
        ("/home/me/local/runs.sqlite", None),
        ("/homely/runs.sqlite", None),
        ("/mnt/c/runs.sqlite", "9p"),
        ("/data/runs.sqlite", "cifs"),
    ],
)
def test_the_deepest_and_latest_mount_decides_whether_a_path_is_remote(path: str, expected: str | None) -> None:
    assert network_file_system(Path(path), MOUNTS) == expected


def test_a_store_on_a_network_file_system_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.store.store.local_mounts", lambda: [(str(tmp_path), "nfs4")])
    line = refusal(tmp_path / "runs.sqlite")
    assert "network file system (nfs4)" in line and "locks are not safe" in line
    assert list(tmp_path.iterdir()) == []


def test_a_process_is_alive_only_as_itself() -> None:
    me = this_process()
    assert is_alive(me)
    assert not is_alive(Writer(me.host, me.pid, me.pid_started_s - 3600))
    assert not is_alive(Writer("elsewhere", me.pid, me.pid_started_s))
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert not is_alive(Writer(me.host, child.pid, me.pid_started_s))


def test_the_mounts_of_this_machine_can_be_read() -> None:
    assert place.local_mounts()
