# SPDX-License-Identifier: Apache-2.0
"""Boot, and what the built firmware costs: awake cycles and stack."""

from __future__ import annotations

from rig.twin.avr import CYCLE_HZ
from rig.wire.frame import crc16
from rig.wire.messages import (
    Boot,
    BootFlag,
    Identify,
    ResetFlag,
    Result,
    Set,
    TrialEnd,
    Verdict,
)
from tests.firmware.board import BEAM_A, BEAM_B, LID, MS, SOUND, Board, press


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


def test_a_reset_in_the_middle_of_an_eeprom_write_costs_neither_name_nor_count() -> None:
    uuid = bytes(range(16))
    with Board(eeprom=uuid + crc16(uuid).to_bytes(2, "little")) as board:
        counts = [board.wait(Boot).boot_count]
        for after_us in range(0, 24_000, 400):  # every phase of what a boot writes
            board.avr.reset()
            board.run(after_us / 1000)
            board.avr.reset()
            board.received.clear()
            boot = board.wait(Boot)
            assert boot.uuid == uuid, after_us
            assert not boot.flags & BootFlag.uuid_blank
            counts.append(boot.boot_count)
        assert counts == sorted(set(counts)), "no session is ever used twice in a row"


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
