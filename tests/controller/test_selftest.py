# SPDX-License-Identifier: Apache-2.0
"""A self-test exercises what it says, fails where something is broken, and never passes what it did not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from controller.selftest import SelftestRequest, exit_of, selftest
from controller.verdict import Exit
from rig.errors import RefusedRequestError, StopAskedError
from rig.exercise import Exercise, Outcome, Row
from rig.firmware import packaged
from rig.open import open_rig
from rig.operator import NoOperator
from rig.rig import Rig
from rig.selfcheck import Bench
from rig.wire.messages import STOP_SEND, Launcher, Output, Power, Wiring
from rig.wired import SLOTS, WIRED
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


@pytest.mark.parametrize("launcher", Launcher)
@pytest.mark.parametrize("seed", range(4))
def test_a_lossy_link_makes_no_false_failure(seed: int, launcher: Launcher) -> None:
    rig = open_rig(f"faulty+twin:{launcher.name}?seed={seed}&corrupt=0.01&drop=0.005&duplicate=0.005&fault_seed={seed}")
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


# ---------------------------------------------------------------------- the blaster

SLOT_PINS = ("D5", "D6", "D7", "D9", "D10", "D11")
RESET_PIN, POWER_PIN = "D12", "A5"


@pytest.mark.parametrize("slots", range(1, 7))
def test_a_sound_blaster_passes_with_any_number_of_slots(slots: int) -> None:
    rig = open_rig(f"twin:blast?seed=7&slots={slots}")
    rows = exercised(rig, press=True)
    rig.close()
    assert bad(rows) == set()
    wired = {f"output.{output.name}" for output in (*SLOTS[:slots], Output.reset, Output.power)}
    assert {name for name in rows if name.startswith("output.")} == wired
    assert not {"rest.lid", "sensor.lid", "rule.reverse", "drive.press", "drive.roller"} & set(rows)
    assert {"rule.one_at_a_time", "rule.rest", "rule.duty", "drive.reset", "drive.latch"} <= set(rows)
    assert rows["drive.reset"].saw == "accepted, ok"


def seen_on(url: str, *, press: bool) -> tuple[dict[str, Row], list[set[str]]]:
    """The rows of a self-test, and which pins were driven at each look, those of nothing left out."""
    rig = open_rig(url)
    seen: list[set[str]] = []

    def look() -> bool:
        if pins := driven(bench_of(rig)):
            seen.append(pins)
        return False

    rows = {row.name: row for row in Exercise(Bench(rig, look), Wiring.button, press=press).steps()}
    rig.close()
    return rows, seen


def test_at_the_blaster_no_pin_is_driven_that_it_does_not_have_and_the_toy_without_power_is_not_pressed() -> None:
    rows, seen = seen_on("twin:blast?seed=7&slots=3", press=False)
    assert bad(rows) == set()
    assert set().union(*seen) == {*SLOT_PINS[:3], RESET_PIN, POWER_PIN}
    assert all(len(pins) == 1 for pins in seen), "one at a time, and the toy's buttons only while it has no power"
    assert "drive.reset" not in rows


def test_with_press_the_resets_button_is_pressed_on_the_toy_that_has_power() -> None:
    rows, seen = seen_on("twin:blast?seed=7&slots=3", press=True)
    assert bad(rows) == set()
    assert {RESET_PIN, POWER_PIN} in seen
    assert not any({POWER_PIN, pin} <= pins for pins in seen for pin in SLOT_PINS)


def test_what_the_blaster_has_not_is_left_out_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code = selftest(SelftestRequest("twin:blast?seed=7&slots=5", None, "auto", False, True), Console())
    told = json.loads(capsys.readouterr().out)
    assert (code, told["launcher"], told["slots"], told["wiring"]) == (0, "blast", 5, "button")
    why = {each["name"]: each["why"] for each in told["left_out"]}
    assert set(why) == {
        *(f"output.{name}" for name in ("slot6", "roller", "reverse", "launch")),
        "sensor.lid",
        "sensor.sound",
        "drive.reset",
    }
    assert why["output.slot6"].startswith("not wired: the bench has 5 slots")
    assert "--press" in why["drive.reset"]


@pytest.mark.parametrize("launcher", Launcher)
@pytest.mark.parametrize("slots", range(1, 7))
def test_every_output_is_exercised_or_left_out_and_none_is_both(launcher: Launcher, slots: int) -> None:
    wired = WIRED[launcher]
    there = {f"output.{output.name}" for output in wired.outputs(slots)} | {"output.power"}
    missing = {name for name in wired.left_out(slots) if name.startswith("output.")}
    assert there | missing == {f"output.{output.name}" for output in Output}
    assert not there & missing


def test_the_blaster_is_not_exercised_in_a_wiring_that_it_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RefusedRequestError, match="wiring direct: a blaster has only wiring button"):
        selftest(SelftestRequest("twin:blast?seed=7", Wiring.direct, "auto", False, False), Console())
    assert capsys.readouterr().out == ""


def test_a_stored_wiring_that_the_blaster_does_not_have_does_not_matter() -> None:
    assert WIRED[Launcher.blast].wiring(None, Wiring.direct) is Wiring.button
    assert WIRED[Launcher.roller].wiring(None, Wiring.direct) is Wiring.direct


def test_a_blaster_whose_sound_is_not_heard_fails() -> None:
    rig = open_rig("twin:blast?seed=7")
    bench_of(rig).avr.edges = lambda edges: None  # type: ignore[method-assign]  # its sound and its beams are off
    rows = exercised(rig, press=True)
    rig.close()
    assert {"drive.reset"} <= bad(rows)
    assert rows["drive.reset"].saw.startswith("not accepted")
    assert rows["drive.latch"].outcome is Outcome.ok, "the current tells of the latch all the same"


def test_a_blaster_whose_latch_draws_nothing_fails() -> None:
    rig = open_rig("twin:blast?seed=7")
    bench_of(rig).avr.analog = lambda channel, points: None  # type: ignore[method-assign]  # the shunt's leads are off
    rows = exercised(rig, press=True)
    rig.close()
    assert bad(rows) == {"drive.latch"}
    assert rows["drive.latch"].saw.startswith("0 mA at most, latch driven for 0 ms")


def test_a_blaster_that_is_asleep_is_pressed_twice() -> None:
    rig = open_rig("twin:blast?seed=7&sleep_s=5")
    bench = Bench(rig, lambda: False)
    rows = {}
    for row in Exercise(bench, Wiring.button, press=True).steps():
        rows[row.name] = row
        if row.name == "output.power":  # the step before the press
            bench.board.demand(Power(1))
            bench.serve(6.0)
    truth = bench_of(rig).plant.truth()  # type: ignore[attr-defined]
    rig.close()
    assert bad(rows) == set()
    assert rows["drive.reset"].saw == "accepted, held"
    assert rows["drive.latch"].did == "pressed it again, since the toy was asleep"
    assert [each.asleep for each in truth if each.kind == "reset" and each.accepted] == [True, False]


FORGETFUL_COIL = {
    "its rest": (bytes.fromhex("5000 0000 9001 04 ff fc03"), "rule.rest"),
    "its full duty": (bytes.fromhex("5000 c800 9001 04 0a fc03"), "rule.duty"),
}


@pytest.mark.parametrize("what", FORGETFUL_COIL)
def test_a_blaster_whose_guard_has_forgotten_a_coils_limit_fails(what: str, tmp_path: Path) -> None:
    after, name = FORGETFUL_COIL[what]
    elf = tmp_path / "forgetful.elf"
    elf.write_bytes(packaged("elf").read_bytes().replace(SLOT1, after, 1))
    rig = open_rig(f"twin:blast?seed=7&elf={elf}")
    rows = exercised(rig)
    rig.close()
    assert bad(rows) == {name}


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
    assert list(told) == [
        "launchrig",
        "rig",
        "launcher",
        "slots",
        "wiring",
        "rows",
        "left_out",
        "fault",
        "outputs_off",
        "exit_code",
    ]
    assert (code, told["exit_code"], told["wiring"], told["outputs_off"], told["fault"]) == (0, 0, "button", True, "")
    assert {each["name"] for each in told["left_out"]} == {"drive.press", "drive.roller"}
    assert (told["launcher"], told["slots"]) == ("roller", None)
    for row in told["rows"]:
        assert list(row) == ["name", "did", "expects", "saw", "outcome"]
        assert row["outcome"] == "ok"
