# SPDX-License-Identifier: Apache-2.0
"""What a board is set up for is told as it is, stored so that it lasts, and refused where it makes no sense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from controller import cli
from controller.bench import BenchRequest, bench, changes, described, set_up, words
from rig.errors import RefusedRequestError, RigFaultError
from rig.open import open_rig
from rig.rig import Rig
from rig.selfcheck import Bench
from rig.wire.frame import Framer, encode
from rig.wire.messages import SETTINGS, STOP_SEND, Launcher, Value, Wiring
from rig.wired import WIRED
from tests.twins import OtherLink, bench_of, driven

NOTHING = BenchRequest("/dev/ttyACM0", None, None, None, False)
ROLLER = {"launcher": Launcher.roller, "slots": 4, "wiring": Wiring.button}
DIRECT = ROLLER | {"wiring": Wiring.direct}
BLAST = ROLLER | {"launcher": Launcher.blast}


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig("twin:roller?seed=7")
    yield rig
    rig.close()


def never() -> bool:
    return False


CHANGES = {
    "nothing asked for": (BLAST | {"wiring": Wiring.direct}, {}, {}),
    "a blaster where a roller was": (ROLLER, {"launcher": Launcher.blast}, {"launcher": 1}),
    "one that ran its roller itself": (DIRECT, {"launcher": Launcher.blast, "slots": 6}, {"wiring": 0, "slots": 6, "launcher": 1}),
    "other slots": (BLAST, {"slots": 2}, {"slots": 2}),
    "the same once more": (BLAST, {"launcher": Launcher.blast, "slots": 4, "wiring": Wiring.button}, {}),
    "a wiring": (ROLLER, {"wiring": Wiring.direct}, {"wiring": 1}),
    "a roller where a blaster was": (BLAST, {"launcher": Launcher.roller, "wiring": Wiring.direct}, {"wiring": 1, "launcher": 0}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_only_what_differs_is_written_and_the_launcher_last(what: str) -> None:
    now, asked, written = CHANGES[what]
    found = changes(now, replace(NOTHING, **asked))  # type: ignore[arg-type]
    assert list(found.items()) == list(written.items())


REFUSED = {
    "slots of a roller": (ROLLER, {"slots": 3}, "--slots: a roller launcher has no slots"),
    "slots of a roller to come": (BLAST, {"launcher": Launcher.roller, "slots": 3}, "--slots"),
    "a blaster that the rig runs": (BLAST, {"wiring": Wiring.direct}, "wiring direct: a blaster has only wiring button"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused(what: str) -> None:
    now, asked, said = REFUSED[what]
    with pytest.raises(RefusedRequestError, match=said):
        changes(now, replace(NOTHING, **asked))  # type: ignore[arg-type]


def test_every_launcher_has_its_table_row() -> None:
    assert set(WIRED) == set(Launcher)


def test_what_is_set_outlasts_a_loss_of_power_and_nothing_is_energised(twin: Rig) -> None:
    seen: set[str] = set()

    def look() -> bool:
        seen.update(driven(bench_of(twin)))
        return False

    opened = Bench(twin, look)
    asked = replace(NOTHING, launcher=Launcher.blast, slots=6)
    found, written = set_up(opened, asked)
    assert written == ["slots", "launcher"]
    assert described(found) == {"launcher": "blast", "slots": 6, "wiring": "button"}
    assert opened.safe_state()
    assert seen == set()
    bench_of(twin).reset(power_on=True)
    again = Bench(twin, never)
    assert again.board.boot.launcher == Launcher.blast
    assert set_up(again, NOTHING) == (found, [])
    assert set_up(again, asked) == (found, []), "it is so already"


def test_all_that_can_be_set_is_stored() -> None:
    assert {name for name, setting in SETTINGS.items() if setting.stored} == {"launcher", "slots", "wiring"}


def test_with_a_latched_fault_nothing_is_set(twin: Rig) -> None:
    twin.link.clock.sleep(0.5)
    twin.link.write(bytes(STOP_SEND))
    opened = Bench(twin, never)
    with pytest.raises(RigFaultError, match="latched stop_received and nothing was set"):
        set_up(opened, replace(NOTHING, launcher=Launcher.blast))
    found, _ = set_up(opened, NOTHING)
    assert described(found) == {"launcher": "roller", "slots": None, "wiring": "button"}


def always_a_roller(data: bytes) -> bytes:
    """What a board says, the value of its launcher in it always that of a roller."""
    forgotten = bytes([SETTINGS["launcher"].key, Launcher.roller, 0, 0, 0])
    frames = [frame for frame in Framer().feed(data) if frame]
    said = [replace(f, payload=forgotten) if f.type == Value.TYPE and f.payload[:1] == forgotten[:1] else f for f in frames]
    return b"".join(map(encode, said))


def test_a_board_that_does_not_keep_what_it_was_told_is_found_out(twin: Rig) -> None:
    twin.link = OtherLink(twin.link, into=always_a_roller)
    with pytest.raises(RigFaultError, match="launcher: the board was told 1 and says 0"):
        set_up(Bench(twin, never), replace(NOTHING, launcher=Launcher.blast))


def test_a_twins_bench_is_told_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(replace(NOTHING, rig="twin:blast?seed=7&slots=3"), Console(soft_wrap=True)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "  launcher  a blaster",
        "  slots     3 slots wired (how many the toy has is not verified)",
        "  wiring    wiring button, so the toy decides",
        "outputs off, confirmed",
    ]
    assert bench(replace(NOTHING, rig="twin:blast?seed=7&slots=3", json_wanted=True), Console()) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["launchrig", "rig", "board", "launcher", "slots", "wiring", "stored", "outputs_off", "exit_code"]
    assert (told["launcher"], told["slots"], told["wiring"], told["stored"]) == ("blast", 3, "button", [])
    assert (told["outputs_off"], told["exit_code"]) == (True, 0)


def test_a_roller_has_no_line_of_slots() -> None:
    assert list(words(described(ROLLER))) == ["launcher", "wiring"]


BAD = {
    "no slot": (["--rig", "/dev/ttyACM9", "--slots", "0"], "'0' is not a whole number of slots from 1 to 6"),
    "more slots than outputs": (["--rig", "/dev/ttyACM9", "--slots", "7"], "'7' is not a whole number of slots from 1 to 6"),
    "slots in words": (["--rig", "/dev/ttyACM9", "--slots", "four"], "'four' is not a whole number"),
    "half a slot": (["--rig", "/dev/ttyACM9", "--slots", "1.5"], "'1.5' is not a whole number"),
    "an unknown machine": (["--rig", "/dev/ttyACM9", "--launcher", "blaster"], "'blaster' is neither roller nor blast"),
    "an unknown wiring": (["--rig", "/dev/ttyACM9", "--wiring", "both"], "'both' is neither button"),
    "no rig": (["--launcher", "blast"], "--rig"),
    "what names no rig": (["--rig", "nonsense"], "names no rig"),
    "a twin": (["--rig", "twin:roller", "--launcher", "blast"], "what is set in a twin ends with it"),
    "a twin behind faults": (["--rig", "faulty+twin:roller?seed=1", "--slots", "3"], "twin:blast?slots=4"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, said = BAD[what]
    assert cli.run(["bench", *arguments]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert said in line
    assert captured.out == ""
