# SPDX-License-Identifier: Apache-2.0
"""Every edge is told, beam A's to the very cycle: at 500 a second, and in bursts while the link is full both ways.

`benches/bench_edges.py` does the first with a million edges.
"""

from __future__ import annotations

import random

import pytest

from rig.launcher import Driver
from rig.links.twin import TwinLink
from rig.requests import PressRequest
from rig.wire.messages import Channel, Power, Press, Reason, Verdict, Wiring
from tests.system.edges import (
    BEAM_A,
    BEAM_B,
    BEAM_B_LATEST,
    BYTE_CYCLES,
    MS,
    SOUND,
    US,
    Compared,
    EdgeBoard,
    SaturatingBoard,
    Script,
    ScriptedPlant,
    bench_of,
    drive,
    random_gaps,
)

BURST = 64  # edges that each beam's queue holds
PHASES = 48


def both_beams() -> tuple[Compared, Compared]:
    return Compared(BEAM_A, Channel.beam_a), Compared(BEAM_B, Channel.beam_b)


def burst(beams: tuple[Compared, Compared], at: int, lag: int, edges: int = BURST) -> list[tuple[int, int, int]]:
    """Edges 20 us apart on both beams, B `lag` cycles after A."""
    told = [beam.schedule([at + shift + n * 20 * US for n in range(edges)]) for beam, shift in zip(beams, (0, lag), strict=True)]
    return sorted(told[0] + told[1])


def firing(cycle: int, beams: list[tuple[int, int, int]]) -> Script:
    """A toy that sounds, runs its roller for 400 ms, and moves the beams so."""
    sound = [(cycle + 50 * MS, SOUND, 1), (cycle + 350 * MS, SOUND, 0)]
    current_V = [(cycle + ms * MS, volts) for ms, volts in ((150, 0.0), (151, 0.3), (550, 0.3), (551, 0.0))]
    return Script(sorted(sound + beams), {0: current_V})


def assert_exact(beams: tuple[Compared, Compared], board: EdgeBoard, edges: int) -> None:
    """All told, A exactly, B after its edge by no more than its latency."""
    a, b = beams
    for beam in beams:
        beam.assert_all_told(board)
        assert beam.compared == edges
    (constant,) = a.differences
    late = [constant - difference for difference in b.differences]
    assert min(late) > 0
    assert max(late) <= BEAM_B_LATEST


def test_each_of_20_000_random_edges_is_told_at_its_cycle() -> None:
    with bench_of() as bench:
        board = EdgeBoard(bench)
        beams = both_beams()
        streams = [(beam, random_gaps(random.Random(seed), 500, 20 * US)) for seed, beam in enumerate(beams)]
        drive(board, streams, 20_000)
        assert_exact(beams, board, 20_000)
        assert board.trials == {0}
        assert board.counters() == board.at_first


def test_bursts_on_both_beams_survive_a_link_that_is_full_both_ways() -> None:
    draw = random.Random(4)
    with bench_of() as bench:
        board = SaturatingBoard(bench, seed=4)
        beams = both_beams()
        board.saturated = True
        begin = bench.avr.cycle
        for _ in range(PHASES):
            at = bench.avr.cycle + 10 * MS + draw.randrange(20 * MS)
            bench.avr.edges(burst(beams, at, draw.randrange(-20 * US, 20 * US)))
            board.run_to(at + 250 * MS)
        line_time = (bench.avr.cycle - begin) / BYTE_CYCLES
        assert board.sent_bytes / line_time > 0.99
        assert board.received_bytes / line_time > 0.85
        board.calm_down()
        assert_exact(beams, board, PHASES * BURST)
        assert board.counters()["ring_full"] == 0
        assert board.counters()["overrun"] == 0


def test_bursts_within_trials_on_a_full_link_spoil_no_trial() -> None:
    draw = random.Random(5)
    beams = both_beams()

    def fire(cycle: int) -> Script:
        return firing(cycle, burst(beams, cycle + 200 * MS + draw.randrange(80 * MS), draw.randrange(-20 * US, 20 * US)))

    with bench_of(ScriptedPlant(fire)) as bench:
        board = SaturatingBoard(bench, seed=5)
        board.demand(Power(1))
        board.run_to(bench.avr.cycle + 600 * MS)
        board.saturated = True
        for trial in range(1, 21):
            board.session.send(Press(trial, 1, 0, Wiring.button, 0, 50, 0, 255))
            while len(board.ends) < trial:
                board.run_to(bench.avr.cycle + 50 * MS)
            board.run_to(bench.avr.cycle + 400 * MS)
        board.calm_down()
        assert_exact(beams, board, 20 * BURST)
        assert {(end.verdict, end.reason, end.cleared) for end in board.ends} == {(Verdict.ok, Reason.none, BURST // 2)}
        assert board.trials == set(range(1, 21))


@pytest.mark.parametrize(
    ("edges", "verdict", "reason"), [(BURST, "ok", "none"), (80, "fault", "ring_full"), (200, "fault", "ring_full")]
)
def test_a_longer_burst_counts_what_it_lost_and_the_trial_is_a_fault(edges: int, verdict: str, reason: str) -> None:
    beams = both_beams()
    plant = ScriptedPlant(lambda cycle: firing(cycle, burst(beams, cycle + 220 * MS, 0, edges)))
    with bench_of(plant) as bench:
        launcher = Driver(
            TwinLink(bench),
            drive=Wiring.button,
            on_happening=lambda happening: None,
            nonce=lambda: 7,
            new_uuid=lambda: bytes(range(16)),
        )
        launcher.prepare()
        record = launcher.perform(PressRequest(number=1, burst=1, index=0, tick=0, hopper=50))
        told = sum(channel in ("beam_a", "beam_b") for _, channel, _ in record.edges)
        lost = launcher.board.counters()["ring_full"]
        assert (record.verdict, record.reason) == (verdict, reason)
        assert told + lost == 2 * edges
        assert (lost > 0) == (verdict == "fault")
