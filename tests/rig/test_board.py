# SPDX-License-Identifier: Apache-2.0
"""A board is found by listening, asked by its protocol, and never believed to be another than it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

import rig.discover
from rig.board import Board
from rig.discover import DISCOVERY_S
from rig.errors import (
    ControllerResetError,
    LinkLostError,
    NotOurBoardError,
    ProtocolMismatchError,
    RigFaultError,
    StopAskedError,
)
from rig.firmware import packaged
from rig.links.base import Link
from rig.links.twin import TwinLink
from rig.open import open_rig
from rig.rig import Rig
from rig.twin.avr import Avr
from rig.twin.bench import TwinBench
from rig.wire import codec
from rig.wire.frame import Frame, Framer, encode
from rig.wire.messages import (
    PROTOCOL_HASH,
    SETTINGS,
    STOP_SEND,
    Boot,
    BootFlag,
    Cause,
    Echo,
    Echoed,
    Message,
    Power,
    Result,
    Set,
)
from tests.system.edges import ScriptedPlant
from tests.twins import INTERLOCK, TAME, OtherLink, bench_of, driven

RJMP_TO_ITSELF = b"\xff\xcf"


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig(TAME)
    yield rig
    rig.close()


def connect(
    rig: Rig,
    link: Link | None = None,
    *,
    events: list[Message] | None = None,
    nonce: Callable[[], int] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Board:
    kept: list[Message] = [] if events is None else events
    return Board(link or rig.link, kept.append, nonce=nonce or rig.nonce, new_uuid=rig.new_uuid, stop_asked=stop_asked)


def ignore(event: Message) -> None:
    pass


def let_pass(board: Board, seconds: float) -> None:
    until = board.link.clock.now() + seconds
    while board.link.clock.now() < until:
        board.serve(until)


# ---------------------------------------------------------------------- connecting


def test_a_board_says_who_it_is_and_nothing_goes_on(twin: Rig) -> None:
    board = connect(twin)
    assert board.boot.uuid == twin.new_uuid()
    assert board.boot.protocol_hash == PROTOCOL_HASH
    assert board.boot.flags & BootFlag.fresh
    status = board.status()
    assert (status.outputs, status.cause, status.trial) == (0, 0, 0)
    assert driven(bench_of(twin)) == set()


def test_a_board_without_a_name_is_given_one_and_keeps_it() -> None:
    bench = TwinBench(ScriptedPlant(), Avr(packaged("elf")))
    link = TwinLink(bench)
    try:
        names, boards = [bytes(range(16)), bytes(range(16, 32))], []
        for nonce, name in enumerate(names):
            board = Board(link, ignore, nonce=partial(int, nonce), new_uuid=partial(bytes, name), stop_asked=lambda: False)
            boards.append(board)
            bench.clock.sleep(0.2)  # EEPROM is written byte by byte
            bench.reset()
        assert [board.boot.uuid for board in boards] == [names[0], names[0]]
    finally:
        bench.close()


def test_another_protocol_is_refused_and_both_are_named(twin: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.discover, "PROTOCOL_HASH", 0x0BADF00D)
    with pytest.raises(ProtocolMismatchError) as refused:
        connect(twin)
    assert "0badf00d" in str(refused.value)
    assert f"{PROTOCOL_HASH:08x}" in str(refused.value)
    assert "elf=" in str(refused.value)  # a twin cannot be flashed


def test_a_far_side_that_says_nothing_is_given_three_seconds_of_the_links_clock() -> None:
    bench = TwinBench(ScriptedPlant(), Avr(packaged("elf")))
    bench.avr.poke_flash(0, RJMP_TO_ITSELF)
    link = TwinLink(bench)
    try:
        began = link.clock.now()
        with pytest.raises(NotOurBoardError, match="it said nothing"):
            Board(link, ignore, nonce=lambda: 1, new_uuid=lambda: b"", stop_asked=lambda: False)
        assert link.clock.now() - began == pytest.approx(DISCOVERY_S, abs=1e-3)
    finally:
        bench.close()


def test_a_far_side_that_says_something_else_is_no_board_of_ours(twin: Rig) -> None:
    with pytest.raises(NotOurBoardError, match=r"\d+ bytes came, none of them a BOOT"):
        connect(twin, OtherLink(twin.link, into=lambda data: bytes(byte ^ 0x55 for byte in data)))


def test_a_board_that_does_not_hear_the_host_is_told_from_one_that_is_not_there(twin: Rig) -> None:
    with pytest.raises(LinkLostError, match="BOOT but does not answer HELLO"):
        connect(twin, OtherLink(twin.link, out=lambda data: b""))


def test_what_a_board_said_before_it_was_reset_does_not_stop_connecting(twin: Rig) -> None:
    before = connect(twin).boot
    bench_of(twin).reset()
    stale = replace(before, flags=0)
    line = [encode(Frame(Boot.TYPE, stale.boot_count & 0xFF, 0, 0, codec.pack(stale)))]
    board = connect(twin, OtherLink(twin.link, into=lambda data: line.pop() + data if line else data))
    assert not line
    assert board.boot.boot_count == before.boot_count + 1
    assert board.status().outputs == 0


def test_a_conversation_whose_number_was_the_last_one_is_opened_with_another(twin: Rig) -> None:
    connect(twin, nonce=lambda: 7).status()
    nonces = [7, 8]
    board = connect(twin, nonce=lambda: nonces.pop(0))
    assert nonces == []
    assert board.status().outputs == 0


def test_the_end_can_be_asked_for_while_nobody_answers(twin: Rig) -> None:
    asked = iter([False, False, True])
    with pytest.raises(StopAskedError):
        connect(twin, OtherLink(twin.link, into=lambda data: b""), stop_asked=lambda: next(asked))
    assert twin.link.clock.now() < DISCOVERY_S / 2


# ---------------------------------------------------------------------- settings, counters, commands


def test_settings_are_the_protocols_defaults_until_they_are_set(twin: Rig) -> None:
    board = connect(twin)
    assert board.settings() == {name: setting.default for name, setting in SETTINGS.items()}
    board.set("quiet_ms", 321)
    assert board.settings()["quiet_ms"] == 321


def test_every_setting_takes_its_limits_and_nothing_beyond(twin: Rig) -> None:
    board = connect(twin)
    for name, setting in SETTINGS.items():
        for value in (setting.min, setting.max):
            board.set(name, value)
            assert board.settings()[name] == value
        for value in {setting.min - 1, setting.max + 1}:
            with pytest.raises(RigFaultError, match=f"{name}: {value} .*{setting.min} to {setting.max}"):
                board.set(name, value)
        for value in {max(0, setting.min - 1), setting.max + 1} - {setting.min}:
            assert board.command(Set(setting.key, value))[0] is Result.bad_value
        assert board.settings()[name] == setting.max


def test_a_clean_line_counts_no_losses_and_measures_the_round_trip(twin: Rig) -> None:
    board = connect(twin)
    assert set(board.counters().values()) == {0}
    assert board.round_trip_us > 0


def test_losses_are_counted_where_they_happen(twin: Rig) -> None:
    noise: list[bytes] = []
    board = connect(twin, OtherLink(twin.link, into=lambda data: noise.pop() + data if data and noise else data))
    twin.link.write(b"\x05rubbish\0")
    let_pass(board, 0.1)
    assert {name for name, count in board.counters().items() if count} - {"round_trip_us", "resent"} == {"resync"}
    noise.append(b"\x05rubbish\0")
    let_pass(board, 1.0)
    counters = board.counters()
    assert (counters["resync"], counters["host_bad"]) == (1, 1)


def test_a_command_and_its_answers_belong_together(twin: Rig) -> None:
    events: list[Message] = []
    board = connect(twin, events=events)
    for n in range(300):  # sequence numbers go round
        board.demand(Echo(bytes([n & 0xFF])))
    assert [event.data[0] for event in events if isinstance(event, Echoed)] == [n & 0xFF for n in range(300)]


def test_a_command_without_an_answer_is_a_lost_link_after_two_seconds(twin: Rig) -> None:
    deaf = [False]
    board = connect(twin, OtherLink(twin.link, out=lambda data: b"" if deaf[0] else data))
    deaf[0] = True
    began = twin.link.clock.now()
    with pytest.raises(LinkLostError, match="no answer to GetStatus"):
        board.status()
    assert twin.link.clock.now() - began == pytest.approx(2.0, abs=0.1)


def test_moments_and_ticks_are_two_names_of_one_thing(twin: Rig) -> None:
    board = connect(twin)
    tick = board.status().tick
    assert abs(twin.link.clock.now() - board.moment_of(tick)) < 0.02
    assert board.tick_at(board.moment_of(tick)) == tick


# ---------------------------------------------------------------------- what ends it


def test_a_reset_in_use_is_told_with_both_boots(twin: Rig) -> None:
    board = connect(twin)
    count = board.boot.boot_count
    bench_of(twin).reset()
    with pytest.raises(ControllerResetError, match=rf"boot {count} to {count + 1}"):
        let_pass(board, 3.0)


def test_stop_switches_everything_off_and_latches(twin: Rig) -> None:
    board = connect(twin)
    board.demand(Power(1))
    assert driven(bench_of(twin)) == {"A5"}
    status = board.stop()
    assert (status.outputs, Cause(status.cause)) == (0, Cause.stop_received)
    assert driven(bench_of(twin)) == set()
    with pytest.raises(RigFaultError, match="refused"):
        board.demand(Power(1))
    board.clear_fault(Cause.stop_received)
    board.demand(Power(1))
    assert driven(bench_of(twin)) == {"A5"}


def test_a_fault_whose_reason_stands_cannot_be_cleared(twin: Rig) -> None:
    board = connect(twin)
    bench_of(twin).avr.edge(0, INTERLOCK, 1)
    let_pass(board, 0.1)
    assert Cause(board.status().cause) is Cause.interlock_open
    with pytest.raises(RigFaultError, match="refused"):
        board.clear_fault(Cause.interlock_open)


def test_a_stop_that_is_never_confirmed_says_to_cut_the_power_by_hand(twin: Rig) -> None:
    said: list[bytes] = []
    deaf = [False]

    def out(data: bytes) -> bytes:
        said.append(data)
        return b"" if deaf[0] else data

    board = connect(twin, OtherLink(twin.link, out=out))
    deaf[0] = True
    with pytest.raises(LinkLostError, match="NOT CONFIRMED SAFE"):
        board.stop()
    assert said.count(bytes(STOP_SEND)) == 5


# ---------------------------------------------------------------------- taken again


def test_another_board_in_the_place_of_a_lost_one_is_never_taken_for_it(twin: Rig) -> None:
    framer, stranger, there = Framer(), bytes(range(16)), False

    def into(data: bytes) -> bytes:
        said = b""
        for frame in framer.feed(data):
            assert frame is not None
            if there and frame.type == Boot.TYPE:
                boot = replace(codec.unpack(Boot, frame.payload), uuid=stranger)
                frame = replace(frame, payload=codec.pack(boot))
            said += encode(frame)
        return said

    board = connect(twin, OtherLink(twin.link, into=into))
    mine, there = board.boot.uuid, True
    for _ in range(2):
        with pytest.raises(LinkLostError, match=f"not come back within 5 s: board {stranger.hex()} answers where {mine.hex()} was"):
            board.reconnect(LinkLostError("the cable"), 5.0)
        assert board.boot.uuid == mine
    there = False
    board.reconnect(LinkLostError("the cable"), 5.0)
    assert board.status().outputs == 0
