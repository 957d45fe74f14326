# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds, and what it says mends it: on the real firmware in the twin, and on real devices and processes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from rich.console import Console

from controller.doctor.board import ASKED_FOR, CHECKS, LISTEN_S, MEND_CAUSE, MEND_LINE, checks_for, examine, told
from controller.doctor.checks import Check, Finding, Status, exit_of, fail, ok, skipped, warn
from controller.doctor.machine import device_of, install_command, is_ignored, modem_manager, port_checks
from controller.doctor.show import Teller, as_json, summary
from controller.doctor.visit import doctor
from controller.verdict import Exit
from rig.errors import StopAskedError
from rig.firmware import packaged
from rig.open import open_rig
from rig.rig import Rig
from rig.udev import known_usb, rule
from rig.wire.frame import Framer, encode
from rig.wire.messages import PROTOCOL_HASH, STOP_SEND, TICK_HZ, Boot, Cause, Channel, Launcher, Wiring
from tests.twins import OtherLink, bench_of, driven

ROOT = Path(__file__).resolve().parents[2]
SOUND, CURRENT, VOLTAGE = 13, 0, 1  # a pin and two channels of the ADC
FRAMES = 4
NOBODY, DIALOUT = 65534, 20  # a user, and a group, of Debian's


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig("twin:roller?seed=7")
    yield rig
    rig.close()


def never() -> bool:
    return False


def found_by(rig: Rig, frames: int = FRAMES) -> dict[str, Finding]:
    """Everything that an examination of `rig` finds, by name."""
    return {check.name: check.finding for check in examine(rig, "here", frames, never)}


def others(findings: dict[str, Finding], *names: str) -> dict[str, Status]:
    """Findings that are not well, but for those named."""
    return {name: each.status for name, each in findings.items() if each.status is not Status.ok and name not in names}


# ---------------------------------------------------------------------- a board


def test_a_sound_twin_passes_every_check_and_nothing_was_energised(twin: Rig) -> None:
    seen: set[str] = set()

    def look() -> bool:
        seen.update(driven(bench_of(twin)))
        return False

    findings = {check.name: check.finding for check in examine(twin, "here", FRAMES, look)}
    assert others(findings) == {}
    assert list(findings) == ["connect", *CHECKS, "outputs"]
    assert findings["outputs"].found == "off, confirmed"
    assert findings["firmware"].data["uuid"] == twin.new_uuid().hex()
    assert findings["pack"].data["pack_V"] == pytest.approx(3 * 1.58, abs=0.01), "three fresh cells"
    assert findings["pack"].data["offset_A"] == pytest.approx(0, abs=0.005)
    assert seen == set()


@pytest.mark.parametrize("slots", [1, 4, 6])
def test_a_sound_blaster_passes_told_with_its_slots_and_nothing_moved(slots: int) -> None:
    rig = open_rig(f"twin:blast?seed=7&slots={slots}")
    seen: set[str] = set()

    def look() -> bool:
        seen.update(driven(bench_of(rig)))
        return False

    findings = {check.name: check.finding for check in examine(rig, "here", FRAMES, look)}
    assert others(findings, "pack") == {}
    assert list(findings) == ["connect", *checks_for(Launcher.blast), "outputs"]
    assert set(CHECKS) - set(findings) == {"lid"}
    assert findings["bench"].data == {"launcher": "blast", "slots": slots, "wiring": "button"}
    assert f"{slots} slots wired (how many the toy has is not verified)" in findings["bench"].found
    assert findings["pack"].status is Status.skipped
    assert findings["outputs"].found == "off, confirmed"
    assert seen == set()
    again = {check.name: check.finding for check in examine(rig, "here", 0, never)}
    rig.close()
    assert again["bench"].data == findings["bench"].data, "the examination has changed nothing"


def test_the_roller_is_told_to_be_one(twin: Rig) -> None:
    bench = found_by(twin, frames=0)["bench"]
    assert bench.data == {"launcher": "roller", "slots": None, "wiring": "button"}
    assert bench.found.startswith("a roller launcher")


