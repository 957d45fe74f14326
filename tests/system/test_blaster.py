# SPDX-License-Identifier: Apache-2.0
"""The blaster, end to end on the real firmware, judged against the truth."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controller.campaigns.plan import Wanted, planned
from controller.odds.write import check_odds
from controller.products import odds_of
from controller.run import conduct
from controller.signals import StopFlag
from controller.store.records import RunData
from controller.store.store import Store
from rig.launcher import Driver
from rig.open import open_rig
from rig.requests import InsertRequest, ResetRequest
from rig.rig import Rig
from rig.slots import EMPTY
from rig.trial import TrialRecord
from rig.wire.messages import TICK_HZ
from tests.system.conftest import LAUNCHRIG, Demo
from tests.system.processes import COILS, PACE_S, Case, Moment, Pins, end, judge, twin
from tests.system.test_bad_input import failing
from tests.system.test_demo import PRODUCTS
from tests.system.test_vcd import read
from tests.twins import bench_of, launcher_on

pytestmark = pytest.mark.xdist_group("blaster")

SOUND = "partial=0&latch_fault=0&double_feed=0"
FAULTS = "partial=0.08&latch_fault=0.06&jam=0.03&double_feed=0.05"
HOLDS = f"twin:blast?{SOUND}&jam=0&brain=constant&p_blast=0"
"""A blaster that never lets go by itself."""


def shell(*arguments: str, code: int = 0) -> str:
    """What `launchrig` says on both streams."""
    done = subprocess.run([LAUNCHRIG, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


# ---------------------------------------------------------------------- the main job


@pytest.fixture
def sound(demo: Callable[..., Demo]) -> Demo:
    return demo("--rig", f"twin:blast?{SOUND}", "--trials", "240", "--seed", "5")


def test_the_demo_writes_every_product_and_its_truth_is_what_was_measured(sound: Demo) -> None:
    assert {path.name for path in sound.out.iterdir()} >= PRODUCTS
    said = sound.process.stdout
    for words in ("240 inserts and resets on twin:blast", "outputs off, confirmed", "recovered against true values"):
        assert words in said
    assert set(re.findall(r"(\w+) whose (?:verdict differs|cards differ) from the truth +0 *\n", said)) == {
        *("inserts", "resets", "trials")
    }
    assert "card ledger: every counted fill of" in said
    check_odds(sound.odds)
    assert (sound.odds["launcher"], sound.odds["simulated"]) == ("blast", True)
    pairs = sound.pairs()
    assert len(pairs) == 240
    for trial, true in pairs:
        assert trial["kind"] == true["kind"]
        assert (trial["verdict"], int(trial["cleared"]), int(trial["loaded"])) == (true["cause"], true["cleared"], true["loaded"])
        assert (trial["slot"], trial["insert"]) == (str(true["slot"] or ""), str(true["insert"] or ""))


def test_a_seed_reproduces_trials_and_odds_to_the_byte(sound: Demo, demo: Callable[..., Demo]) -> None:
    first_csv, first_odds = (sound.out / "trials.csv").read_bytes(), sound.odds
    again = demo("--rig", f"twin:blast?{SOUND}", "--trials", "240", "--seed", "5", again=True)
    assert (again.out / "trials.csv").read_bytes() == first_csv
    assert again.odds | {"created_at": ""} == first_odds | {"created_at": ""}


def test_a_run_shows_its_rounds(sound: Demo) -> None:
    shown = shell("runs", "show", "last", "--store", str(sound.out / "runs.sqlite"))
    assert re.search(r"rounds +\d+, ended by blast \d+", shown)
    assert "launcher            blast, drive button" in shown


def test_a_bad_line_is_no_other_blaster(demo: Callable[..., Demo]) -> None:
    done = demo("--rig", f"faulty+twin:blast?{SOUND}&corrupt=0.005&drop=0.002&fault_seed=4", "--trials", "60", "--seed", "5")
    for trial, true in done.pairs():
        if not trial["spoiled"]:
            assert (trial["verdict"], int(trial["cleared"])) == (true["cause"], true["cleared"])


# ---------------------------------------------------------------------- every verdict where the truth has it


class Played:
    """A campaign in this process, and its truth by trial."""

    def __init__(self, url: str, trials: int, where: Path, **wanted: Any) -> None:
        asked = Wanted("demo", trials, **({"pace_s": 3.0} | wanted))
        with Store.open(where / "runs.sqlite") as store:
            rig = open_rig(url)
            try:
                outcome = conduct(
                    *(rig, store, lambda launcher, settings: planned(asked, launcher, settings, rig)),
                    kind="demo",
                    dut="x",
                    stop=StopFlag(),
                    on_progress=lambda progress: None,
                )
                assert outcome.status == "complete", outcome.cause
                self.data: RunData = store.load(outcome.run_id)
                assert rig.truth is not None
                told = rig.truth([(trial.number, trial.tick) for trial in self.data.trials], outcome.stretches)
                self.coils = bench_of(rig).coils
            finally:
                rig.close()
        self.pairs = list(zip(self.data.trials, told["trials"], strict=True))


CASES = [
    ("hidden_slot", 1, 1, "random"),
    ("hidden_slot", 4, 2, "random"),
    ("hidden_slot", 6, 3, "sequential"),
    ("constant", 2, 4, "fixed"),
    ("constant", 4, 5, "random"),
    ("creeping", 1, 6, "sequential"),
    ("creeping", 4, 7, "fixed:4,1,3,2"),
    ("creeping", 6, 8, "random"),
]


@pytest.mark.parametrize(("brain", "slots", "seed", "order"), CASES)
def test_each_verdict_is_found_where_the_truth_has_it_and_nowhere_else(
    brain: str, slots: int, seed: int, order: str, tmp_path: Path
) -> None:
    """Two cards that leave as one are seen as one. Until the next fill the books then have a card that is not there."""
    run = Played(f"twin:blast?seed={seed}&brain={brain}&slots={slots}&{FAULTS}", 90, tmp_path, order=order)
    hidden: Counter[int] = Counter()
    for trial, true in run.pairs:
        assert trial.cleared == true["cleared"] - true["double_feeds"], true
        hidden[trial.fill] += true["double_feeds"]
        if not hidden[trial.fill]:
            told = (trial.verdict, trial.loaded, trial.insert, trial.accepted, trial.toy == "asleep")
            assert told == tuple(true[name] for name in ("cause", "loaded", "insert", "accepted", "asleep")), trial
        elif true["double_feeds"] and not true["jammed"]:
            assert trial.verdict in ("partial", "latch_fault")
    assert {fill.number: fill.difference for fill in run.data.fills} == {
        fill.number: hidden[fill.number] for fill in run.data.fills
    }
    assert len({trial.verdict for trial, _ in run.pairs}) >= 4
    assert run.coils.overlaps == 0


# ---------------------------------------------------------------------- sleep


class Bench:
    """A blaster whose loader is full, one trial at a time, on a rig of its own."""

    def __init__(self, rig: Rig, slots: int = 4) -> None:
        self.driver: Driver = launcher_on(rig)
        self.rig = rig
        self.made: list[TrialRecord] = []
        self.driver.prepare()
        rig.operator.load(slots, self.driver.idle)
        self.driver.keep_books(EMPTY.filled(slots))

    def _tick(self, after_s: float) -> int:
        last = self.made[-1].tick if self.made else None
        return 0 if last is None else last + round(after_s * TICK_HZ)

    def _perform(self, request: InsertRequest | ResetRequest) -> TrialRecord:
        self.made.append(self.driver.perform(request))
        return self.made[-1]

    def insert(self, slot: int, after_s: float = 3.0) -> TrialRecord:
        """`after_s` seconds after the trial before."""
        return self._perform(InsertRequest(len(self.made) + 1, 1, 0, self._tick(after_s), 4, slot))

    def reset(self, after_s: float = 3.0) -> TrialRecord:
        """`after_s` seconds after the trial before."""
        return self._perform(ResetRequest(len(self.made) + 1, 0, 0, self._tick(after_s), 4))

    def truth(self) -> list[dict[str, Any]]:
        assert self.rig.truth is not None
        told: list[dict[str, Any]] = self.rig.truth(
            [(trial.number, trial.tick) for trial in self.made], self.driver.board.stretches
        )["trials"]
        return told


@pytest.fixture
def bench() -> Iterator[Callable[[str], Bench]]:
    """Makes benches."""
    rigs: list[Rig] = []

    def make(url: str) -> Bench:
        rigs.append(open_rig(url))
        return Bench(rigs[-1])

    yield make
    for rig in rigs:
        rig.close()


def test_at_179_9_s_the_toy_is_awake_and_at_180_1_s_it_sleeps(bench: Callable[[str], Bench]) -> None:
    awake = bench(f"{HOLDS}&seed=1")
    awake.insert(1)
    taken = awake.insert(2, after_s=179.9)
    assert (taken.verdict, taken.accepted, taken.loaded, taken.toy) == ("held", True, 2, "awake")
    asleep = bench(f"{HOLDS}&seed=1")
    asleep.insert(1)
    ignored = asleep.insert(2, after_s=180.1)
    assert (ignored.verdict, ignored.reason, ignored.accepted, ignored.loaded) == ("rejected", "no_sound", False, 2)
    assert ignored.toy == "unknown", "so near to three minutes time does not tell"
    assert [[true["asleep"] for true in each.truth()] for each in (awake, asleep)] == [[False, False], [False, True]]


def test_asleep_a_reset_only_wakes_and_awake_it_ejects(bench: Callable[[str], Bench]) -> None:
    toy = bench(f"{HOLDS}&seed=1")
    toy.insert(1)
    toy.insert(2)
    woke = toy.reset(after_s=200.0)
    assert (woke.verdict, woke.toy, woke.cleared, woke.loaded) == ("held", "asleep", 0, 2)
    taken = toy.insert(3)
    assert (taken.verdict, taken.loaded) == ("held", 3), "the slots are as they were"
    ejected = toy.reset(after_s=179.9)
    assert (ejected.verdict, ejected.toy, ejected.cleared, ejected.loaded) == ("ok", "awake", 3, 3)
    assert [true["cause"] for true in toy.truth()] == [trial.verdict for trial in toy.made]


def test_a_reset_ejects_what_the_books_do_not_know_of(bench: Callable[[str], Bench]) -> None:
    toy = bench(f"{HOLDS}&seed=1")
    toy.insert(1)
    toy.insert(2)
    toy.driver.keep_books(EMPTY)  # as those of a board that was reset, with cards in the toy's slots
    ejected = toy.reset()
    assert (ejected.verdict, ejected.cleared, ejected.loaded, ejected.spoiled) == ("ok", 2, 0, "")
    assert toy.truth()[-1]["cause"] == "ok"


def test_the_hidden_trigger_survives_sleep_and_wake(bench: Callable[[str], Bench]) -> None:
    at = []
    for seed in range(6):
        releases = []
        for sleeps in (False, True):
            toy = bench(f"twin:blast?{SOUND}&jam=0&seed={seed}")
            for slot in (2, 4, 1, 3):
                if sleeps and toy.made:
                    assert toy.reset(after_s=185.0).verdict == "held"
                trial = toy.insert(slot)
                if trial.verdict == "blast":
                    releases.append((slot, trial.cleared))
                    break
        assert releases[0] == releases[1]
        at.append(releases[0][0])
    assert len(set(at)) > 1


def test_what_a_reset_ejects_in_mid_round_is_never_a_blast(tmp_path: Path) -> None:
    """The toy sleeps later than the rig believes, so that each reset that is to wake it ejects."""
    run = Played(f"{HOLDS}&seed=3&sleep_s=3600", 60, tmp_path, pace_s=240.0)
    resets = [trial for trial, _ in run.pairs if trial.kind == "reset"]
    assert sum(trial.cleared for trial in resets) == len(resets) == 30
    assert not any(trial.fired for trial, _ in run.pairs)
    odds = odds_of([run.data])
    assert odds["hazard"]["released"] == 0
    assert [(each["at_risk"], each["released"]) for each in odds["hazard"]["by_insert"]] == [(30, 0), (0, 0), (0, 0), (0, 0)]
    assert {event.data["ended"] for event in run.data.events if event.kind == "round"} == {"reset"}


def test_a_pace_of_four_minutes_finds_the_same_launcher(tmp_path: Path) -> None:
    run = Played(f"twin:blast?seed=3&{SOUND}&jam=0", 60, tmp_path, pace_s=240.0)
    assert [trial.verdict for trial, _ in run.pairs] == [true["cause"] for _, true in run.pairs]
    hazard = odds_of([run.data])["hazard"]
    rounds = Counter(trial.insert for trial, _ in run.pairs if trial.kind == "insert")
    assert [each["at_risk"] for each in hazard["by_insert"]] == [rounds[k] for k in (1, 2, 3, 4)]
    last = run.data.trials[-1].round
    for (before, _), (after, _) in pairwise(run.pairs):
        if before.round == after.round != last:
            assert (before.kind, after.kind) in {("insert", "reset"), ("reset", "insert")}


# ---------------------------------------------------------------------- what cannot be done


def moved(vcd: Path) -> dict[str, int]:
    """How often each coil went on, by its pin."""
    waves, _, _ = read(vcd)
    return {name: count for name in COILS if (count := sum(level == "1" for _, level in waves[name]))}


IMPOSSIBLE = {
    "a slot out of range": (["insert", "5"], "slot 5: this bench has slots 1 to 4", {}),
    "an occupied slot": (["insert", "2", "2"], "slot 2 holds a card, by the bookkeeping", {"D6": 1}),
    "an empty loader": (["insert", "4", "--fill", "3"], "slot 4: no card waits in its loader", {}),
    "slots that are not wired": (["demo", "--slots", "6"], "--slots 6: the bench has 4 slots wired, not 6", {}),
    "more cards than slots": (["demo", "--fill", "5"], "--fill 5: a loader holds one card a slot, 4 here", {}),
    "an order with such a slot": (["demo", "--order", "fixed:6,1"], "there is no slot 6", {}),
    "the roller's drive": (["demo", "--drive", "direct"], "--drive direct: a blaster has no roller", {}),
    "the roller's brain": (["demo", "--brain", "iid"], "--brain: it is the blaster's toy that decides", {}),
    "a press": (["press"], "launchrig insert or launchrig reset", {}),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_done_is_one_line_and_no_coil_moves(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, says, coils = IMPOSSIBLE[what]
    vcd, store = tmp_path / "pins.vcd", tmp_path / "runs.sqlite"
    place = ["--out", str(tmp_path)] if arguments[0] == "demo" else ["--store", str(store)]
    code, line = failing([*arguments, "--rig", f"{HOLDS}&seed=1", "--vcd", str(vcd), *place], capsys)
    assert code == 2
    assert says in line
    assert moved(vcd) == coils
    with Store.open(store) as opened:
        runs = opened.runs()
    assert {(run.status, run.safe_state) for run in runs} <= {("aborted by rule", "confirmed")}


ON_A_ROLLER = {
    "insert": (["insert"], "launchrig press"),
    "reset": (["reset"], "launchrig press"),
    "order": (["demo", "--order", "random"], "--order: a roller launcher has no slots"),
    "slots": (["demo", "--slots", "4"], "--slots: a roller launcher has no slots"),
}


@pytest.mark.parametrize("what", ON_A_ROLLER)
def test_a_roller_launcher_is_asked_for_nothing_that_a_blaster_does(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, says = ON_A_ROLLER[what]
    vcd = tmp_path / "pins.vcd"
    place = ["--out", str(tmp_path)] if arguments[0] == "demo" else ["--store", str(tmp_path / "runs.sqlite")]
    code, line = failing([*arguments, "--rig", "twin:roller?seed=1", "--vcd", str(vcd), *place], capsys)
    assert (code, moved(vcd)) == (2, {})
    assert says in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["insert", "7"],
        ["insert", "0"],
        ["insert", "one"],
        ["reset", "0"],
        ["demo", "--order", "fixed:1,1"],
        ["demo", "--slots", "7"],
    ],
    ids=" ".join,
)
def test_what_no_bench_can_do_is_refused_at_once(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(arguments, capsys)[0] == 2


# ---------------------------------------------------------------------- by hand


def test_inserts_and_resets_by_hand_are_a_line_each_and_kept(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.sqlite")
    said = shell("insert", "3", "1", "--rig", f"{HOLDS}&seed=1", "--store", store)
    assert said.splitlines()[:2] == [
        "1: held, slot 3, 0 of 1 cleared, latch 0 ms, toy awake, peak 0.07 A",
        "2: held, slot 1, 0 of 2 cleared, latch 0 ms, toy awake, peak 0.07 A",
    ]
    said = shell("insert", "--until-blast", "--rig", f"twin:blast?seed=3&{SOUND}", "--store", store)
    assert re.search(r"^(\d): blast, slot \1, \1 of \1 cleared, latch \d+ ms, toy awake, peak 0\.\d+ A$", said, re.MULTILINE)
    assert len(re.findall("blast,", said)) == 1
    said = shell("reset", "2", "--pace", "200s", "--rig", f"{HOLDS}&seed=1", "--store", store)
    assert [line.split(", peak")[0] for line in said.splitlines()[:2]] == [
        "1: ok, reset, 0 of 0 cleared, latch 80 ms, toy awake",
        "2: held, reset, 0 of 0 cleared, latch 0 ms, toy asleep",
    ]
    listed = shell("runs", "list", "--store", store)
    assert re.findall(r"(insert|reset) +blast +button", listed) == ["insert", "insert", "reset"]


# ---------------------------------------------------------------------- however a process ends

ENDED = (Moment("between", 2, 0.1), Moment("in a trial", 2, 0.7))


def ended_at(ending: str, moment: Moment, where: Path) -> Case:
    vcd, path = where / "pins.vcd", where / "runs.sqlite"
    with twin(vcd, f"{HOLDS}&seed=7&slots=6&bootloader=none") as port:
        command = [
            *(str(LAUNCHRIG), "insert", "1", "2", "3", "4", "5", "6", "--rig", port),
            *("--pace", f"{PACE_S:g}s", "--operator", "none", "--store", str(path)),
        ]
        ended = end(ending, command, path, moment)
        subprocess.run(["sleep", "0.6"], check=True)  # two leases
    with Store.open(path) as store:
        run = store.load("last")
    (life,) = (life for life in Pins(vcd).lives() if life.boot_count == run.run.firmware["boot_count"])
    return Case(ending, ended, run, life)


def test_however_a_process_ends_in_mid_round_all_is_off_and_kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    wanted = [(ending, moment, tmp_path_factory.mktemp(ending)) for ending in ("INT", "TERM", "KILL") for moment in ENDED]
    with ThreadPoolExecutor(len(wanted)) as pool:  # they mostly wait
        cases = list(pool.map(lambda each: ended_at(*each), wanted))
    for case in cases:
        print(case.ending, case.ended.moment, case.fell, case.ended.told)
        judge(case)
        assert case.run is not None
        trials, rounds = case.run.trials, [event.data["ended"] for event in case.run.events if event.kind == "round"]
        if all(trial.verdict == "held" for trial in trials[:-1]):  # on a machine that is too busy a line may be lost
            assert [(trial.round, trial.insert) for trial in trials[:-1]] == [(1, n) for n in range(1, len(trials))]
            assert rounds == ([] if case.ending == "KILL" else ["operator"])
    assert any(case.fell not in ("between trials", "no run yet") for case in cases), "none fell into a trial"


def test_lost_edges_are_a_fault_and_never_a_wrong_count(tmp_path: Path) -> None:
    """A line so bad that edges wait too long, some of them while the trial is handed over already."""
    url = "faulty+twin:blast?double_feed=0&corrupt=0.05&drop=0.01&slots=5&partial=0&jam=0&latch_fault=0&seed=6"
    run = Played(url, 80, tmp_path)
    told = [(trial, true) for trial, true in run.pairs if trial.verdict in ("blast", "held", "partial", "latch_fault")]
    inserts = [(trial, true) for trial, true in told if trial.kind == "insert"]
    assert len(inserts) > 30
    wrong = [trial.number for trial, true in inserts if (trial.verdict, trial.cleared) != (true["cause"], true["cleared"])]
    assert not wrong


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_question_stands_ends_with_4(by: signal.Signals, tmp_path: Path) -> None:
    command = [str(LAUNCHRIG), "insert", "1", "--rig", f"{HOLDS}&seed=1", "--operator", "console", "--store", str(tmp_path / "s")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        asked = ""
        while "press Enter" not in asked:
            asked += process.stdout.read(1)
        process.send_signal(by)
        process.wait(60)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read().count("\n") <= 1) == (4, True)


def test_a_terminal_that_is_closed_while_a_question_stands_ends_with_4(tmp_path: Path) -> None:
    command = [LAUNCHRIG, "insert", "1", "--rig", f"{HOLDS}&seed=1", "--operator", "console", "--store", tmp_path / "s"]
    master, slave = os.openpty()
    process = subprocess.Popen(["setsid", "--ctty", *command], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    asked = b""
    while b"press Enter" not in asked:
        asked += os.read(master, 4096)
    os.close(master)
    assert process.wait(60) == 4
    with Store.open(tmp_path / "s") as store:
        assert store.load("last").run.note == "stopped by SIGHUP"


def test_an_order_with_slots_that_get_no_card_is_refused(tmp_path: Path) -> None:
    asked = ("demo", "--rig", "twin:blast?slots=6", "--fill", "1", "--order", "fixed:6", "--out", str(tmp_path))
    assert "no card waits before slot 6" in shell(*asked, code=2)


def test_an_inconclusive_run_says_why(tmp_path: Path) -> None:
    url = "twin:blast?double_feed=0&sleep_s=170&brain=constant&p_blast=.1"
    asked = ("--rig", url, "--seed", "9", "--trials", "40", "--pace", "175s", "--out", str(tmp_path))
    assert re.search(r"inconclusive: \d+ of 40 trials told nothing, at most 5% may", shell("demo", *asked, code=3))


def test_a_burst_that_reaches_its_cap_without_a_blast_says_so(tmp_path: Path) -> None:
    asked = ("insert", "--until-blast", "--rig", f"{HOLDS}&seed=1&slots=2", "--store", str(tmp_path / "s"))
    assert "no blast in 2 inserts" in shell(*asked, code=3)


def test_a_loader_that_is_empty_is_not_a_full_blaster(tmp_path: Path) -> None:
    run = Played(f"{HOLDS}&seed=1", 12, tmp_path, fill=2)
    ended = {event.data["ended"] for event in run.data.events if event.kind == "round"}
    assert "loader_empty" in ended and "full" not in ended
