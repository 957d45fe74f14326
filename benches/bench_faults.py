# SPDX-License-Identifier: Apache-2.0
"""Twenty thousand trials over a line on which one byte in a hundred is another one, each way, and others are lost, doubled or late.

Judged against the plant: every actuation and every edge. Takes some minutes on two processors.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.system.lossy import BAD_LINE, over_a_bad_line

SEEDS = 25
TRIALS = 400
DRIVES = ("button", "direct")
MOST_SPOILED = 0.001

Found = tuple[str, list[str], int, list[tuple[int, str]], Counter[str]]


def campaign(seed: int, drive: str) -> Found:
    """How one campaign ended, what is wrong with it, its trials, those that the line spoiled, and losses on the line."""
    found = over_a_bad_line(f"faulty+twin:roller?{BAD_LINE}&seed={seed}", TRIALS, drive=drive)
    losses = Counter({name: n for name, n in found.data.run.counters.items() if name != "round_trip_us"})
    return found.outcome.status, found.wrong, len(found.data.trials), found.spoiled, losses


@pytest.mark.nightly
def test_twenty_thousand_trials_over_a_bad_line() -> None:
    tasks = [(seed, drive) for seed in range(SEEDS) for drive in DRIVES]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(campaign, *zip(*tasks, strict=True)))
    trials = sum(n for _, _, n, _, _ in results)
    spoiled = [each for _, _, _, found, _ in results for each in found]
    losses = sum((each for *_, each in results), Counter[str]())
    print(f"\n{trials} trials, {SEEDS} seeds: {len(spoiled)} spoiled by the line {spoiled}; {dict(losses)}")
    assert {status for status, *_ in results} == {"complete"}
    assert trials == SEEDS * len(DRIVES) * TRIALS
    assert [(task, wrong) for task, (_, wrong, *_) in zip(tasks, results, strict=True) if wrong] == []
    assert len(spoiled) < MOST_SPOILED * trials
