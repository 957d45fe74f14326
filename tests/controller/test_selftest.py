# SPDX-License-Identifier: Apache-2.0
"""A self-test exercises what it says, fails where something is broken, and never passes what it did not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from controller.selftest import LEFT_OUT, SelftestRequest, exit_of, selftest
from controller.verdict import Exit
from rig.errors import StopAskedError
from rig.exercise import Exercise, Outcome, Row
from rig.firmware import packaged
from rig.open import open_rig
from rig.operator import NoOperator
from rig.rig import Rig
from rig.selfcheck import Bench
from rig.wire.messages import STOP_SEND, Output, Wiring
from tests.twins import OtherLink, bench_of, driven

PINS = {"D3", "D4", "D5", "D6", "D7", "D9", "D10", "D11", "A2", "D12", "A5"}
"""Every output's pin, from `docs/wiring.md`."""


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig("twin:roller?seed=7")
    yield rig
    rig.close()


def exercised(rig: Rig, drive: Wiring = Wiring.button, *, press: bool = False) -> dict[str, Row]:
    return {row.name: row for row in Exercise(Bench(rig, lambda: False), drive, press=press).steps()}


def bad(rows: dict[str, Row]) -> set[str]:
    return {name for name, row in rows.items() if row.outcome is not Outcome.ok}


@pytest.mark.parametrize("drive", Wiring)
def test_a_sound_bench_passes_and_only_what_its_wiring_has_is_exercised(drive: Wiring, twin: Rig) -> None:
    rows = exercised(twin, drive, press=True)
    assert bad(rows) == set()
    assert {f"output.{output.name}" for output in Output} <= set(rows)
    assert ("drive.press" in rows) == ("sensor.sound" in rows) == (drive is Wiring.button)
    assert ("drive.roller" in rows) == (drive is Wiring.direct)


def test_every_outputs_pin_is_driven_one_at_a_time_and_none_at_the_end(twin: Rig) -> None:
    seen: list[set[str]] = []

    def look() -> bool:
        seen.append(driven(bench_of(twin)))
        return False

    bench = Bench(twin, look)
    assert all(row.outcome is Outcome.ok for row in Exercise(bench, Wiring.button, press=False).steps())
    assert set().union(*seen) == PINS
    assert all(len(pins) <= 1 for pins in seen)
    assert driven(bench_of(twin)) == set()


def test_without_press_the_toys_button_is_touched_only_while_the_toy_has_no_power(twin: Rig) -> None:
    seen: list[set[str]] = []

    def look() -> bool:
        seen.append(driven(bench_of(twin)))
        return False

    rows = list(Exercise(Bench(twin, look), Wiring.button, press=False).steps())
    assert "drive.press" not in {row.name for row in rows}
    assert any("A2" in pins for pins in seen)
    assert not any({"A2", "A5"} <= pins for pins in seen)
    assert [each for each in bench_of(twin).plant.truth() if each.drive == "button"] == []  # type: ignore[attr-defined]


def test_nobody_at_the_bench_is_no_pass(twin: Rig) -> None:
    twin.operator = NoOperator()
    rows = exercised(twin)
    assert bad(rows) == {f"sensor.{name}" for name in ("beam_a", "beam_b", "lid", "sound", "interlock")}
    assert all(rows[name].outcome is Outcome.skipped for name in bad(rows))
    assert exit_of(list(rows.values()), "", safe=True) is Exit.inconclusive


def test_a_blind_beam_shows_when_a_card_passes_it() -> None:
    rig = open_rig("twin:roller?seed=7&beam=blind")
    rows = exercised(rig)
    rig.close()
    assert bad(rows) == {"sensor.beam_a", "sensor.beam_b"}
    assert rows["sensor.beam_a"].saw == "nothing"


def test_an_open_interlock_fails_and_nothing_is_energised(twin: Rig) -> None:
    bench_of(twin).by_hand("interlock", True)
    twin.operator = NoOperator()
    seen: set[str] = set()

    def look() -> bool:
        seen.update(driven(bench_of(twin)))
        return False

    rows = {row.name: row for row in Exercise(Bench(twin, look), Wiring.button, press=True).steps()}
    assert rows["rest.interlock"].outcome is Outcome.fail
    assert rows["outputs"].outcome is Outcome.skipped
    assert seen == set()
    assert exit_of(list(rows.values()), "", safe=True) is Exit.failed


def test_a_latched_fault_is_cleared_and_told(twin: Rig) -> None:
    twin.link.clock.sleep(0.5)
    twin.link.write(bytes(STOP_SEND))
    rows = exercised(twin)
    assert bad(rows) == set()
    assert rows["fault"].saw == "cleared stop_received"


