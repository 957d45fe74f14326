# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rig.errors import TwinUnavailableError
from rig.twin import build


def test_it_is_built_once_and_then_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = build.avrtwin_path()
    assert first.parent == tmp_path / "launchrig"
    assert os.access(first, os.X_OK)
    made = first.stat().st_mtime_ns
    assert build.avrtwin_path() == first
    assert first.stat().st_mtime_ns == made
    assert [path.name for path in first.parent.iterdir()] == [first.name]  # nothing is left behind


def test_another_source_is_another_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = build.avrtwin_path()
    changed = tmp_path / "avrtwin.c"
    changed.write_text(build.SOURCE.read_text() + "\n// changed\n")
    monkeypatch.setattr(build, "SOURCE", changed)
    assert build.avrtwin_path() != first


def test_without_a_compiler_one_line_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(TwinUnavailableError, match="apt-get install -y gcc libsimavr-dev libelf-dev") as caught:
        build.avrtwin_path()
    assert "\n" not in str(caught.value)


def compiler(where: Path, script: str) -> str:
    path = where / "cc"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_without_libsimavr_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A compiler that does not find a library answers with its bare name.
    monkeypatch.setenv("CC", compiler(tmp_path, 'case "$1" in -print-file-name=*) echo "${1#*=}";; *) echo cc;; esac\n'))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(TwinUnavailableError, match=r"libsimavr.*apt-get install") as caught:
        build.avrtwin_path()
    assert "\n" not in str(caught.value)


def test_a_failing_build_tells_its_reason_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libsimavr.a"
    library.write_bytes(b"")
    answer = f'case "$1" in -print-file-name=*) echo {library};; --version) echo cc;; '
    monkeypatch.setenv("CC", compiler(tmp_path, answer + '*) echo "x.c:1: error: no such thing" >&2; exit 1;; esac\n'))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(TwinUnavailableError, match="no such thing") as caught:
        build.avrtwin_path()
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "launchrig").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(TwinUnavailableError, match="XDG_CACHE_HOME"):
        build.avrtwin_path()
