# SPDX-License-Identifier: Apache-2.0
"""A million edges of each beam at 500 a second through the real firmware: none lost, beam A's told to the very cycle.

Takes a minute or two. `tests/system/test_edges.py` does the same with fewer, and bursts on a full link.
"""

from __future__ import annotations

import random
import time

import pytest

from rig.twin.avr import CYCLE_HZ
from rig.wire.messages import Channel
from tests.system.edges import BEAM_A, BEAM_B, BEAM_B_LATEST, US, Compared, EdgeBoard, bench_of, drive, random_gaps

EDGES = 1_000_000
PER_S = 500


@pytest.mark.nightly
def test_each_of_a_million_edges_is_told_at_its_cycle() -> None:
    begun = time.perf_counter()
    with bench_of() as bench:
        board = EdgeBoard(bench)
        a, b = Compared(BEAM_A, Channel.beam_a), Compared(BEAM_B, Channel.beam_b)
        drive(board, [(beam, random_gaps(random.Random(beam.pin), PER_S, 20 * US)) for beam in (a, b)], EDGES)
        for beam in (a, b):
            beam.assert_all_told(board)
            assert beam.compared == EDGES
        (constant,) = a.differences
        late = [constant - difference for difference in b.differences]
        stats, virtual_s = bench.avr.stats(), bench.clock.now()
        print(
            f"\n{EDGES} edges a beam in {virtual_s:.0f} s of virtual time: beam A is its cycle less {constant}, "
            f"beam B comes {min(late) / US:.2f} to {max(late) / US:.2f} us after its edge; awake {stats.awake / stats.cycles:.1%}, "
            f"longest with interrupts off {stats.longest_off / CYCLE_HZ * 1e6:.2f} us, "
            f"{virtual_s / (time.perf_counter() - begun):.0f}x real time"
        )
        assert 0 < min(late) <= max(late) <= BEAM_B_LATEST
        assert board.counters() == board.at_first
