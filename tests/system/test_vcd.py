# SPDX-License-Identifier: Apache-2.0
"""The waveform file of `--vcd`, read by somebody else's reader, says the same as the store."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from vcd.reader import TokenKind, tokenize

from controller.store.records import RunData
from controller.store.store import Store
from rig.twin.avr import CYCLE_HZ
from tests.system.conftest import LAUNCHRIG
from tests.system.edges import BEAM_B_LATEST, MS, US
from tests.system.test_bad_input import failing

URL = "twin:roller?brain=iid&p_fire=1&jam=0&stick=0&slip=0&double_feed=0"

UNITS_PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12}

Wave = list[tuple[int, str]]
"""(cycle, level)"""


@dataclass(frozen=True)
class Recorded:
    """Three presses: as the waveform file has them, and as the store does."""

    waves: dict[str, Wave]
    times: list[int]
    units_per_cycle: float
    data: RunData

    def changes(self, name: str) -> Wave:
        """A wave without its first level."""
        return self.waves[name][1:]


def read(path: Path) -> tuple[dict[str, Wave], list[int], float]:
    """Waves by name, every time that is told, in the file's units, and how many of these are one cycle."""
    names: dict[str, list[str]] = {}
    waves: dict[str, Wave] = {}
    times: list[int] = []
    units_per_cycle = 0.0
    with path.open("rb") as stream:
        for token in tokenize(stream):
            if token.kind is TokenKind.TIMESCALE:
                magnitude, unit = str(token.timescale).split()
                units_per_cycle = UNITS_PER_S[unit] / int(magnitude) / CYCLE_HZ
            elif token.kind is TokenKind.VAR:
                names.setdefault(token.var.id_code, []).append(token.var.reference)
                waves[token.var.reference] = []
            elif token.kind is TokenKind.CHANGE_TIME:
                times.append(token.time_change)
            elif token.kind is TokenKind.CHANGE_SCALAR:
                for name in names[token.scalar_change.id_code]:
                    waves[name].append((round(times[-1] / units_per_cycle), token.scalar_change.value))
    return waves, times, units_per_cycle


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    where = tmp_path_factory.mktemp("vcd")
    path, store_path = where / "presses.vcd", where / "runs.sqlite"
    command = [LAUNCHRIG, "press", "3", "--rig", URL, "--seed", "7", "--vcd", str(path), "--store", str(store_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(store_path) as store:
        data = store.load("last")
    assert [trial.verdict for trial in data.trials] == ["ok"] * 3
    return Recorded(*read(path), data)


def stored(recorded: Recorded, channel: str) -> Wave:
    """(tick, level at the pin) of every edge that the trials keep."""
    return [(tick, "10"[level]) for trial in recorded.data.trials for tick, name, level in trial.edges if name == channel]


def constant(recorded: Recorded) -> int:
    """Cycles from power-on to tick 0."""
    differences = {cycle - tick for (cycle, _), (tick, _) in zip(recorded.changes("D8"), stored(recorded, "beam_a"), strict=True)}
    assert len(differences) == 1
    return differences.pop()


def test_the_file_is_well_formed(recorded: Recorded) -> None:
    assert recorded.units_per_cycle == 625, "100 ps: every cycle of 62.5 ns is a whole number"
    assert recorded.times[0] == 0
    assert all(before < after for before, after in pairwise(recorded.times))
    assert all(time % 625 == 0 for time in recorded.times)
    for name, wave in recorded.waves.items():
        assert wave and wave[0][0] == 0, f"{name} has no level at the beginning"
        assert all(before != after for (_, before), (_, after) in pairwise(wave)), name


def test_beam_a_shows_two_edges_for_each_cleared_card(recorded: Recorded) -> None:
    cards = sum(trial.cleared for trial in recorded.data.trials)
    assert cards >= 3
    assert recorded.waves["D8"] == recorded.waves["beam_a"]
    assert [level for _, level in recorded.changes("D8")] == ["0", "1"] * cards


def test_every_edge_of_beam_a_lies_at_the_cycle_that_was_stored(recorded: Recorded) -> None:
    assert recorded.changes("D8") == [(tick + constant(recorded), level) for tick, level in stored(recorded, "beam_a")]


def test_every_edge_of_beam_b_was_stored_within_its_latency(recorded: Recorded) -> None:
    pairs = list(zip(recorded.changes("D2"), stored(recorded, "beam_b"), strict=True))
    assert pairs
    assert all(level == told for (_, level), (_, told) in pairs)
    assert all(0 < tick + constant(recorded) - cycle <= BEAM_B_LATEST for (cycle, _), (tick, _) in pairs)


def test_the_launch_actuator_pulses_once_a_press(recorded: Recorded) -> None:
    changes = recorded.changes("A2")
    assert [level for _, level in changes] == ["1", "0"] * 3
    hold = recorded.data.run.settings["press_hold_ms"] * MS
    for (down, _), (up, _), trial in zip(changes[::2], changes[1::2], recorded.data.trials, strict=True):
        assert hold <= up - down < hold + MS
        assert trial.tick is not None
        assert abs(down - (trial.tick + constant(recorded))) < 20 * US


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = tmp_path / "no such folder" / "presses.vcd", tmp_path / "runs.sqlite"
    code, line = failing(["press", "1", "--vcd", str(path), "--store", str(store)], capsys)
    assert code == 2
    assert str(path) in line


def test_only_the_twin_writes_waveforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = tmp_path / "presses.vcd", tmp_path / "runs.sqlite"
    code, line = failing(["press", "1", "--rig", "/dev/ttyACM0", "--vcd", str(path), "--store", str(store)], capsys)
    assert code == 2
    assert "--vcd" in line
    assert "twin" in line
    assert not path.exists()
