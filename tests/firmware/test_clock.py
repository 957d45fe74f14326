# SPDX-License-Identifier: Apache-2.0
"""Time, on the built firmware: moments, bins, edges around every wrap and under load."""

from __future__ import annotations

import random

import pytest

from rig.wire.messages import (
    Ack,
    Actuated,
    Channel,
    Counters,
    Echo,
    GetCounters,
    Result,
    Samples,
    Set,
    TrialEnd,
)
from tests.firmware.board import BEAM_A, BEAM_B, LAUNCH, MS, ROLLER, US, Board, edges_of, press


def epoch(board: Board) -> int:
    """Cycles from power-on to tick 0, measured with one edge of beam A, which the hardware captures exactly."""
    at = board.avr.cycle + MS
    board.avr.edge(at, BEAM_A, 0)
    board.avr.edge(at + MS, BEAM_A, 1)
    board.received.clear()
    board.run(40)
    (down, _), _ = edges_of(board, Channel.beam_a)
    board.received.clear()
    return at - down


def test_a_press_comes_at_its_moment_and_is_told_exactly() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        zero = epoch(board)
        for trial, ahead in enumerate((150, 151.3, 300.007), start=1):
            moment = board.avr.cycle - zero + round(ahead * MS)
            board.outputs.clear()
            assert board.ask(press(trial, moment)) is Result.ok
            told = board.wait(Actuated).tick
            energised = next(output.cycle for output in board.outputs if output.pin == LAUNCH)
            assert 0 <= told - moment < 250 * US
            assert 0 <= energised - (told + zero) < 16 * US
            board.wait(TrialEnd)


def test_the_button_is_let_go_on_time() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        assert board.ask(press()) is Result.ok
        board.wait(TrialEnd)
        down, up = (output.cycle for output in board.outputs if output.pin == LAUNCH)
        assert 120 * MS <= up - down < 120 * MS + 200 * US


def test_direct_drive_is_fast_pwm_of_the_commanded_duty_and_time() -> None:
    with Board() as board:
        board.connect()
        assert board.ask(Set(1, 1)) is Result.ok
        assert board.ask(press(drive=1, run_ms=205, duty=127)) is Result.ok
        end = board.wait(TrialEnd)
        on, off = (output for output in board.outputs if output.pin == ROLLER)
        assert on.value == pytest.approx(0.5, abs=0.01)
        assert 205 * MS <= off.cycle - on.cycle < 205 * MS + 200 * US
        assert end.roller_ms == 200


def test_bins_hold_what_the_pins_held() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.avr.analog(0, [(board.avr.cycle, 0.300)])
        board.avr.analog(1, [(board.avr.cycle, 2.250)])
        assert board.ask(press()) is Result.ok
        actuated = board.wait(Actuated)
        board.run(105)
        board.avr.analog(0, [(board.avr.cycle, 0.0)])
        bins: list[int] = []
        end = None
        while end is None:
            for message in board.received:
                if isinstance(message, Samples):
                    assert message.first == len(bins)
                    bins += message.bins
                if isinstance(message, TrialEnd):
                    end = message
            board.received.clear()
            board.run(1)
        assert bins[0] & 0xFFF == 4 * 61  # 0.3 V of 5 V at 1024 counts
        assert bins[0] >> 12 & 0x3FF == 460
        assert bins[20] & 0xFFF == 0
        assert (end.tick - actuated.tick) // (10 * MS) == len(bins)
        assert end.roller_ms == 10 * sum(sample & 0xFFF >= 123 for sample in bins)


@pytest.mark.parametrize("bits", [23, 24, 31, 32, 40, 48])
def test_edges_are_right_across_every_wrap_of_the_clock(bits: int) -> None:
    with Board() as board:
        board.connect()
        overflows = ((1 << bits) >> 16) - 3  # three overflows before the wrap
        board.avr.poke(board.avr.symbol("launchrig_overflows"), overflows.to_bytes(4, "little"))
        board.avr.poke(0x4A, bytes([overflows & 0xFF]))  # GPIOR1: what the interrupts count
        board.received.clear()
        start = board.avr.cycle + 100
        wanted = [start + n * 3 * MS for n in range(10)]
        for n, cycle in enumerate(wanted):
            board.avr.edge(cycle, BEAM_A, n % 2)
        board.run(80)
        seen = [tick for tick, _ in edges_of(board, Channel.beam_a)]
        assert len(seen) == 10
        assert [(tick - seen[0]) % (1 << 48) for tick in seen] == [cycle - wanted[0] for cycle in wanted]
        assert seen[0] < 1 << bits <= seen[-1] or bits == 48


