# SPDX-License-Identifier: Apache-2.0
"""doctor and selftest as a user runs them: whole processes, on a board behind a pseudo-terminal and on what is none."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from controller.doctor.visit import doctor
from rig.links.serial import Port, SerialLink
from rig.udev import RULE
from rig.wire.messages import BAUD
from tests.system.conftest import LAUNCHRIG
from tests.twins import TAME

pytestmark = pytest.mark.xdist_group("port")  # at real time

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300


def launchrig(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LAUNCHRIG, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@contextmanager
def behind_a_port(url: str) -> Iterator[str]:
    process = subprocess.Popen([LAUNCHRIG, "twin", url, "--pty"], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    path = re.search(r"/dev/pts/\d+", process.stdout.readline())
    assert path
    try:
        yield path.group()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE_S)
        process.stdout.close()


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    with behind_a_port(TAME) as path:
        yield path


def test_a_board_at_a_port_is_examined_and_its_port_with_it(port: str) -> None:
    done = launchrig("doctor", "--rig", port, "--frames", "5", "--json")
    told = json.loads(done.stdout)
    findings = {check["name"]: check for check in told["checks"] if check["where"] == port}
    assert {"permission", "holder", "modem_manager", "connect", "link", "rates", "outputs"} <= set(findings)
    assert told["examined"] == 1
    assert {name: each for name, each in findings.items() if each["status"] == "fail"} == {}
    assert findings["outputs"]["found"] == "off, confirmed"
    assert 0 < findings["round_trip"]["data"]["wire_us"] <= findings["round_trip"]["data"]["median_us"]
    assert done.stderr == ""


def test_elsewhere_than_on_a_terminal_lines_are_plain(port: str) -> None:
    done = launchrig("doctor", "--rig", port, "--frames", "0")
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "machine"
    assert port in lines
    assert re.fullmatch(r"\d+ ok, \d+ warn, 0 fail, 2 skipped; 1 board examined", lines[-1])


def test_a_self_test_with_nobody_there_is_inconclusive_and_ends_safe(port: str) -> None:
    done = launchrig("selftest", "--rig", port, "--operator", "none", "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    told = json.loads(done.stdout)
    outcomes = {row["name"]: row["outcome"] for row in told["rows"]}
    assert {name for name, outcome in outcomes.items() if outcome == "fail"} == set()
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == {
        f"sensor.{name}" for name in ("beam_a", "beam_b", "lid", "sound", "interlock")
    }
    assert told["outputs_off"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_self_test_with_the_outputs_off(number: signal.Signals, port: str) -> None:
    process = subprocess.Popen(
        [LAUNCHRIG, "selftest", "--rig", port, "--operator", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout
    while "output.slot1" not in (line := process.stdout.readline()):
        assert line, "ended before it came to the slots"
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, stdout + stderr
    assert "outputs off, confirmed" in stdout
    assert "stopped before its end" in stdout
    assert "Traceback" not in stderr


def test_what_is_set_at_a_port_is_there_for_every_command_after_it() -> None:
    with behind_a_port("twin:blast?seed=7&slots=3") as path:
        told = [
            launchrig("bench", "--rig", path, "--json"),
            launchrig("bench", "--rig", path, "--slots", "5", "--json"),
            launchrig("bench", "--rig", path, "--json"),
        ]
        assert [(each.returncode, each.stderr) for each in told] == [(0, "")] * 3
        said = [json.loads(each.stdout) for each in told]
        assert [each["slots"] for each in said] == [3, 5, 5]
        assert [each["stored"] for each in said] == [[], ["slots"], []]
        assert {each["launcher"] for each in said} == {"blast"}
        examined = launchrig("doctor", "--rig", path, "--frames", "0", "--json")
        assert {c["name"]: c["data"] for c in json.loads(examined.stdout)["checks"]}["bench"]["slots"] == 5
        test = launchrig("selftest", "--rig", path, "--operator", "none", "--json")
        outcomes = {row["name"]: row["outcome"] for row in json.loads(test.stdout)["rows"]}
    assert test.returncode == 3, "nobody worked the sensors"
    assert "output.slot5" in outcomes
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == {
        f"sensor.{name}" for name in ("beam_a", "beam_b", "interlock")
    }
    assert "fail" not in outcomes.values()


def test_a_board_in_use_is_not_set_up_by_another() -> None:
    with behind_a_port("twin:roller?seed=7") as path:
        first = SerialLink(path, BAUD)
        first.held_for("run")
        done = launchrig("bench", "--rig", path, "--launcher", "blast")
        first.close()
    assert done.returncode == 5, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert path in line
    assert done.stdout == ""


def test_a_board_with_other_firmware_is_known_by_its_bootloader(tmp_path: Path) -> None:
    elf = tmp_path / "echo.elf"
    source = ROOT / "tests" / "rig" / "links" / "echo.c"
    subprocess.run(["avr-gcc", "-Os", "-mmcu=atmega328p", "-DF_CPU=16000000UL", "-o", elf, source], check=True)
    with behind_a_port(f"twin:roller?elf={elf}") as path:
        done = launchrig("doctor", "--rig", path)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "not a launchrig board" in done.stdout
    assert re.search(r"bootloader +Optiboot answers at 115200 baud \(part 1e950f\)", done.stdout)
    assert f"launchrig flash --port {path}" in done.stdout


def test_without_a_rig_every_usb_port_is_listened_to_and_the_boards_among_them_are_examined(
    port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    master, far = os.openpty()
    tty.setraw(far)
    os.write(master, b"\r\nNO CARRIER\r\n")
    modem = os.ttyname(far)
    here = [
        Port(port, "Arduino Uno", 0x2341, 0x0043, "1"),
        Port(modem, "Modem", 0x1234, 0x5678, None),
        Port("/dev/ttyS99", "n/a", None, None, None),
    ]
    code = doctor(None, 0, True, Console(), here)
    told = json.loads(capsys.readouterr().out)
    assert [(each["device"], each["usb"]) for each in told["ports"]] == [
        (port, "2341:0043"),
        (modem, "1234:5678"),
        ("/dev/ttyS99", None),
    ]
    assert re.fullmatch(r"[0-9a-f]{32}", told["ports"][0]["board"])
    assert [each["board"] for each in told["ports"][1:]] == [None, None]
    connects = {check["where"]: check["status"] for check in told["checks"] if check["name"] == "connect"}
    assert connects == {port: "ok", modem: "skipped", "/dev/ttyS99": "skipped"}
    assert (told["examined"], code) == (1, told["exit_code"])
    assert select.select([master], [], [], 0)[0] == [], "nothing was written to what is no board"
    os.close(master)
    os.close(far)


def test_a_machine_without_a_port_says_what_to_plug_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(None, 0, False, Console(), []) == 3
    said = capsys.readouterr().out
    assert "no USB serial port is here" in said
    assert said.splitlines()[-1].endswith("no board was examined")


def test_the_udev_rule_is_printed_alone() -> None:
    done = launchrig("doctor", "--udev")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == RULE.read_text(encoding="utf-8")


BAD = {
    "no rig at all": (["doctor", "--rig", "nonsense"], 2, "names no rig"),
    "a parameter that the twin has not": (["doctor", "--rig", "twin:roller?nope=1"], 2, "nope"),
    "an empty rig": (["doctor", "--rig", ""], 2, "names no rig"),
    "a file": (["doctor", "--rig", __file__], 2, "is no serial port"),
    "an elf that is not there": (["doctor", "--rig", "twin:roller?elf=/nowhere.elf", "--json"], 2, "/nowhere.elf"),
    "the rule as JSON": (["doctor", "--udev", "--json"], 2, "--json does nothing beside --udev"),
    "the rule of a rig": (["doctor", "--udev", "--rig", "twin:roller"], 2, "--rig does nothing beside --udev"),
    "the rule with as many frames as usual": (["doctor", "--udev", "--frames", "20"], 2, "--frames does nothing beside --udev"),
    "a number of frames that is none": (["doctor", "--rig", "twin:roller", "--frames", "many"], 2, "whole number"),
    "a self-test of nothing": (["selftest"], 2, "--rig"),
    "a self-test of no rig": (["selftest", "--rig", "nonsense"], 2, "names no rig"),
    "a self-test without a board": (["selftest", "--rig", "/dev/ttyNOPE"], 5, "no such port"),
    "an unknown operator": (["selftest", "--rig", "twin:roller", "--operator", "me"], 2, "--operator"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line(what: str) -> None:
    arguments, code, said = BAD[what]
    done = launchrig(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert said in line
    assert done.stdout == "", "nothing is told before the input was looked at"


def test_a_port_that_is_not_there_is_a_finding_with_its_remedy() -> None:
    done = launchrig("doctor", "--rig", "/dev/ttyNOPE")
    assert done.returncode == 5
    assert re.search(r"fail +connect +/dev/ttyNOPE: no such port", done.stdout)
    assert "plug the board in" in done.stdout
