# SPDX-License-Identifier: Apache-2.0
"""How often a reader takes a bad frame for a good one, for each way in which a line damages frames.

Counted by the board's reader for volume; `tests/rig/wire/test_garbage.py` shows that the host's accepts the same ones.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.firmware.core import CHECK_ALONE, Damage, Judged, judge, upper_limit

FRAMES = 50_000_000
PARTS = 10
BOUND = 1e-6
# Where two or three bytes of a frame are hit and nothing else, what a check of 16 bits leaves comes near the bound: too near
# to be told from it with so few frames. Together with drops and duplicates, as `line`, it is well below.
NEAR = {Damage.bytes: 2e-6}


def counted(damage: Damage) -> Judged:
    """`FRAMES` frames in parts with seeds of their own; the library runs without Python's lock."""
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(lambda part: judge(damage, FRAMES // PARTS, 1000 * damage + part), range(PARTS)))
    return sum(parts[1:], parts[0])


@pytest.mark.nightly
@pytest.mark.parametrize("damage", Damage, ids=lambda damage: damage.name)
def test_rate_of_bad_frames_accepted(benchmark: BenchmarkFixture, damage: Damage) -> None:
    judged = benchmark.pedantic(counted, args=(damage,), rounds=1, iterations=1)
    rate, limit = judged.accepted / judged.damaged, upper_limit(judged)
    print(
        f"\n{damage.name}: {judged.sent} sent, {judged.damaged} damaged, {judged.refused} pieces refused, "
        f"{judged.accepted} bad ones accepted: {rate:.1e}, below {limit:.1e} (95 %)"
    )
    benchmark.extra_info.update(sent=judged.sent, damaged=judged.damaged, accepted=judged.accepted, upper_limit=limit)
    if damage in CHECK_ALONE:  # nothing but the check stands in the way: it must be worth its 16 bits
        assert rate == pytest.approx(2**-16, rel=0.2)
    else:
        assert limit < NEAR.get(damage, BOUND)
