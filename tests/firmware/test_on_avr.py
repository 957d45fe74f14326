# SPDX-License-Identifier: Apache-2.0
"""The firmware as it is flashed, instruction by instruction: what only interrupts, timers and resets can show."""

from __future__ import annotations

import random

import pytest
from intelhex import IntelHex

from rig.twin.avr import CYCLE_HZ
from rig.wire.messages import (
    Ack,
    Actuated,
    Boot,
    BootFlag,
    Cause,
    Channel,
    ClearFault,
    Counters,
    Echo,
    Edges,
    Fault,
    GetCounters,
    Identify,
    Power,
    Powered,
    Press,
    Reason,
    ResetFlag,
    Result,
    Samples,
    Set,
    TrialEnd,
    Verdict,
)
from rig.wire.session import Session
from tests.firmware.board import BEAM_A, BEAM_B, ELF, INTERLOCK, LAUNCH, LID, MS, POWER, ROLLER, SOUND, Board

US = MS // 1000
JUMP_TO_ITSELF = b"\xff\xcf"
CLI = b"\xf8\x94"
RETURN = b"\x08\x95"
PCICR = 0x68


def press(trial: int = 1, not_before: int = 0, drive: int = 0, run_ms: int = 0, duty: int = 0) -> Press:
    return Press(trial, 1, 0, drive, not_before, 50, run_ms, duty)


def edges_of(board: Board, channel: Channel) -> list[tuple[int, int]]:
    """Every edge received on a channel, as (tick, level)."""
    return [
        (message.tick - ((message.tick - (word >> 1)) & 0x7FFFFFFF), word & 1)
        for message in board.received
        if isinstance(message, Edges) and message.channel == channel
        for word in message.edges
    ]


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


def test_outputs_stay_high_impedance_until_energised() -> None:
    with Board() as board:
        board.connect()
        board.run(3000)
        assert board.avr.peek(0x24, 1)[0] & 0x1E == 0  # DDRB: D9..D12
        assert board.avr.peek(0x27, 1)[0] & 0x24 == 0  # DDRC: A2, A5
        assert board.avr.peek(0x2A, 1)[0] & 0xF8 == 0  # DDRD: D3..D7
        assert not board.outputs


def test_the_reset_cause_is_told_and_unknown_after_a_bootloader_cleared_it() -> None:
    with Board() as board:
        assert board.connect().reset_cause == ResetFlag.power_on
        board.avr.reset()
        board.received.clear()
        again = board.wait(Boot)
        assert again.reset_cause == ResetFlag.external
        assert again.boot_count == 2
        assert again.flags & BootFlag.fresh


def test_uuid_and_wiring_survive_a_reset() -> None:
    with Board() as board:
        board.connect()
        assert board.ask(Identify(bytes(range(16)))) is Result.ok
        assert board.ask(Set(1, 1)) is Result.ok
        board.run(300)
        kept = board.avr.eeprom()
    with Board(eeprom=kept) as board:
        boot = board.wait(Boot)
        assert (boot.uuid, boot.wiring, boot.boot_count) == (bytes(range(16)), 1, 2)
        assert not boot.flags & BootFlag.uuid_blank


# ---------------------------------------------------------------- everything off


def test_stop_switches_off_in_the_interrupt_of_its_eighth_zero() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        assert board.ask(press()) is Result.ok
        board.run(20)
        assert board.is_on(LAUNCH)
        board.run(5)
        sent = board.avr.cycle
        board.avr.write(bytes(16))
        board.run(3)
        eighth = sent + 8 * 1360  # cycles of a byte at 115200 baud
        for pin in (LAUNCH, POWER):
            assert board.switched_off(pin) - eighth < 2 * 1360
        board.run(20)
        assert board.wait(Fault).cause == Cause.stop_received
        end = board.wait(TrialEnd)
        assert (end.verdict, end.reason) == (Verdict.aborted, Reason.stop)
        assert board.status().outputs == 0


def test_seven_zeros_are_no_stop() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        for _ in range(20):
            board.avr.write(b"\x55" + bytes(7) + b"\x55")
            board.run(10)
        assert board.is_on(POWER)


