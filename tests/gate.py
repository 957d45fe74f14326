# SPDX-License-Identifier: Apache-2.0
"""The limits that the packaged firmware must keep whatever it does, and the worst of many AVRs beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.firmware import packaged
from rig.twin.avr import CYCLE_HZ, symbols

US = CYCLE_HZ // 1_000_000
BEAM_A = 10  # vectors: Timer1's capture,
TICK = 14  # Timer0's compare match every 2 ms,
SLOW_INPUTS = (3, 4)  # and pin changes; these two switch interrupts on again before they end

Stats = dict[str, Any]
"""`rig.twin.avr.Stats` as a dictionary, and `elf` and `reprogrammed`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure and its limit; `least` when it must not be smaller."""

    name: str
    value: int
    limit: int
    unit: str
    least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit

    def __str__(self) -> str:
        shown, limit = (
            (f"{self.value / US:.2f} us", f"{self.limit / US:g} us")
            if self.unit == "cycles"
            else (f"{self.value} {self.unit}", f"{self.limit} {self.unit}")
        )
        return f"{'ok  ' if self.holds else 'FAIL'} {self.name}: {shown}, {'at least' if self.least else 'at most'} {limit}"


def read_stats(directory: Path) -> list[Stats]:
    """What every AVR left that ran the packaged firmware and nothing else."""
    rows = [json.loads(line) for file in sorted(directory.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    elf = str(packaged("elf").resolve())
    return [row for row in rows if row["elf"] == elf and not row["reprogrammed"]]


def figures(rows: Sequence[Stats]) -> list[Figure]:
    """The worst of all these; nothing when there are none."""
    if not rows:
        return []

    def longest(vectors: Iterable[int]) -> int:
        return max(row["isr_longest"][vector] for row in rows for vector in vectors)

    stack = min(row["min_sp"] for row in rows) - symbols(packaged("elf"))["__heap_start"]
    return [
        Figure(f"interrupts off, over {len(rows)} AVRs", max(row["longest_off"] for row in rows), 8 * US, "cycles"),
        Figure("capture interrupt", longest([BEAM_A]), 12 * US, "cycles"),
        Figure("2 ms tick, with what interrupts it", longest([TICK]), 2000 * US, "cycles"),
        Figure("pin changes, with what interrupts them", longest(SLOW_INPUTS), 100 * US, "cycles"),
        Figure("left between stack and static memory", stack, 256, "bytes", least=True),
    ]
