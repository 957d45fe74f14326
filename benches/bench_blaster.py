# SPDX-License-Identifier: Apache-2.0
"""A hundred campaigns of a thousand trials through the real firmware for each brain of the blaster: which rival wins, and how
often the hazard's intervals hold the truth that the plant logged before each draw.

Latch faults, partial ejections and jams are on, so rounds end by them and by resets, too; double feeds are off, since the truth
counts cards. Takes about an hour; `bench_rivals` and `bench_hazard_coverage` ask the same of the statistics alone.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from benches.bench_hazard_coverage import Judged, Logged, judged
from benches.bench_rivals import LEAST_RIGHT, RIGHT, Found, found_in, right, strongly_wrong
from benches.campaigns import measured_and_true
from controller.store.records import RunData

CAMPAIGNS = 100
TRIALS = 1000
LOW = 88  # of 100: a true 95 % lies at or above it with probability .998
URL = "twin:blast?seed={seed}&brain={brain}&double_feed=0&p_blast=0.3&partial=0.02&latch_fault=0.02&jam=0.01"


def measured(brain: str, seed: int) -> tuple[RunData, Logged]:
    """A campaign as stored, and what the plant knew."""
    data, truth = measured_and_true(URL.format(seed=seed, brain=brain), TRIALS, pace_s=1.0)
    return data, {row["trial"]: row["p_fire"] for row in truth["trials"]}


def both(brain: str, seed: int) -> tuple[Found, Judged]:
    """Who wins in one campaign, and which intervals cover."""
    data, logged = measured(brain, seed)
    return found_in(data), judged(data, logged)


@pytest.mark.nightly
@pytest.mark.parametrize("brain", RIGHT)
def test_the_right_rival_wins_and_the_intervals_cover(brain: str) -> None:
    with ProcessPoolExecutor(2) as pool:
        campaigns = list(pool.map(partial(both, brain), range(CAMPAIGNS)))
    winners = Counter(found for found, _ in campaigns)
    covers: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for _, rows in campaigns:
        for name, inside in rows:
            covers[name] += inside
            held[name] += 1
    print(f"\n{brain}: winners {dict(winners)}")
    print("  " + ", ".join(f"{name} {covers[name]}/{held[name]}" for name in held))
    assert right(winners, RIGHT[brain]) >= LEAST_RIGHT
    assert strongly_wrong(winners, RIGHT[brain]) == 0
    for name, n in held.items():
        assert covers[name] >= LOW / CAMPAIGNS * n - 1, name