def test_stop_works_while_the_loop_hangs() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.avr.poke_flash(board.avr.symbol("_ZN5board3nowEv"), JUMP_TO_ITSELF)
        sent = board.avr.cycle
        board.avr.write(bytes(8))
        board.mute = True
        board.run(20)
        assert board.switched_off(POWER) - sent < 10 * 1360


def test_a_line_break_is_a_stop() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.avr.line_break()
        board.run(5)
        assert not board.is_on(POWER)
        assert board.wait(Fault).cause == Cause.stop_received


@pytest.mark.parametrize("in_trial", [False, True])
def test_the_interlock_switches_off_at_once(in_trial: bool) -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        if in_trial:
            assert board.ask(press()) is Result.ok
            board.run(20)
        opened = board.avr.cycle + 1234
        board.avr.edge(opened, INTERLOCK, 1)
        board.run(30)
        assert 0 < board.switched_off(POWER) - opened < 20 * US
        assert not board.is_on(LAUNCH)
        assert board.wait(Fault).cause == Cause.interlock_open
        assert board.ask(ClearFault(Cause.interlock_open)) is Result.refused
        assert board.ask(Power(1)) is Result.refused
        board.avr.edge(board.avr.cycle, INTERLOCK, 0)
        board.run(5)
        assert board.ask(Power(1)) is Result.refused
        assert board.ask(ClearFault(Cause.interlock_open)) is Result.ok
        assert board.ask(Power(1)) is Result.ok


def test_the_tick_looks_at_the_interlock_again() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        assert board.ask(press()) is Result.ok
        board.run(20)
        board.avr.poke(PCICR, b"\0")  # the pin-change interrupt is lost
        opened = board.avr.cycle + 1234
        board.avr.edge(opened, INTERLOCK, 1)
        board.run(10)
        assert board.switched_off(LAUNCH) - opened < 2.1 * MS
        assert board.switched_off(POWER) - opened < 2.1 * MS


def test_between_trials_the_interlock_is_looked_at_again_within_a_second() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.avr.poke(PCICR, b"\0")
        board.avr.edge(board.avr.cycle + MS, INTERLOCK, 1)
        board.run(1100)
        assert not board.is_on(POWER)
        assert board.wait(Fault).cause == Cause.interlock_open


def test_an_output_that_nobody_switches_off_is_cut_at_its_maximum() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.avr.poke_flash(board.avr.symbol("_ZN4core5Guard3offEN8protocol6OutputE"), RETURN)
        assert board.ask(press()) is Result.ok
        board.wait(Actuated)
        end = board.wait(TrialEnd)
        down = next(output.cycle for output in board.outputs if output.pin == LAUNCH)
        assert 190 * MS < board.switched_off(LAUNCH) - down <= 200 * MS
        assert not board.is_on(POWER)
        assert (end.verdict, end.reason) == (Verdict.fault, Reason.guard)
        assert board.status().cause == Cause.max_on


def test_a_silent_host_loses_its_lease_inside_a_trial() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        assert board.ask(press()) is Result.ok
        board.run(50)
        board.mute = True
        last = board.avr.cycle
        board.run(400)
        silence = (board.switched_off(POWER) - last) / MS
        assert 160 < silence < 253  # 248 ms from the last frame, which was up to 80 ms earlier


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_hang_switches_off_and_resets_and_is_told(interrupts: bool) -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        place = board.avr.symbol("_ZN5board3nowEv")
        board.mute = True
        board.avr.poke_flash(place, JUMP_TO_ITSELF if interrupts else CLI + JUMP_TO_ITSELF)
        hung = board.avr.cycle + MS
        board.avr.edge(hung, LID, 1)  # something to do, on which the loop hangs
        board.run(400)
        off, reset = board.switched_off(POWER) - hung, board.resets[0][0] - hung
        # The period is 64 ms. With interrupts off there is no first stage, and only the reset switches off.
        assert off < 66 * MS if interrupts else off == reset
        assert 120 * MS < reset < 132 * MS


