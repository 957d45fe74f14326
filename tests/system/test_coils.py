# SPDX-License-Identifier: Apache-2.0
"""However the board is commanded: no two coils at once, none longer or more often than it may be. `benches/bench_coils.py`
does the same with 10^5 sequences."""

from __future__ import annotations

import re

import pytest

from rig.twin.avr import CYCLE_HZ
from rig.twin.coils import Coils
from tests.system.coils import LIMITS, MS, faults_of, torment


def test_random_commands_never_take_a_coil_beyond_its_limits() -> None:
    coils, answered, _ = torment(seed=11, sequences=1500)
    assert answered > 1500
    assert not faults_of(coils)
    for name in LIMITS:  # else the test would show nothing
        assert coils.total(name) > 0, f"{name} was never on"


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ([("slot1", 0, 81)], "slot1 was on for 81.0 ms, 80 allowed"),
        ([("slot1", 0, 40), ("slot2", 39, 60)], "1 times two coils were on at once"),
        (
            [("slot3", 200 * n, 200 * n + 80) for n in range(10)],
            "slot3 was on for 800 ms within 3 s, 588 allowed",
        ),
        ([("reset", 1000 * n, 1000 * n + 350) for n in range(60)], "reset was on for .* within 60 s"),
    ],
)
def test_the_judge_finds_what_is_too_much(spans: list[tuple[str, int, int]], words: str) -> None:
    coils = Coils()
    changes = [(at * MS, name, value) for name, on, off in spans for at, value in ((on, 1.0), (off, 0.0))]
    for cycle, name, value in sorted(changes):
        coils.output(cycle, name, value)
    found = faults_of(coils)
    assert any(re.search(words, each) for each in found), found


def test_what_keeps_to_the_limits_is_not_accused() -> None:
    coils = Coils()
    for n in range(100):
        coils.output(n * CYCLE_HZ, "slot1", 1.0)
        coils.output(n * CYCLE_HZ + 40 * MS, "slot1", 0.0)
    assert not faults_of(coils)
