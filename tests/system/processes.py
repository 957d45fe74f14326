# SPDX-License-Identifier: Apache-2.0
"""Runs on a twin behind a pseudo-terminal, in processes of their own, that are ended at a drawn moment; and what its pins tell.

The pins are those of the twin's waveform file. Both directions of the line are among them, so that what was said, and when, is
read from there, too: who was in a trial as the host fell silent is told by PRESS and TRIAL_END on the line, not by any clock.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.signals import ECHO_S, SAFE, UNSAFE
from controller.store.records import Run, RunData, raw_sha256
from controller.store.store import Store
from rig.twin.avr import CYCLE_HZ, STATS_DIRECTORY
from rig.wire import codec
from rig.wire.frame import Frame, Framer
from rig.wire.messages import BAUD, LEASE_MS, STOP_RUN, Boot, Insert, Press, Reason, Reset, Status, TrialEnd
from tests.system.conftest import LAUNCHRIG
from tests.system.test_vcd import Wave, read
from tests.twins import TAME

MS = CYCLE_HZ // 1000
PATIENCE_S = 300.0  # for anything that takes seconds on a quiet machine
TWIN = f"{TAME.replace('p_fire=1', 'p_fire=0.9')}&bootloader=none"
PACE_S = 1.2
POWER = "A5"
COILS = ("D5", "D6", "D7", "D9", "D10", "D11", "D12", "A2")
"""Slot solenoids, reset button, launch button: of each trial exactly one of them goes on."""
OUTPUTS = ("D3", "D4", *COILS, POWER)
COMMANDS = (Press, Insert, Reset)  # that begin a trial
ACTUATION_CYCLES = 20 * 16  # from the pin to the tick that is told of it, at most
LEASE = LEASE_MS * MS + 2 * MS

STARTED, RUN_MADE = -1, 0
PHASES: dict[str, tuple[int, float, float]] = {
    "start": (STARTED, 0.0, 1.5),
    "settling": (RUN_MADE, 0.0, 2.5),
    "commit": (1, 0.0, 0.005),
    "idle": (1, 0.01, 0.2),
    "button": (1, 0.35, 0.5),
    "cards": (1, 0.5, 1.1),
}
"""Where a moment falls on a machine that is not busy: after how many trials at least, and seconds after the line of the last one;
or after the process began to catch signals, or after its run was made."""

SIGNALS = {"INT": [signal.SIGINT], "TERM": [signal.SIGTERM], "HUP": [signal.SIGHUP], "KILL": [signal.SIGKILL]}
TWICE = [signal.SIGTERM, signal.SIGINT]
ENDINGS = (*SIGNALS, "twice", "terminal")


@dataclass(frozen=True, slots=True)
class Moment:
    """Which phase is aimed at: so many seconds after the line of trial `trials`, or after `STARTED` or `RUN_MADE`."""

    phase: str
    trials: int
    delay_s: float


def drawn(seed: int, phases: Sequence[str]) -> list[Moment]:
    """A moment in each of `phases`."""
    draw = random.Random(seed)
    found = []
    for phase in phases:
        least, low, high = PHASES[phase]
        found.append(Moment(phase, draw.randint(1, 3) if least > RUN_MADE else least, draw.uniform(low, high)))
    return found


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. told: numbers of trials in the order in which their lines were printed; seconds: from the end that was
    asked for to the exit."""

    moment: Moment
    code: int
    said: str
    complained: str
    told: tuple[int, ...]
    seconds: float
    runs: int  # in the store by then


# ---------------------------------------------------------------------- processes


@contextmanager
def twin(vcd: Path, url: str = TWIN) -> Iterator[str]:
    """The port of a twin that is a process of its own, by a name that goes with it.

    The kernel gives the number of a pseudo-terminal away again, to the twin of another test, and whoever still waits for this board
    would take that one for it.
    """
    unaudited = {name: value for name, value in os.environ.items() if name != STATS_DIRECTORY}  # at real time, and many of them
    command = [LAUNCHRIG, "twin", url, "--pty", "--vcd", str(vcd)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=unaudited)
    assert process.stdout is not None
    path = re.search(r"/dev/pts/\d+", process.stdout.readline())
    assert path
    name = vcd.with_suffix(".port")
    name.symlink_to(path.group())
    try:
        yield str(name)
    finally:
        name.unlink()
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0
        process.stdout.close()


def press(port: str, store: Path, count: int = 1000) -> list[str]:
    return [
        *(str(LAUNCHRIG), "press", str(count), "--rig", port, "--pace", f"{PACE_S:g}s"),
        *("--operator", "none", "--store", str(store), "--fill", "200"),
    ]


