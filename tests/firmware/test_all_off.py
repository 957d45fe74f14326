# SPDX-License-Identifier: Apache-2.0
"""Everything off, on the built firmware: STOP, interlock, lease, maximum on-time, watchdog."""

from __future__ import annotations

import pytest
from intelhex import IntelHex

from rig.wire.messages import (
    Actuated,
    Cause,
    ClearFault,
    Fault,
    Power,
    Powered,
    Reason,
    ResetFlag,
    Result,
    TrialEnd,
    Verdict,
)
from rig.wire.session import Session
from tests.firmware.board import ELF, INTERLOCK, LAUNCH, LID, MS, POWER, US, Board, press

JUMP_TO_ITSELF = b"\xff\xcf"
CLI = b"\xf8\x94"
RETURN = b"\x08\x95"
PCICR = 0x68


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