def test_a_stop_that_does_not_come_through_fails(twin: Rig) -> None:
    twin.link = OtherLink(twin.link, out=lambda data: data.replace(bytes(STOP_SEND), b""))
    rows = exercised(twin)
    assert {"stop", "rule.latched"} <= bad(rows)
    assert "power" in rows["stop"].saw


SLOT1 = bytes.fromhex("5000 c800 9001 04 ff fc03")  # its row of the guard's limits, `src/core/guard.cpp`
ROLLER = bytes.fromhex("5014 6400 1027 01 14 0300")
FORGETFUL = {
    "a coil's rest": (SLOT1, bytes.fromhex("5000 0000 9001 04 ff fc03"), "rule.rest"),
    "the roller's least duty": (ROLLER, bytes.fromhex("5014 6400 1027 01 0a 0300"), "rule.duty"),
}


@pytest.mark.parametrize("what", FORGETFUL)
def test_a_guard_that_has_forgotten_a_limit_fails(what: str, tmp_path: Path) -> None:
    before, after, name = FORGETFUL[what]
    elf = tmp_path / "forgetful.elf"
    image = packaged("elf").read_bytes()
    assert before in image
    elf.write_bytes(image.replace(before, after, 1))
    rig = open_rig(f"twin:roller?seed=7&elf={elf}")
    rows = exercised(rig)
    rig.close()
    assert bad(rows) == {name}
    assert rows[name].saw.startswith("ok, ")


@pytest.mark.parametrize("seed", range(4))
def test_a_lossy_link_makes_no_false_failure(seed: int) -> None:
    rig = open_rig(f"faulty+twin:roller?seed={seed}&corrupt=0.01&drop=0.005&duplicate=0.005&fault_seed={seed}")
    rows = exercised(rig)
    rig.close()
    assert {name for name, row in rows.items() if row.outcome is Outcome.fail} == set()


def test_what_a_link_is_too_slow_for_is_skipped_and_not_failed() -> None:
    rig = open_rig("faulty+twin:roller?seed=7&delay=0.5&delay_ms=200&fault_seed=1")
    rows = exercised(rig)
    rig.close()
    assert {row.outcome for name, row in rows.items() if name in bad(rows)} == {Outcome.skipped}
    assert "too slow" in rows["output.slot1"].saw
    assert exit_of(list(rows.values()), "", safe=True) is Exit.inconclusive


def test_a_motor_that_draws_nothing_fails_in_direct_drive(twin: Rig) -> None:
    bench = Bench(twin, lambda: False)
    steps = Exercise(bench, Wiring.direct, press=False).steps()
    avr, plant = bench_of(twin).avr, bench_of(twin).plant
    plant.output = lambda cycle, signal, value: None  # type: ignore[method-assign]  # its leads are off
    avr.analog(0, [(avr.cycle, 0.0)])
    rows = {row.name: row for row in steps}
    assert bad(rows) == {"drive.roller"}
    assert rows["drive.roller"].saw == "0 mA"


def test_the_end_may_be_asked_for_in_the_middle(twin: Rig) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 40

    bench = Bench(twin, stop)
    with pytest.raises(StopAskedError):
        list(Exercise(bench, Wiring.button, press=False).steps())
    assert bench.safe_state()
    assert driven(bench_of(twin)) == set()


OK, FAIL, SKIPPED = (Row("name", "did", "expects", "saw", outcome) for outcome in (Outcome.ok, Outcome.fail, Outcome.skipped))
CODES: list[tuple[list[Row], str, bool, Exit]] = [
    ([OK], "", True, Exit.passed),
    ([OK, SKIPPED], "", True, Exit.inconclusive),
    ([OK, SKIPPED, FAIL], "", True, Exit.failed),
    ([OK], "the link was lost", True, Exit.rig_fault),
    ([OK], "", False, Exit.rig_fault),
    ([], "", True, Exit.inconclusive),
]


@pytest.mark.parametrize(("rows", "fault", "safe", "code"), CODES)
def test_the_exit_code_is_never_better_than_the_worst_row(rows: list[Row], fault: str, safe: bool, code: Exit) -> None:
    assert exit_of(rows, fault, safe) is code


def test_the_json_tells_each_row_and_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    code = selftest(SelftestRequest("twin:roller?seed=7", None, "auto", False, True), Console())
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["launchrig", "rig", "wiring", "rows", "left_out", "fault", "outputs_off", "exit_code"]
    assert (code, told["exit_code"], told["wiring"], told["outputs_off"], told["fault"]) == (0, 0, "button", True, "")
    assert {each["name"] for each in told["left_out"]} == {"drive.press", "drive.roller"} <= set(LEFT_OUT)
    for row in told["rows"]:
        assert list(row) == ["name", "did", "expects", "saw", "outcome"]
        assert row["outcome"] == "ok"