def catches_signals(pid: int) -> bool:
    """Whether a process has taken the signals into its own hands."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    assert caught
    return bool(int(caught.group(1), 16) >> (signal.SIGHUP - 1) & 1)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_start(pid: int, store: Path, moment: Moment) -> None:
    wait_until(lambda: catches_signals(pid))
    if moment.trials == RUN_MADE:
        wait_until(lambda: any(run.status == "running" for run in runs_of(store)))


def runs_of(store: Path) -> list[Run]:
    if not store.exists():
        return []
    with Store.open(store, create=False) as opened:
        return opened.runs()


def trials_of(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"^(\d+): ", text, re.MULTILINE))


def ended_by_signals(command: Sequence[str], store: Path, moment: Moment, numbers: Sequence[int]) -> Ended:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = ""
    wait_for_start(process.pid, store, moment)
    while moment.trials not in (STARTED, RUN_MADE, *trials_of(said)):
        line = process.stdout.readline()
        assert line, process.communicate()
        said += line
    time.sleep(moment.delay_s)
    asked = time.monotonic()
    for number in numbers:
        if number is not numbers[0]:
            time.sleep(1.1 * ECHO_S)  # whatever comes sooner is the same wish; by then the process may be over
        process.send_signal(number)
    rest, complained = process.communicate(timeout=PATIENCE_S)
    said += rest
    return Ended(moment, process.returncode, said, complained, trials_of(said), time.monotonic() - asked, len(runs_of(store)))


def ended_by_terminal(command: Sequence[str], store: Path, moment: Moment) -> Ended:
    """In a terminal of its own, which is closed."""
    master, slave = os.openpty()
    leading = ["setsid", "--ctty", *command]  # no fork, so that the process is the terminal's session leader
    process = subprocess.Popen(leading, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = ""
    wait_for_start(process.pid, store, moment)
    while moment.trials not in (STARTED, RUN_MADE, *trials_of(said)):
        said += os.read(master, 4096).decode().replace("\r\n", "\n")
    time.sleep(moment.delay_s)
    asked = time.monotonic()
    os.close(master)
    code = process.wait(timeout=PATIENCE_S)
    return Ended(moment, code, said, "", trials_of(said), time.monotonic() - asked, len(runs_of(store)))


def end(ending: str, command: Sequence[str], store: Path, moment: Moment) -> Ended:
    if ending == "terminal":
        return ended_by_terminal(command, store, moment)
    return ended_by_signals(command, store, moment, SIGNALS.get(ending, TWICE))


# ---------------------------------------------------------------------- what the pins say


@dataclass(frozen=True, slots=True)
class Byte:
    cycle: int  # of the end of its stop bit
    value: int


BIT = round(CYCLE_HZ / 8 / BAUD) * 8  # cycles


def heard(wave: Wave) -> list[Byte]:
    """The bytes on a line at the usual rate, 8N1."""
    cycles = [cycle for cycle, _ in wave]
    levels = [level == "1" for _, level in wave]
    found, at = [], 0
    for cycle, level in wave:
        if level == "1" or cycle < at:
            continue
        bits = [levels[bisect_right(cycles, cycle + BIT * k + BIT // 2) - 1] for k in range(1, 9)]
        found.append(Byte(cycle + 10 * BIT, sum(bit << k for k, bit in enumerate(bits))))
        at = cycle + 9 * BIT + BIT // 2
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """A frame, and the cycle at which it was complete."""

    cycle: int
    frame: Frame

    def of(self, kind: type) -> bool:
        return self.frame.type == kind.TYPE  # type: ignore[attr-defined]


def frames(line: Sequence[Byte]) -> list[Told]:
    framer = Framer()
    return [Told(byte.cycle, frame) for byte in line for frame in framer.feed(bytes([byte.value])) if frame]


class Pins:
    """The waveform file of a twin."""

    def __init__(self, path: Path) -> None:
        self.waves, times, units = read(path)
        self.end = round(times[-1] / units)
        self.to_board = heard(self.waves["D0"])
        self.host, self.board = frames(self.to_board), frames(heard(self.waves["D1"]))

    def rises(self, name: str, begin: int, finish: int) -> list[int]:
        return [cycle for cycle, level in self.waves[name] if level == "1" and begin <= cycle < finish]

    def on(self, cycle: int) -> set[str]:
        """Outputs that are on at `cycle`; the roller counts from a pulse of its PWM to 2 ms after it."""
        found = {name for name in OUTPUTS if self._level(name, cycle) == "1"}
        return found | ({"D3"} if self._level("D3", cycle - 2 * MS) == "1" or self.rises("D3", cycle - 2 * MS, cycle) else set())

    def _level(self, name: str, cycle: int) -> str:
        wave = self.waves[name]
        return wave[bisect_right(wave, (cycle, "z")) - 1][1]

    def lives(self) -> list[Life]:
        """From opening to opening of the port, in the order of time; before the first there is the time from power-on."""
        begins: dict[int, int] = {}
        for told in self.board:
            if told.of(Boot):
                begins.setdefault(codec.unpack(Boot, told.frame.payload).boot_count, told.cycle)
        counts = list(begins)
        edges = [*begins.values(), self.end]
        return [Life(self, count, edges[n], edges[n + 1]) for n, count in enumerate(counts)]


@dataclass(frozen=True, slots=True)
class Life:
    """What happened from one opening of the port to the next."""

    pins: Pins
    boot_count: int
    begin: int
    finish: int

    def _mine(self, line: Sequence[Told], *kinds: type) -> list[Told]:
        return [told for told in line if self.begin <= told.cycle < self.finish and any(map(told.of, kinds))]

    def _commands(self) -> list[Told]:
        return self._mine(self.pins.host, *COMMANDS)

    @property
    def last_heard(self) -> int:
        """The cycle at which the host said its last byte; the beginning when it said none."""
        mine = [byte.cycle for byte in self.pins.to_board if self.begin <= byte.cycle < self.finish]
        return mine[-1] if mine else self.begin

    @property
    def pushes(self) -> list[int]:
        """Cycles at which a button or a card was pushed."""
        return sorted(cycle for coil in COILS for cycle in self.pins.rises(coil, self.begin, self.finish))

    @property
    def eighth_zero(self) -> int | None:
        """The cycle of the byte that makes a STOP; None when there is none."""
        run = 0
        for byte in self.pins.to_board:
            if self.begin <= byte.cycle < self.finish:
                run = 0 if byte.value else run + 1
                if run == STOP_RUN:
                    return byte.cycle
        return None

    def readings(self) -> list[Status]:
        return [codec.unpack(Status, told.frame.payload) for told in self._mine(self.pins.board, Status)]

    def open_trial(self) -> int | None:
        """The trial in flight as the host fell silent; None between trials."""
        commanded = [int.from_bytes(told.frame.payload[:4], "little") for told in self._commands()]  # each begins with its number
        over = {
            codec.unpack(TrialEnd, told.frame.payload).trial
            for told in self._mine(self.pins.board, TrialEnd)
            if told.cycle <= self.last_heard
        }
        return commanded[-1] if commanded and commanded[-1] not in over else None

    def reason_of(self, trial: int) -> Reason | None:
        """Why `trial` ended, as the board told; None when it did not."""
        for told in self._mine(self.pins.board, TrialEnd):
            message = codec.unpack(TrialEnd, told.frame.payload)
            if message.trial == trial:
                return Reason(message.reason)
        return None

    def phase(self) -> str:
        """Where the host fell silent."""
        trial = self.open_trial()
        if trial is None:
            return "between trials" if self._commands() else "set-up"
        if self.pins.on(self.last_heard).intersection(COILS):
            return "button down"
        begun = self._commands()[-1].cycle
        return "in a trial" if any(push > begun for push in self.pushes) else "before the press"


# ---------------------------------------------------------------------- rounds


@dataclass(frozen=True)
class Case:
    """One end: the process, its run, and what happened at the pins meanwhile; None where it did not come to that."""

    ending: str
    ended: Ended
    run: RunData | None
    life: Life | None

    @property
    def held_up(self) -> bool:
        """Whether the machine was so busy that the host fell silent in a trial, and the card that this left in the mouth ended the
        run before the signal did: nobody is there to pull it out."""
        run = self.run
        return run is not None and run.run.status == "aborted by rule" and any(trial.reason == "lease" for trial in run.trials)

    @property
    def was_cut(self) -> bool:
        """Whether the process had no time to close its run."""
        if self.held_up:
            return False
        return self.ending == "KILL" or (self.at_once and self.run is not None and self.run.run.status == "crashed")

    @property
    def at_once(self) -> bool:
        """Whether a second signal ended the process."""
        return "stopped at once" in self.ended.complained

    @property
    def was_safe(self) -> bool:
        """Whether that second signal found the outputs off already, so that no STOP was sent."""
        return SAFE in self.ended.complained

    @property
    def fell(self) -> str:
        """Where in the run the end fell."""
        if self.run is None or self.life is None:
            return "no run yet"
        if self.run.trials and self.run.trials[-1].verdict == "aborted":
            return "in a trial" if self.run.trials[-1].tick is not None else "before the press"
        return self.life.phase()


@dataclass(frozen=True)
class Round:
    """Runs on one port into one store, ended one after the other, then one that is let be; `unused`: lives without a run."""

    cases: list[Case]
    unused: list[Life]
    last_code: int
    last_run: RunData


def played(ending: str, moments: Sequence[Moment], where: Path) -> Round:
    """End a run at each of `moments`, on one twin."""
    vcd, path = where / "pins.vcd", where / "runs.sqlite"
    with twin(vcd) as port:
        ends = []
        for moment in moments:
            ends.append(end(ending, press(port, path), path, moment))
            time.sleep(2 * LEASE_MS / 1000)  # the next one that opens the port resets the board
        last = subprocess.run(press(port, path, 1), capture_output=True, check=False, timeout=PATIENCE_S)
    lives = {life.boot_count: life for life in Pins(vcd).lives()}
    with Store.open(path) as store:
        runs = {run.id: store.load(run.id) for run in store.runs()}
    cases, before = [], 0
    for each in ends:
        run = runs[each.runs] if each.runs > before else None
        before = each.runs
        cases.append(Case(ending, each, run, lives.pop(run.run.firmware["boot_count"]) if run else None))
    last_run = runs[max(runs)]
    del lives[last_run.run.firmware["boot_count"]]
    return Round(cases, list(lives.values()), last.returncode, last_run)


# ---------------------------------------------------------------------- judged


def judge(case: Case) -> None:
    """All that is promised of one end."""
    judge_exit(case)
    if case.run is None or case.life is None:
        assert case.ended.told == ()
        return
    judge_store(case, case.run)
    judge_pins(case, case.run, case.life)


def judge_exit(case: Case) -> None:
    """Exit code 4, and the line about the outputs."""
    ended = case.ended
    if case.held_up:
        assert ended.code == 3
        return
    if case.ending == "KILL":
        assert ended.code == -signal.SIGKILL
        return
    assert ended.code == 4, ended
    assert "Traceback" not in ended.complained
    if case.at_once:
        assert UNSAFE in ended.complained or case.was_safe
    elif case.ending != "terminal" and case.run is not None:
        assert "outputs off, confirmed" in ended.said
        assert f"ended early: {case.run.run.note}" in ended.said


def judge_store(case: Case, run: RunData) -> None:
    """Every trial that was told is stored, none twice, and the run says how it ended."""
    told, stored = case.ended.told, [trial.number for trial in run.trials]
    assert list(told) == list(range(1, len(told) + 1))
    assert stored == list(range(1, len(stored) + 1))
    assert len(stored) >= len(told)
    assert case.ending == "terminal" or len(stored) <= len(told) + 1, "a line follows each trial that is stored"
    if case.was_cut:
        assert (run.run.status, run.run.safe_state, run.run.raw_sha256) == ("crashed", "", None)
        return
    assert run.run.safe_state == "confirmed"
    assert run.run.raw_sha256 == raw_sha256(run.trials)
    if not case.held_up:
        assert run.run.status == "aborted by operator"
        name = {"terminal": "HUP", "twice": "TERM"}.get(case.ending, case.ending)
        assert run.run.note == f"stopped by SIG{name}"


def judge_pins(case: Case, run: RunData, life: Life) -> None:
    """The outputs are off, and each push of a button or a card belongs to exactly one trial."""
    pins, trial = life.pins, life.open_trial()
    if case.ending == "KILL" and case.was_cut:
        lapsed = trial is not None and life.reason_of(trial) in (Reason.lease, None)
        allowed = set() if lapsed else {POWER}
        assert pins.on(life.last_heard + LEASE) <= allowed, "toy power stays on between trials, for 15 minutes of silence"
    elif case.was_cut and not case.was_safe:
        assert life.eighth_zero is not None
        assert pins.on(life.eighth_zero + 3 * MS) == set()
    else:
        assert pins.on(life.last_heard) == set()
        assert life.readings()[-1].outputs == 0, "read back"
    ticks = [trial.tick for trial in run.trials if trial.tick is not None]
    pushes = life.pushes
    assert 0 <= len(pushes) - len(ticks) <= int(case.was_cut), (pushes, ticks)
    apart = [push - tick for push, tick in zip(pushes, ticks, strict=False)]
    assert not apart or max(apart) - min(apart) < ACTUATION_CYCLES


def judge_unused(life: Life) -> None:
    """Nobody made a run: nothing was ever on."""
    assert {name for name in OUTPUTS if life.pins.rises(name, life.begin, life.finish)} == set()