def test_edges_on_either_side_of_an_overflow_are_put_on_the_right_side() -> None:
    with Board() as board:
        board.connect()
        zero = epoch(board)
        overflow = (board.avr.cycle - zero) // 65536 + 10
        wanted: dict[int, list[int]] = {BEAM_A: [], BEAM_B: []}
        for n, shift in enumerate(range(-60, 60)):
            for pin, seen in wanted.items():
                seen.append(zero + (overflow + 5 * n) * 65536 + shift)
                board.avr.edge(seen[-1], pin, n % 2)
        board.received.clear()
        board.run(120 * 5 * 4.096 + 100)
        captured = [tick + zero for tick, _ in edges_of(board, Channel.beam_a)]
        assert captured == wanted[BEAM_A]
        late = [tick + zero - cycle for (tick, _), cycle in zip(edges_of(board, Channel.beam_b), wanted[BEAM_B], strict=True)]
        assert min(late) > 0
        assert max(late) < 20 * US


@pytest.mark.parametrize("pulse_us", [0.5, 1, 2, 3, 4, 5, 8])
def test_a_pulse_shorter_than_the_way_into_the_interrupt_leaves_the_beams_in_step(pulse_us: float) -> None:
    with Board() as board:
        board.connect()
        start = board.avr.cycle + MS
        for pin in (BEAM_A, BEAM_B):
            for level, at in ((0, 0), (1, round(pulse_us * US)), (0, 5 * MS), (1, 9 * MS)):
                board.avr.edge(start + at, pin, level)
        board.received.clear()
        board.run(60)
        for channel in (Channel.beam_a, Channel.beam_b):
            seen = edges_of(board, channel)
            assert [level for _, level in seen] in ([1, 0], [1, 0, 1, 0])
            assert (seen[-1][0] - seen[-2][0]) / MS == pytest.approx(4, abs=0.01)
        assert len(edges_of(board, Channel.beam_a)) == 4
        assert board.status().inputs & 3 == 0


@pytest.mark.parametrize("load", ["receive", "both ways"])
def test_pairs_of_edges_20_us_apart_on_both_beams_survive_a_saturated_link(load: str) -> None:
    draw = random.Random(5)
    with Board(audit=True) as board:
        board.connect()
        board.run(50)
        wanted: dict[int, list[tuple[int, int]]] = {BEAM_A: [], BEAM_B: []}
        at = board.avr.cycle + 50 * MS
        for _ in range(150):
            at += 10 * MS + draw.randrange(MS)
            lag = draw.randrange(-500, 500)
            for pin, shift in ((BEAM_A, 0), (BEAM_B, lag)):
                for level, after in ((0, 0), (1, 20 * US)):
                    board.avr.edge(at + shift + after, pin, level)
                    wanted[pin].append((at + shift + after, 1 - level))
        board.received.clear()
        fed = board.avr.cycle
        while board.avr.cycle < at + 100 * MS:
            if load == "both ways" and not board.session._waiting:
                board.session.send(Echo(draw.randbytes(48)))
            if load == "receive" and board.avr.cycle >= fed:
                board.avr.write(board.raw(Ack(), session=1, ack=6))
                fed += MS  # 10 of the 11.5 bytes that the line carries, the rest is for real acknowledgements
            board.step(board.avr.cycle + MS // 4)
        for channel, pin in ((Channel.beam_a, BEAM_A), (Channel.beam_b, BEAM_B)):
            seen = edges_of(board, channel)
            assert [level for _, level in seen] == [level for _, level in wanted[pin]]
            late = [tick - cycle for (tick, _), (cycle, _) in zip(seen, wanted[pin], strict=True)]
            # Beam A is captured by the hardware: not one tick of jitter. Beam B waits for at most two interrupts.
            assert max(late) - min(late) <= (0 if pin == BEAM_A else 20 * US)
        stats = board.avr.stats()
        assert stats.longest_off <= 128
        assert stats.rx_overruns == 0
        assert board.ask(GetCounters()) is Result.ok
        assert board.wait(Counters).ring_full == 0
