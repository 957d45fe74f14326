# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear line that names what is wrong and what would be right, the right exit code, nothing lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from controller import cli
from tests.system.conftest import LAUNCHRIG


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = cli.run(arguments)
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    return code, lines[0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--rig", "foo"], 2, "twin:roller"),
        (["--rig", "http://host"], 2, "names no rig"),
        (["--rig", "twin:blaster"], 2, "twin:roller"),
        (["--rig", "twin:roller?jamm=1"], 2, "did you mean jam"),
        (["--rig", "twin:roller?jam=2"], 2, "0 to 1"),
        (["--rig", "twin:roller?jam=nan"], 2, "jam"),
        (["--rig", "twin:roller?jam="], 2, "jam=VALUE"),
        (["--rig", "twin:roller?brain=hazzard"], 2, "hazard"),
        (["--rig", "twin:roller?seed=1&seed=2"], 2, "twice"),
        (["--rig", "twin:roller?elf=/nowhere.elf"], 2, "/nowhere.elf"),
        (["--rig", "twin:roller?seed=1", "--seed", "2"], 2, "differ"),
        (["--rig", "/dev/ttyNONE0"], 5, "/dev/ttyNONE0"),
        (["--trials", "0"], 2, "1 to"),
        (["--trials", "-5"], 2, "1 to"),
        (["--trials", "1e9"], 2, "whole number"),
        (["--trials", "1000000000"], 2, "1 to"),
        (["--seed", "-1"], 2, "whole number"),
        (["--seed", "x"], 2, "whole number"),
        (["--pace", "nan"], 2, "3s"),
        (["--pace", "0s"], 2, "200ms"),
        (["--fill", "0"], 2, "cards"),
        (["--fill", "100000"], 2, "cards"),
        (["--drive", "sideways"], 2, "button"),
        (["--burst", "1,,2"], 2, "1,2,4"),
        (["--dut", ""], 2, "printable"),
        (["--dut", "a\nb"], 2, "printable"),
        (["--dut", "x" * 300], 2, "200"),
        (["--operator", "ghost"], 2, "console"),
        (["--out", "/proc/nowhere"], 2, "--out /proc/nowhere"),
        (["--out", "/etc/hostname"], 2, "--out /etc/hostname"),
        (["--frobnicate"], 2, "--frobnicate"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_a_bad_demo_is_one_line_and_the_right_code(
    arguments: list[str], code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--out" not in arguments:
        arguments = [*arguments, "--out", str(tmp_path / "out")]
    found, line = failing(["demo", "--trials", "3", *arguments], capsys)
    assert found == code
    assert says in line


def truncated(path: Path) -> None:
    cli.run(["press", "1", "--seed", "1", "--store", str(path)])
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table other (x)")
    connection.close()


def text(path: Path) -> None:
    path.write_text("dear diary\n" * 100, encoding="utf-8")


@pytest.mark.parametrize("spoil", [truncated, foreign, text], ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("command", [["runs", "list"], ["report", "last"], ["press", "1"], ["calibrate", "last", "-o", "x.json"]])
def test_a_spoiled_store_is_named_and_left_as_it_was(
    spoil, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "runs.sqlite"
    spoil(store)
    before = store.read_bytes()
    capsys.readouterr()
    code, line = failing([*command, "--store", str(store)], capsys)
    assert code == 2
    assert str(store) in line
    assert store.read_bytes() == before


@pytest.mark.parametrize("command", [["runs", "list"], ["runs", "show"], ["report", "last"], ["calibrate", "last", "-o", "x.json"]])
def test_reading_a_store_that_is_not_there_does_not_make_one(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "none.sqlite"
    code, line = failing([*command, "--store", str(store)], capsys)
    assert code == 2
    assert str(store) in line
    assert not store.exists()


def test_a_run_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "runs.sqlite")
    assert cli.run(["press", "1", "--seed", "1", "--store", store]) == 0
    capsys.readouterr()
    assert "99" in failing(["report", "99", "--store", store], capsys)[1]
    assert "is no run" in failing(["report", "first", "--store", store], capsys)[1]


def test_odd_characters_in_a_device_name_survive_and_are_escaped(tmp_path: Path) -> None:
    name = "../<b>ünit \"7\" & 'co'</b> [red]"
    subprocess.run(
        [LAUNCHRIG, "demo", "--trials", "3", "--seed", "1", "--dut", name, "--out", str(tmp_path)], check=True, capture_output=True
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>ünit" not in page
    assert "&lt;b&gt;ünit" in page
    shown = subprocess.run(
        [LAUNCHRIG, "runs", "show", "--store", str(tmp_path / "runs.sqlite")], check=True, capture_output=True, text=True
    ).stdout
    assert name in shown


def test_without_a_compiler_the_twin_names_what_installs_it(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [LAUNCHRIG, "demo", "--trials", "3", "--out", str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get install" in done.stderr
    assert "libsimavr-dev" in done.stderr


def test_firmware_that_is_one_endless_loop_is_no_board(tmp_path: Path) -> None:
    source, elf = tmp_path / "loop.c", tmp_path / "loop.elf"
    source.write_text("int main(void) { for (;;) ; }\n", encoding="utf-8")
    subprocess.run(["avr-gcc", "-mmcu=atmega328p", "-O1", "-o", elf, source], check=True)
    done = subprocess.run(
        [LAUNCHRIG, "demo", "--trials", "3", "--rig", f"twin:roller?elf={elf}", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert "not a launchrig board" in done.stderr


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", "--help"]) == 0
    assert "5 rig fault" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", [["report", "last", "-o"], ["calibrate", "last", "-o"], ["press", "1", "--seed", "1", "--vcd"]])
def test_an_output_that_is_the_store_is_refused_and_the_store_is_kept(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "runs.sqlite"
    assert cli.run(["press", "1", "--seed", "1", "--store", str(store)]) == 0
    before = store.read_bytes()
    capsys.readouterr()
    code, line = failing([*command, str(store), "--store", str(store)], capsys)
    assert code == 2
    assert "would be lost" in line
    assert store.read_bytes() == before


def test_a_product_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.html").mkdir()
    code, line = failing(["demo", "--trials", "3", "--seed", "1", "--out", str(tmp_path)], capsys)
    assert code == 2
    assert "report.html: is a folder" in line
    assert not (tmp_path / "runs.sqlite").exists()


@pytest.mark.parametrize("beside", [["--seed", "3"], ["--vcd", "pins.vcd"]], ids=" ".join)
def test_a_list_of_parameters_refuses_what_would_do_nothing(
    beside: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--vcd" in beside:
        beside = ["--vcd", str(tmp_path / beside[1])]
    code, line = failing(["twin", "--list", *beside], capsys)
    assert code == 2
    assert f"{beside[0]} does nothing beside --list" in line
    assert list(tmp_path.iterdir()) == []


def test_the_parameters_are_listed_of_a_url_that_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["twin", "twin:roller", "--list"]) == 0
    assert "jam = " in capsys.readouterr().out


UNWRITABLE = {
    "doctor --json": "doctor --rig twin:roller --frames 0 --json",
    "doctor": "doctor --rig twin:roller --frames 0",
    "doctor --udev": "doctor --udev",
    "selftest --json": "selftest --rig twin:roller --json",
    "twin --list": "twin --list",
    "--version": "--version",
    "--help": "--help",
    "no command": "",
}


@pytest.mark.parametrize("what", UNWRITABLE)
def test_words_that_cannot_be_written_are_no_success(what: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [LAUNCHRIG, *UNWRITABLE[what].split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=300
        )
    assert (done.returncode, done.stderr) == (2, "launchrig: input or output: No space left on device\n")


def test_an_error_that_cannot_be_written_keeps_its_exit_code() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [LAUNCHRIG, "doctor", "--rig", "twin:roller?nope=1"]
        assert subprocess.run(command, stderr=full, check=False, timeout=300).returncode == 2


def test_json_that_nobody_reads_is_no_failure() -> None:
    command = f"set -o pipefail; '{LAUNCHRIG}' doctor --rig twin:roller --frames 0 --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{LAUNCHRIG}' demo --trials 40 --seed 1 --out '{tmp_path}' | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()
