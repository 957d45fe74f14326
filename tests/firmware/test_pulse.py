# SPDX-License-Identifier: Apache-2.0
"""PULSE on the built firmware: every output in turn, for its time, and ended by whatever ends everything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rig.wire.messages import PULSE_MAX_MS, Cause, Output, Power, Pulse, Result
from tests.firmware.board import INTERLOCK, LID, MS, US, Board, press
from tests.firmware.points import JUMP_TO_ITSELF, PULSE_LATE
from tests.firmware.safety import BYTE_CYCLES, PINS, PULSED, spells

REST_MS = 1000  # longer than any minimum off-time


@pytest.fixture
def board() -> Iterator[Board]:
    """A board in conversation, nothing on."""
    with Board() as board:
        board.connect()
        board.run(REST_MS)
        yield board


@pytest.mark.parametrize("ms", [1, 5, 33, PULSE_MAX_MS])
def test_every_output_in_turn_is_on_for_its_time_and_no_other_with_it(board: Board, ms: int) -> None:
    for output in PULSED:
        board.outputs.clear()
        assert board.ask(Pulse(output, ms, 128 if output is Output.roller else 255)) is Result.ok
        board.run(REST_MS)
        (spell,) = spells(board.outputs)
        assert spell.pin == PINS[output]
        assert spell.off is not None
        assert max(0, ms - 3) * MS <= spell.off - spell.on <= ms * MS + PULSE_LATE
        assert board.status().outputs == 0


@pytest.mark.parametrize("output", PULSED, ids=lambda output: output.name)
def test_status_reads_a_pulse_back_from_the_pin(board: Board, output: Output) -> None:
    assert board.ask(Pulse(output, PULSE_MAX_MS, 128 if output is Output.roller else 255)) is Result.ok
    assert board.status().outputs == 1 << output
    board.run(REST_MS)
    assert board.status().outputs == 0


def test_a_pulse_that_is_none_is_refused_and_no_pin_moves(board: Board) -> None:
    for command, answer in (
        (Pulse(Output.power, 10, 255), Result.bad_value),
        (Pulse(len(Output), 10, 255), Result.bad_value),
        (Pulse(Output.slot1, 0, 255), Result.bad_value),
        (Pulse(Output.slot1, PULSE_MAX_MS + 1, 255), Result.bad_value),
        (Pulse(Output.roller, 10, 1), Result.refused),
    ):
        assert board.ask(command) is answer, command
    assert not board.outputs


def test_one_pulse_at_a_time_and_none_in_a_trial(board: Board) -> None:
    assert board.ask(Pulse(Output.slot1, PULSE_MAX_MS, 255)) is Result.ok
    assert board.ask(Pulse(Output.slot2, 5, 255)) is Result.busy
    board.run(REST_MS)
    board.power_on()
    assert board.ask(press()) is Result.ok
    assert board.ask(Pulse(Output.slot1, 5, 255)) is Result.busy
    assert not any(output.pin in (PINS[Output.slot1], PINS[Output.slot2]) and output.value for output in board.outputs[2:])


@pytest.mark.parametrize("output", PULSED, ids=lambda output: output.name)
def test_stop_ends_a_pulse(board: Board, output: Output) -> None:
    assert board.ask(Pulse(output, PULSE_MAX_MS, 128 if output is Output.roller else 255)) is Result.ok
    board.run(10)
    stopped = board.avr.cycle + 8 * BYTE_CYCLES
    board.avr.write(bytes(16))
    board.run(10)
    assert board.switched_off(PINS[output]) - stopped < 100 * US
    assert board.status().cause == Cause.stop_received
    assert board.ask(Pulse(output, 5, 255)) is Result.refused


@pytest.mark.parametrize("output", PULSED, ids=lambda output: output.name)
def test_the_interlock_ends_a_pulse(board: Board, output: Output) -> None:
    assert board.ask(Pulse(output, PULSE_MAX_MS, 128 if output is Output.roller else 255)) is Result.ok
    opened = board.avr.cycle + 5 * MS
    board.avr.edge(opened, INTERLOCK, 1)
    board.run(20)
    assert 0 < board.switched_off(PINS[output]) - opened < 100 * US
    assert board.ask(Pulse(output, 5, 255)) is Result.refused
    assert board.ask(Power(1)) is Result.refused


def test_a_pulse_that_the_loop_forgets_is_cut_by_the_guard_and_one_that_hangs_by_the_watchdog(board: Board) -> None:
    assert board.ask(Pulse(Output.slot3, PULSE_MAX_MS, 255)) is Result.ok
    board.mute = True
    board.avr.poke_flash(board.avr.symbol("_ZN5board3nowEv"), JUMP_TO_ITSELF)
    board.avr.edge(board.avr.cycle + 20 * MS, LID, 1)  # the loop wakes, and hangs
    while not board.resets:
        board.run(10)
    (spell,) = spells(board.outputs)
    assert spell.off is not None
    assert spell.off - spell.on <= 80 * MS
