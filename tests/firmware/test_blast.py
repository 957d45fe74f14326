# SPDX-License-Identifier: Apache-2.0
"""INSERT and RESET on the built firmware: which pin moves, for how long, what EEPROM keeps, what it costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rig.twin.avr import CYCLE_HZ
from rig.wire.frame import crc16
from rig.wire.messages import Boot, Identify, Insert, Output, Pulse, Reset, Result, Set, Slots, TrialEnd, Verdict
from tests.firmware.board import BEAM_A, BEAM_B, LID, MS, POWER, SOUND, Board, press
from tests.firmware.points import PULSE_LATE
from tests.firmware.safety import PINS, spells

WIRING, LAUNCHER, SLOTS, RESET_HOLD_MS = 1, 12, 13, 15
SLOT_PINS = [PINS[output] for output in Output if output.name.startswith("slot")]
MOST = len(SLOT_PINS)


@pytest.fixture
def board() -> Iterator[Board]:
    """A board that is set up for a blaster with all the slots that there are, toy on and settled."""
    with Board() as board:
        board.connect()
        assert board.ask(Set(LAUNCHER, 1)) is Result.ok
        assert board.ask(Set(SLOTS, MOST)) is Result.ok
        board.power_on()
        yield board


def insert(trial: int, slot: int) -> Insert:
    return Insert(trial, 1, 0, 0, slot)


def play(board: Board, cards: int | None) -> TrialEnd:
    """A toy that answers with 100 ms of sound and, unless `cards` is None, lets go of so many; the end of the trial."""
    avr, now = board.avr, board.avr.cycle
    avr.edge(now + 50 * MS, SOUND, 1)
    avr.edge(now + 150 * MS, SOUND, 0)
    if cards is not None:
        avr.analog(0, [(now + ms * MS, volts) for ms, volts in ((160, 0.0), (161, 0.6), (240, 0.6), (241, 0.0))])
    for card in range(cards or 0):
        for pin, lag_ms in ((BEAM_A, 0), (BEAM_B, 20)):
            avr.edge(now + (220 + 60 * card + lag_ms) * MS, pin, 0)
            avr.edge(now + (250 + 60 * card + lag_ms) * MS, pin, 1)
    return board.wait(TrialEnd)


def test_each_slot_has_its_pin_which_is_alone_and_held_for_40_ms(board: Board) -> None:
    for slot, pin in enumerate(SLOT_PINS, start=1):
        board.outputs.clear()
        assert board.ask(insert(slot, slot)) is Result.ok
        end = play(board, None)
        assert (end.verdict, end.accepted, end.cleared) == (Verdict.held, 1, 0)
        (spell,) = spells(board.outputs)
        assert spell.pin == pin
        assert spell.off is not None
        assert abs(spell.off - spell.on - 40 * MS) <= MS
        assert board.status().occupied == (1 << slot) - 1


def test_a_round_ends_with_every_card_out_and_the_books_empty(board: Board) -> None:
    for slot in (5, 2):
        assert board.ask(insert(slot, slot)) is Result.ok
        assert play(board, None).verdict == Verdict.held
    assert board.ask(insert(3, 1)) is Result.ok
    end = play(board, 3)
    assert (end.verdict, end.cleared) == (Verdict.blast, 3)
    assert end.roller_ms == pytest.approx(80, abs=10)
    assert board.status().occupied == 0


@pytest.mark.parametrize("hold_ms", [120, 350])
def test_a_reset_holds_its_own_button_and_ejects_what_is_loaded(board: Board, hold_ms: int) -> None:
    assert board.ask(Set(RESET_HOLD_MS, hold_ms)) is Result.ok
    assert board.ask(Slots(0b11, 2)) is Result.ok
    board.outputs.clear()
    assert board.ask(Reset(1, 1, 0, 0)) is Result.ok
    end = play(board, 2)
    assert (end.verdict, end.cleared) == (Verdict.ok, 2)
    (spell,) = spells(board.outputs)
    assert spell.pin == PINS[Output.reset]
    assert spell.off is not None
    assert abs(spell.off - spell.on - hold_ms * MS) <= MS
    assert board.status().occupied == 0


def test_what_is_refused_or_rejected_moves_no_pin(board: Board) -> None:
    assert board.ask(Set(SLOTS, 2)) is Result.ok
    assert board.ask(Slots(0b10, 1)) is Result.ok
    board.outputs.clear()
    for slot, answer in ((0, Result.bad_value), (3, Result.bad_value), (MOST + 1, Result.bad_value), (2, Result.occupied)):
        assert board.ask(insert(1, slot)) is answer, slot
    assert board.ask(press()) is Result.ok
    assert board.wait(TrialEnd).verdict == Verdict.rejected
    board.avr.edge(board.avr.cycle + MS, BEAM_B, 0)
    board.run(10)
    for command in (insert(2, 1), Reset(3, 1, 0, 0)):
        assert board.ask(command) is Result.ok
        assert board.wait(TrialEnd).verdict == Verdict.rejected
    assert not board.outputs
    assert board.status().occupied == 0b10


def test_an_open_lid_is_no_obstacle(board: Board) -> None:
    board.avr.edge(board.avr.cycle + MS, LID, 1)
    board.run(10)
    assert board.ask(insert(1, 1)) is Result.ok
    assert play(board, None).verdict == Verdict.held


def test_launcher_and_slots_survive_a_reset_and_the_books_do_not(board: Board) -> None:
    assert board.ask(Set(WIRING, 1)) is Result.ok
    assert board.ask(Slots(0b101, 2)) is Result.ok
    assert board.status().occupied == 0b101
    board.run(100)
    assert board.avr.eeprom()[18:24] == bytes([1, 0xFE, 1, 0xFE, MOST, 0xFF - MOST])
    board.avr.reset()
    board.received.clear()
    boot = board.connect(nonce=8)
    assert (boot.launcher, boot.wiring) == (1, 1)
    assert board.status().occupied == 0
    assert board.ask(Slots((1 << MOST) - 1, MOST)) is Result.ok


def test_a_board_is_named_at_once_while_toy_power_is_on_and_nothing_hangs(board: Board) -> None:
    uuid = bytes(range(100, 116))
    before = board.avr.cycle
    assert board.ask(Identify(uuid)) is Result.ok
    assert board.avr.cycle - before < 100 * MS
    assert board.avr.eeprom()[:18] == uuid + crc16(uuid).to_bytes(2, "little")
    assert board.ask(Identify(uuid)) is Result.refused
    assert board.is_on(POWER)
    assert board.status().cause == 0
    assert not board.resets
    board.avr.reset()
    board.received.clear()
    assert board.wait(Boot).uuid == uuid


def test_a_pulse_is_never_prolonged_by_naming_the_board(board: Board) -> None:
    board.outputs.clear()
    assert board.ask(Pulse(Output.slot1, 60, 255)) is Result.ok
    assert board.ask(Identify(bytes(range(16)))) is Result.busy
    board.run(100)
    (spell,) = spells(board.outputs)
    assert spell.off is not None
    assert spell.off - spell.on <= 60 * MS + PULSE_LATE


def test_an_insert_every_3_s_costs_at_most_110_awake_cycles_per_ms(board: Board) -> None:
    board.session.renew_s = 0.9
    before = board.avr.stats()
    for trial in range(1, 7):
        start = board.avr.cycle
        board.session.renew_s = 0.08
        assert board.ask(insert(trial, 1 + trial % 3)) is Result.ok
        end = play(board, None if trial % 3 else 3)
        assert end.verdict == (Verdict.held if trial % 3 else Verdict.blast)
        board.session.renew_s = 0.9
        board.run((start + 3 * CYCLE_HZ - board.avr.cycle) / MS)
    after = board.avr.stats()
    assert (after.awake - before.awake) / ((after.cycles - before.cycles) / MS) <= 110
    assert board.status().stack_free > 300