def test_a_wiring_that_a_blaster_does_not_have_is_named_with_the_command_that_sets_it() -> None:
    from rig.selfcheck import Bench

    rig = open_rig("twin:blast?seed=7")
    Bench(rig, never).board.set("wiring", Wiring.direct)
    bench = found_by(rig, frames=0)["bench"]
    rig.close()
    assert bench.status is Status.warn
    assert "wiring direct, in which a blaster makes no trial" in bench.found
    assert bench.remedy.startswith(f"launchrig bench --rig {rig.url} --wiring button")


@pytest.mark.parametrize("what", ["an open interlock", "a card in beam A", "a sound that is stuck", "a latched fault"])
def test_what_is_wrong_is_named_at_the_blaster_too(what: str) -> None:
    rig = open_rig("twin:blast?seed=7")
    make, name, status, found, remedy, follow = WRONG[what]
    make(rig)
    findings = found_by(rig, frames=0)
    rig.close()
    assert findings[name].status is status
    assert found in findings[name].found
    assert remedy in findings[name].remedy
    assert set(others(findings, name, "link", "rates", "pack")) <= set(follow)


def interlock_open(rig: Rig) -> None:
    bench_of(rig).by_hand("interlock", True)


def lid_open(rig: Rig) -> None:
    bench_of(rig).by_hand("lid", True)


def card_in_beam_a(rig: Rig) -> None:
    bench_of(rig).by_hand("beam_a", True)


def card_in_beam_b(rig: Rig) -> None:
    bench_of(rig).by_hand("beam_b", True)


def flickering(pin: int) -> Callable[[Rig], None]:
    def flicker(rig: Rig) -> None:
        avr = bench_of(rig).avr
        step = TICK_HZ // 20
        avr.edges([(avr.cycle + n * step, pin, n & 1) for n in range(1, int(20 * (LISTEN_S + 4)))])

    return flicker


def sound_stuck(rig: Rig) -> None:
    avr = bench_of(rig).avr
    avr.edge(avr.cycle, SOUND, 1)


def volts(channel: int, level_V: float) -> Callable[[Rig], None]:
    def apply(rig: Rig) -> None:
        avr = bench_of(rig).avr
        avr.analog(channel, [(avr.cycle, level_V)])

    return apply


def stop_sent(rig: Rig) -> None:
    rig.link.clock.sleep(0.5)
    rig.link.write(bytes(STOP_SEND))


WRONG = {
    "an open interlock": (interlock_open, "interlock", Status.fail, "open (A3)", "catch bin", ("fault", "pack")),
    "a loose interlock": (flickering(17), "interlock", Status.fail, "edges within|open", "A3", ("fault", "pack")),
    "an open lid": (lid_open, "lid", Status.warn, "open (A4)", "close the lid", ("pack",)),
    "a card in beam A": (card_in_beam_a, "beam_a", Status.fail, "blocked", "beam A (D8)", ("pack",)),
    "a card in beam B": (card_in_beam_b, "beam_b", Status.fail, "blocked", "beam B (D2)", ("pack",)),
    "a beam that flickers": (flickering(8), "beam_a", Status.fail, "flickers", "align emitter and receiver", ("pack",)),
    "a sound that is stuck": (sound_stuck, "sound", Status.fail, "sounding while the toy has no power", "D13", ("pack",)),
    "a noisy sound": (flickering(SOUND), "sound", Status.fail, "edges within", "raise the threshold", ()),
    "no pack": (volts(VOLTAGE, 0.0), "pack", Status.fail, "0.00 V", "three fresh cells", ()),
    "a weak pack": (volts(VOLTAGE, 1.5), "pack", Status.warn, "3.00 V", "fresh alkaline", ()),
    "a current sensor off zero": (volts(CURRENT, 0.2), "pack", Status.fail, "at 19[0-9] mA", "offset (A0)", ()),
    "a latched fault": (stop_sent, "fault", Status.warn, "latched: 3, stop_received", "nothing is wrong if you asked", ("pack",)),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_with_what_mends_it(what: str, twin: Rig) -> None:
    make, name, status, found, remedy, follow = WRONG[what]
    make(twin)
    findings = found_by(twin, frames=0)
    assert findings[name].status is status
    pattern = "|".join(found.split("|")) if "[" in found or "|" in found else re.escape(found)
    assert re.search(pattern, findings[name].found)
    assert remedy in findings[name].remedy
    assert set(others(findings, name, "link", "rates")) <= set(follow)
    assert findings["outputs"].status is Status.ok


def test_a_latched_fault_is_left_as_it_was_found(twin: Rig) -> None:
    stop_sent(twin)
    assert found_by(twin)["fault"].data["cause"] == "stop_received"
    assert found_by(twin)["fault"].data["cause"] == "stop_received"


def test_what_is_said_of_a_fault_is_what_its_page_says() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \d+ \| `(\w+)` \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE))
    assert set(MEND_CAUSE) == set(Cause) - {Cause.none}
    for cause, remedy in MEND_CAUSE.items():
        begin = remedy.partition(":")[0].partition(";")[0]
        assert rows[cause.name].startswith(begin), cause.name