@pytest.mark.parametrize("interrupts", [True, False])
def test_after_a_watchdog_reset_nothing_goes_on_until_the_fault_is_cleared(interrupts: bool) -> None:
    with Board() as board:
        first = board.connect()
        board.power_on()
        place = board.avr.symbol("_ZN5board3nowEv")
        original = bytes(IntelHex(str(ELF.with_suffix(".hex"))).tobinarray(start=place, size=4))
        board.avr.poke_flash(place, JUMP_TO_ITSELF if interrupts else CLI + JUMP_TO_ITSELF)
        board.mute = True
        board.avr.edge(board.avr.cycle + MS, LID, 1)
        while not board.resets:
            board.run(10)
        board.avr.poke_flash(place, original)
        board.mute = False
        board.received.clear()
        board.session = Session()
        boot = board.connect(nonce=8)
        assert boot.boot_count == first.boot_count + 1
        assert boot.reset_cause & ResetFlag.watchdog
        assert boot.cause == Cause.watchdog
        assert board.ask(Power(1)) is Result.refused
        assert board.ask(ClearFault(Cause.watchdog)) is Result.ok
        assert board.ask(Power(1)) is Result.ok


# ---------------------------------------------------------------- time


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


# ---------------------------------------------------------------- cost


def test_an_idle_board_is_awake_for_less_than_100_cycles_per_overflow() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.session.renew_s = None
        board.mute = True
        board.run(100)
        before = board.avr.stats()
        board.run(800)
        after = board.avr.stats()
        overflows = (after.cycles - before.cycles) / 65536
        assert (after.awake - before.awake) / overflows < 100


def play_press(board: Board, fires: bool) -> None:
    """A toy that answers with 300 ms of sound and, if it fires, deals four cards in 400 ms."""
    avr, pressed = board.avr, board.avr.cycle
    avr.edge(pressed + 50 * MS, SOUND, 1)
    avr.edge(pressed + 350 * MS, SOUND, 0)
    if not fires:
        return
    avr.analog(0, [(pressed + ms * MS, volts) for ms, volts in ((150, 0.0), (151, 0.3), (550, 0.3), (551, 0.0))])
    for card in range(4):
        for pin, lag_ms in ((BEAM_A, 0), (BEAM_B, 20)):
            avr.edge(pressed + (220 + 80 * card + lag_ms) * MS, pin, 0)
            avr.edge(pressed + (270 + 80 * card + lag_ms) * MS, pin, 1)


def test_a_press_every_3_s_costs_at_most_110_awake_cycles_per_ms() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.session.renew_s = 0.9
        before = board.avr.stats()
        for trial in range(1, 7):
            start = board.avr.cycle
            board.session.renew_s = 0.08
            assert board.ask(press(trial)) is Result.ok
            fires = trial % 2 == 0
            play_press(board, fires)
            end = board.wait(TrialEnd)
            assert (end.verdict, end.cleared) == ((Verdict.ok, 4) if fires else (Verdict.no_run, 0))
            board.session.renew_s = 0.9
            board.run((start + 3 * CYCLE_HZ - board.avr.cycle) / MS)
        after = board.avr.stats()
        assert (after.awake - before.awake) / ((after.cycles - before.cycles) / MS) <= 110


def test_the_stack_keeps_its_distance() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        assert board.ask(press()) is Result.ok
        play_press(board, fires=True)
        board.avr.edge(board.avr.cycle + 300 * MS, LID, 1)
        board.wait(TrialEnd)
        told = board.status().stack_free
        assert told > 300
        assert abs(told - (board.avr.stats().min_sp - board.avr.symbol("__heap_start"))) <= 4


def test_power_lost_by_a_fault_is_told() -> None:
    with Board() as board:
        board.connect()
        board.power_on()
        board.received.clear()
        board.avr.edge(board.avr.cycle, LID, 1)
        board.avr.write(bytes(16))
        board.run(50)
        powered = board.wait(Powered)
        assert (powered.on, powered.cause) == (0, 1)