def test_the_stored_wiring_is_as_it_was_before_the_pack_was_sampled(twin: Rig) -> None:
    assert others(found_by(twin)) == {}
    again = found_by(twin)
    assert again["connect"].data["wiring"] == Wiring.button.name


def test_a_board_in_wiring_direct_is_sampled_without_any_change(twin: Rig) -> None:
    from rig.selfcheck import Bench

    Bench(twin, never).board.set("wiring", Wiring.direct)
    findings = found_by(twin, frames=0)
    assert findings["connect"].data["wiring"] == "direct"
    assert findings["pack"].status is Status.ok


def altered(elf: Path, out: Path) -> Path:
    """The firmware with one byte changed that it never executes: the last vector, which nothing raises."""
    image = bytearray(elf.read_bytes())
    with elf.open("rb") as stream:
        segment = next(each for each in ELFFile(stream).iter_segments("PT_LOAD") if each["p_paddr"] == 0)
        at = segment["p_offset"] + 25 * 4 + 2
    image[at] ^= 0x01
    out.write_bytes(image)
    return out


def test_another_build_than_the_packaged_one_is_named_by_both_build_ids(tmp_path: Path) -> None:
    rig = open_rig(f"twin:roller?seed=7&elf={altered(packaged('elf'), tmp_path / 'other.elf')}")
    findings = found_by(rig, frames=0)
    rig.close()
    firmware = findings["firmware"]
    assert firmware.status is Status.warn
    ids = re.findall(r"\b[0-9a-f]{8}\b", firmware.found)
    assert len(set(ids)) == 2
    assert firmware.data["build_id"] in ids


def of_another_protocol(data: bytes) -> bytes:
    """What a board says, its BOOT with another protocol hash."""
    frames = [frame for frame in Framer().feed(data) if frame]
    said = [replace(f, payload=b"\xef\xbe\xad\xde" + f.payload[4:]) if f.type == Boot.TYPE else f for f in frames]
    return b"".join(map(encode, said))


def test_a_board_of_another_protocol_comes_with_both_hashes_and_how_to_flash_it(twin: Rig) -> None:
    twin.link = OtherLink(twin.link, into=of_another_protocol)
    findings = found_by(twin)
    assert list(findings) == ["connect"]
    assert findings["connect"].status is Status.fail
    assert findings["connect"].data == {"error": "ProtocolMismatchError"}
    assert "deadbeef" in findings["connect"].found
    assert f"{PROTOCOL_HASH:08x}" in findings["connect"].found
    assert findings["connect"].remedy == "leave elf= away, or build the firmware: ./dev firmware"


class Restarting(OtherLink):
    """A link behind which the board loses its supply again and again, from `after` seconds on."""

    def __init__(self, rig: Rig, after: float) -> None:
        super().__init__(rig.link)
        self._bench = bench_of(rig)
        self._next = after

    def read(self, deadline: float) -> bytes:
        while self.clock.now() >= self._next:
            self._next = self.clock.now() + 0.4
            self._bench.reset(power_on=True)
        return super().read(min(deadline, self._next))


@pytest.mark.parametrize("after", [0.0, 1.5], ids=["from the beginning", "while it is examined"])
def test_a_board_that_resets_for_ever_is_told_from_one_that_was_lost(after: float, twin: Rig) -> None:
    twin.link = Restarting(twin, after)
    findings = found_by(twin)
    (bad, *more) = [name for name, each in findings.items() if each.status is Status.fail]
    assert "resets again and again" in findings[bad].found
    assert "power-on" in findings[bad].found
    assert "supply" in findings[bad].remedy
    assert more in ([], ["outputs"]), "one fault makes one failure; only the outputs could not be confirmed"
    if after:
        later = list(findings)[list(findings).index(bad) + 1 : -1]
        assert later
        assert {findings[name].status for name in later} == {Status.skipped}


class OldBridge(OtherLink):
    """A USB bridge that damages what passes it at 230400 baud and above, both ways."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.link, out=self._spoil, into=self._spoil)
        self.baud = 115_200

    def set_baud(self, baud: int) -> None:
        self.baud = baud

    def _spoil(self, data: bytes) -> bytes:
        return bytes(byte ^ 0x10 for byte in data) if self.baud >= 230_400 else data


def test_the_sweep_finds_the_rates_that_a_bridge_does_not_carry_and_comes_back(twin: Rig) -> None:
    twin.link = bridge = OldBridge(twin)
    findings = found_by(twin)
    assert others(findings) == {}, "launchrig itself does not need them"
    assert "clean: 57600; failing: 230400, 250000, 500000, 1000000" in findings["rates"].found
    figures = {each["baud"]: each for each in findings["rates"].data["rates"]}
    assert {baud for baud, each in figures.items() if each["clean"]} == {57_600}
    assert all(each["echoed"] == 0 for baud, each in figures.items() if baud > 57_600)
    assert bridge.baud == 115_200
    assert findings["outputs"].status is Status.ok


def test_what_a_lossy_line_costs_is_counted_and_warned_of() -> None:
    rig = open_rig("faulty+twin:roller?seed=7&corrupt=0.01&fault_seed=3")
    findings = found_by(rig, frames=10)
    rig.close()
    assert findings["link"].status is Status.warn
    assert findings["link"].data["echoed"] == findings["link"].data["sent"] == 10
    assert findings["link"].data["losses"]
    assert findings["losses"].status is Status.warn
    assert findings["outputs"].status is Status.ok


def test_losses_are_told_in_words_and_counted_by_name() -> None:
    rig = open_rig("faulty+twin:roller?seed=7&corrupt=0.01&fault_seed=3")
    findings = found_by(rig, frames=10)
    rig.close()
    losses = findings["link"].data["losses"]
    damaged = losses.get("crc", 0) + losses["host_bad"] + losses.get("host_malformed", 0)
    again = losses.get("resent", 0) + losses["host_resent"]
    assert findings["link"].found == f"10 frames echoed at 115200 baud; damaged {damaged}, sent again {again}, all mended"
    assert re.fullmatch(r"damaged \d+, (lost \d+, )?sent again \d+ so far", findings["losses"].found)


TOLD = {
    "nothing of note": ({}, "no loss was counted"),
    "what follows from nothing else": ({"resync": 2, "host_gap": 1}, "out of step 3"),
    "each kind": (
        {"crc": 1, "host_bad": 2, "overrun": 4, "resent": 8, "host_resent": 1, "gap": 9},
        "damaged 3, lost 4, sent again 9",
    ),
}


@pytest.mark.parametrize("what", TOLD)
def test_every_loss_has_a_word(what: str) -> None:
    losses, words = TOLD[what]
    assert told(losses) == words


FAULTY = ["corrupt=0.01", "delay=0.05&delay_ms=60"]


@pytest.mark.parametrize("faults", FAULTY)
def test_faults_that_were_asked_for_are_no_reason_to_buy_a_cable(faults: str) -> None:
    rig = open_rig(f"faulty+twin:roller?seed=7&{faults}&fault_seed=3")
    findings = found_by(rig, frames=20)
    rig.close()
    remedies = {findings[name].remedy for name in others(findings)}
    assert remedies == {ASKED_FOR}


def test_a_line_that_is_bad_by_itself_is_mended_by_hand(twin: Rig) -> None:
    twin.link = OtherLink(twin.link, into=corrupted())
    findings = found_by(twin, frames=10)
    assert findings["link"].remedy == findings["losses"].remedy == MEND_LINE


def corrupted() -> Callable[[bytes], bytes]:
    """Damages one byte of 97."""
    count = 0

    def spoil(data: bytes) -> bytes:
        nonlocal count
        out = bytearray(data)
        for at in range(len(out)):
            count += 1
            if count % 97 == 0:
                out[at] ^= 0x10
        return bytes(out)

    return spoil


def test_an_examination_that_is_stopped_still_ends_with_the_outputs_read_back(twin: Rig) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 8

    seen: list[Check] = []

    def collect() -> None:
        for check in examine(twin, "here", FRAMES, stop):
            seen.append(check)

    with pytest.raises(StopAskedError):
        collect()
    assert (seen[-1].name, seen[-1].finding.status) == ("outputs", Status.ok)
    assert len(seen) < len(CHECKS)


# ---------------------------------------------------------------------- the whole visit


def test_one_strict_json_object_tells_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor("twin:roller?seed=7", 2, True, Console())

    def refuse(word: str) -> object:
        raise AssertionError(f"{word} is no JSON")

    told = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert list(told) == ["launchrig", "machine", "ports", "checks", "examined", "worst", "exit_code"]
    assert (told["worst"], told["examined"], told["exit_code"], code) == ("ok", 1, 0, 0)
    for check in told["checks"]:
        assert list(check) == ["where", "name", "status", "found", "remedy", "data"]
    assert {check["where"] for check in told["checks"]} == {"machine", "twin:roller?seed=7"}
    assert {"user", "groups", "distribution", "versions"} <= set(told["machine"])


CODES: list[tuple[list[Finding], int, Exit]] = [
    ([ok("")], 1, Exit.passed),
    ([ok(""), skipped("")], 1, Exit.passed),
    ([ok("")], 0, Exit.inconclusive),
    ([ok(""), warn("", "")], 1, Exit.inconclusive),
    ([ok(""), warn("", ""), fail("", "")], 1, Exit.rig_fault),
    ([fail("", "")], 0, Exit.rig_fault),
    ([skipped("")], 0, Exit.inconclusive),
    ([], 0, Exit.inconclusive),
]


@pytest.mark.parametrize(("findings", "examined", "code"), CODES)
def test_the_exit_code_is_never_better_than_the_worst_check(findings: list[Finding], examined: int, code: Exit) -> None:
    assert exit_of([Check("here", "name", each) for each in findings], examined) is code


LONG = "what is found is told at some length, so that it does not fit the line of a terminal of eighty columns at all"


def shown(check: Check, *, terminal: bool) -> list[str]:
    out = io.StringIO()
    Teller(Console(file=out, force_terminal=terminal, width=80 if terminal else 240, soft_wrap=True, color_system=None))(check)
    return out.getvalue().splitlines()


def test_lines_fit_a_terminal_and_a_command_stays_whole() -> None:
    command = "sudo usermod -aG dialout somebody   then log in again, or install the udev rule that comes with launchrig"
    lines = shown(Check("/dev/ttyACM0", "permission", fail(LONG, command)), terminal=True)
    assert lines[0] == "/dev/ttyACM0"
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1] == f"    -> {command}"
    assert "".join(lines[1:-1]).split()[2:] == LONG.split()


def test_without_a_terminal_each_finding_is_one_line() -> None:
    lines = shown(Check("here", "beam_a", fail(LONG, LONG)), terminal=False)
    assert lines == ["here", f"  fail    beam_a         {LONG}", f"    -> {LONG}"]


def test_the_last_line_counts() -> None:
    checks = [Check("here", "a", ok("")), Check("here", "b", warn("", "")), Check("here", "c", ok(""))]
    assert summary(checks, 1) == "2 ok, 1 warn, 0 fail, 0 skipped; 1 board examined"
    assert summary([], 0).endswith("no board was examined")
    assert json.loads(as_json({}, [], checks, 1, 3))["worst"] == "warn"


# ---------------------------------------------------------------------- the port


@pytest.fixture
def port() -> Iterator[Path]:
    master, far = os.openpty()
    tty.setraw(far)
    path = Path(os.ttyname(far))
    yield path
    os.close(master)
    os.close(far)


def by_somebody_else(path: Path) -> Finding:
    """What the port's permission comes to for a user who owns nothing here."""
    import grp  # noqa: F401  # loaded before the user changes, who may not read it any more
    import pwd  # noqa: F401

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(writing, json.dumps(port_checks(str(path))[0].as_json()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = json.loads(stream.read())
    os.waitpid(child, 0)
    assert told["name"] == "permission"
    return Finding(Status(told["status"]), told["found"], told["remedy"], told["data"])


def test_a_port_without_permission_comes_with_its_group_and_a_remedy(port: Path) -> None:
    port.chmod(0o000)
    finding = by_somebody_else(port)
    assert finding.status is Status.fail
    assert "permission denied" in finding.found
    assert "launchrig doctor --udev" in finding.remedy
    assert finding.data["mode"] == "0000"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a device to a group")
def test_a_port_of_a_group_comes_with_the_command_that_joins_it(port: Path) -> None:
    os.chown(port, 0, DIALOUT)
    port.chmod(0o660)
    finding = by_somebody_else(port)
    assert finding.status is Status.fail
    assert re.search(rf"(sudo usermod -aG {finding.data['group']}|sudo addgroup) ", finding.remedy)


def test_a_port_that_another_program_has_open_names_it(port: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import sys; stream = open({str(port)!r}, 'rb'); print(1, flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout
    holder.stdout.readline()
    try:
        (held,) = [check for check in port_checks(str(port)) if check.name == "holder"]
        assert held.finding.status is Status.fail
        assert str(holder.pid) in held.finding.found
        assert f"kill {holder.pid}" in held.finding.remedy
    finally:
        holder.communicate()
    (free,) = [check for check in port_checks(str(port)) if check.name == "holder"]
    assert free.finding.status is Status.ok


def test_what_is_no_device_file_has_no_checks_of_a_port(tmp_path: Path) -> None:
    assert port_checks(str(tmp_path)) == []
    assert port_checks(str(tmp_path / "nothing")) == []
    assert port_checks("/dev/null") == []


DEVICES = {
    "/dev/ttyACM0": "/dev/ttyACM0",
    "/dev/ttyACM0?baud=500000": "/dev/ttyACM0",
    "faulty+/dev/ttyUSB1?drop=0.1": "/dev/ttyUSB1",
    "COM3": "COM3",
    "twin:roller?elf=/tmp/x.elf": "",
    "socket://host:1": "",
    "board:": "",
}


@pytest.mark.parametrize("url", DEVICES)
def test_the_port_in_a_rigs_url_is_known(url: str) -> None:
    assert device_of(url) == DEVICES[url]


def test_modem_manager_is_warned_of_only_where_it_may_touch_the_port() -> None:
    assert modem_manager(runs=False, ignored=False).status is Status.ok
    assert modem_manager(runs=True, ignored=True).status is Status.ok
    finding = modem_manager(runs=True, ignored=False)
    assert finding.status is Status.warn
    assert "sudo tee /etc/udev/rules.d/60-launchrig.rules" in finding.remedy


def test_what_udev_was_told_of_a_device_is_read_from_its_database(tmp_path: Path) -> None:
    number = Path("/dev/null").stat().st_rdev
    entry = tmp_path / f"c{os.major(number)}:{os.minor(number)}"
    assert not is_ignored("/dev/null", tmp_path)
    entry.write_text("E:ID_VENDOR=x\nE:ID_MM_DEVICE_IGNORE=0\n", encoding="utf-8")
    assert not is_ignored("/dev/null", tmp_path)
    entry.write_text("S:serial/by-id/x\nE:ID_MM_DEVICE_IGNORE=1\n", encoding="utf-8")
    assert is_ignored("/dev/null", tmp_path)


RELEASES = {
    "debian": ({"ID": "debian"}, "sudo apt install avrdude"),
    "a child of Ubuntu": ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "sudo apt install avrdude"),
    "raspbian": ({"ID": "raspbian", "ID_LIKE": "debian"}, "sudo apt install avrdude"),
    "fedora": ({"ID": "fedora"}, "sudo dnf install avrdude"),
    "a child of Red Hat": ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "sudo dnf install avrdude"),
    "arch": ({"ID": "arch"}, "sudo pacman -S avrdude"),
    "opensuse": ({"ID": "opensuse-tumbleweed", "ID_LIKE": "opensuse suse"}, "sudo zypper install avrdude"),
    "alpine": ({"ID": "alpine"}, "sudo apk add avrdude"),
    "unknown": ({"ID": "beos"}, "install the package avrdude"),
    "nothing known": ({}, "install the package avrdude"),
}


@pytest.mark.parametrize("which", RELEASES)
def test_a_missing_package_comes_with_the_distributions_own_command(which: str) -> None:
    release, command = RELEASES[which]
    assert install_command("avrdude", release) == command


# ---------------------------------------------------------------------- the udev rule

MATCHES = {"ACTION", "SUBSYSTEM", "DRIVER", "ATTRS", "ENV"}
ASSIGNMENTS = {"ENV", "GROUP", "MODE", "TAG", "ATTR", "GOTO", "LABEL"}
TOKEN = re.compile(r'([A-Z]+)(?:\{([A-Za-z_]+)\})?(==|!=|\+=|=)"([^"]*)"')


def parsed_rule() -> list[list[tuple[str, str, str, str]]]:
    """The rule's lines as (key, attribute, operator, value), each character accounted for."""
    lines = []
    for line in rule().splitlines():
        if not line or line.startswith("#"):
            continue
        tokens = TOKEN.findall(line)
        assert ", ".join(f'{key}{f"{{{name}}}" if name else ""}{op}"{value}"' for key, name, op, value in tokens) == line
        lines.append(tokens)
    return lines


def test_every_line_of_the_udev_rule_is_one_that_udev_understands() -> None:
    for tokens in parsed_rule():
        for key, name, operator, _ in tokens:
            assert key in (MATCHES if operator in ("==", "!=") else ASSIGNMENTS)
            assert bool(name) == (key in ("ATTRS", "ATTR", "ENV"))
        kinds = [operator in ("==", "!=") for _, _, operator, _ in tokens]
        assert kinds == sorted(kinds, reverse=True), "matches come before assignments"
    values = {key: [t[3] for tokens in parsed_rule() for t in tokens if t[0] == key] for key in ("GOTO", "LABEL")}
    assert set(values["GOTO"]) == set(values["LABEL"]) == {"launchrig_end"}


def applied(**device: str) -> dict[str, str]:
    """What the rule sets for a device; a small udev. `_` in a name stands for the attribute's braces."""
    state = dict(device)
    result: dict[str, str] = {}
    skipping = ""
    for tokens in parsed_rule():
        if skipping and ("LABEL", "", "=", skipping) not in tokens:
            continue
        skipping = ""
        matches = [t for t in tokens if t[2] in ("==", "!=")]
        holds = all(
            (state.get(f"{key}_{name}" if name else key, "") in value.split("|")) == (op == "==")
            for key, name, op, value in matches
        )
        if not holds:
            continue
        for key, name, op, value in tokens:
            if key == "GOTO":
                skipping = value
            elif op in ("=", "+=") and key != "LABEL":
                state[f"{key}_{name}" if name else key] = result[f"{key}_{name}" if name else key] = value
    return result


def test_the_rule_gives_a_board_to_whoever_sits_there_and_keeps_modem_manager_off() -> None:
    for vendor, product in known_usb():
        usb = {"ATTRS_idVendor": f"{vendor:04x}", "ATTRS_idProduct": f"{product:04x}", "ACTION": "add"}
        port = applied(SUBSYSTEM="tty", **usb)
        assert (port["GROUP"], port["MODE"], port["TAG"], port["ENV_ID_MM_DEVICE_IGNORE"]) == ("dialout", "0660", "uaccess", "1")
        assert applied(SUBSYSTEM="usb", **usb)["ENV_ID_MM_DEVICE_IGNORE"] == "1"
        assert "MODE" not in applied(SUBSYSTEM="usb", **usb)
    ftdi = applied(SUBSYSTEM="usb-serial", DRIVER="ftdi_sio", ATTRS_idVendor="0403", ATTRS_idProduct="6001", ACTION="add")
    assert ftdi["ATTR_latency_timer"] == "1"


def test_the_rule_leaves_everything_else_alone() -> None:
    assert applied(SUBSYSTEM="tty", ATTRS_idVendor="2341", ATTRS_idProduct="8036", ACTION="add") == {}
    assert applied(SUBSYSTEM="block", ATTRS_idVendor="2341", ATTRS_idProduct="0043", ACTION="add") == {}
    assert applied(SUBSYSTEM="tty", ATTRS_idVendor="2341", ATTRS_idProduct="0043", ACTION="remove") == {}


def test_the_boards_and_bridges_of_unos_are_known() -> None:
    wanted = {(0x2341, 0x0043), (0x2341, 0x0001), (0x2A03, 0x0043), (0x1A86, 0x7523), (0x0403, 0x6001), (0x10C4, 0xEA60)}
    assert wanted <= known_usb()


def test_every_beam_and_switch_has_a_check() -> None:
    assert {channel.name for channel in Channel} <= set(CHECKS)
