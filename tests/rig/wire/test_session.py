# SPDX-License-Identifier: Apache-2.0
"""The session against scripted frames: every rule of `docs/protocol.md` on reliability, from the host's side."""

from __future__ import annotations

import pytest

from rig.wire import codec
from rig.wire.frame import Frame, Framer, encode
from rig.wire.messages import (
    PROTOCOL_HASH,
    WINDOW,
    Ack,
    Actuated,
    Boot,
    Echo,
    GetStatus,
    Hello,
    McuAck,
    McuNak,
    Message,
    Nak,
    Ready,
    Reply,
)
from rig.wire.session import CEILING_RTO_S, FLOOR_RTO_S, INITIAL_RTO_S, RoundTrip, Session

BOOT = Boot(PROTOCOL_HASH, 0, 1, 0, 0x1234, bytes(16), boot_count=0x105, wiring=0, launcher=0, reset_cause=0, flags=1, cause=0)
SESSION = 0x05


def mcu(message: Message, seq: int, ack: int = 0, session: int = SESSION) -> bytes:
    return encode(Frame(message.TYPE, session, seq, ack, codec.pack(message)))


def sent(data: bytes) -> list[Frame]:
    return [frame for frame in Framer().feed(data) if frame is not None]


@pytest.fixture
def session() -> Session:
    opened = Session()
    opened.begin(BOOT, PROTOCOL_HASH, nonce=7)
    (hello,) = sent(opened.output(0.0))
    assert hello.type == Hello.TYPE
    assert opened.receive(mcu(Ready(7, 100), 0), 0.0) == [Ready(7, 100)]
    opened.output(0.0)  # the acknowledgement of READY
    return opened


def event(number: int) -> Actuated:
    return Actuated(number, 1000 * number)


def test_nothing_is_said_before_the_board_has_said_boot() -> None:
    session = Session()
    session.renew_s = 0.1
    assert session.output(0.0) == b""
    assert session.receive(mcu(BOOT, 0), 0.0) == [BOOT]
    assert session.output(10.0) == b""


def test_hello_is_repeated_until_ready_comes() -> None:
    session = Session()
    session.begin(BOOT, PROTOCOL_HASH, nonce=7)
    assert [f.type for f in sent(session.output(0.0))] == [Hello.TYPE]
    assert session.output(0.01) == b""
    assert [f.type for f in sent(session.output(session.deadline()))] == [Hello.TYPE]
    session.receive(mcu(Ready(8, 0), 0), 0.1)
    assert not session.open, "READY with another nonce belongs to another conversation"
    session.receive(mcu(Ready(7, 0), 0), 0.1)
    assert session.open


def test_commands_are_numbered_and_at_most_a_window_is_in_flight(session: Session) -> None:
    numbers = [session.send(Echo(bytes([n]))) for n in range(WINDOW + 2)]
    assert numbers == list(range(WINDOW + 2))
    assert [f.seq for f in sent(session.output(1.0))] == numbers[:WINDOW]
    assert session.output(1.001) == b""
    session.receive(mcu(McuAck(), 1, ack=2), 1.002)
    assert [f.seq for f in sent(session.output(1.002))] == numbers[WINDOW:]


def test_unacknowledged_commands_are_resent_in_order_from_the_oldest(session: Session) -> None:
    for n in range(3):
        session.send(Echo(bytes([n])))
    session.output(1.0)
    session.receive(mcu(McuAck(), 1, ack=1), 1.001)
    assert session.output(session.deadline() - 1e-6) == b""
    again = sent(session.output(session.deadline()))
    assert [f.seq for f in again] == [1, 2]
    assert session.losses.resent == 2


def test_a_nak_resends_at_once(session: Session) -> None:
    session.send(GetStatus())
    session.output(1.0)
    session.receive(mcu(McuNak(), 1, ack=0), 1.001)
    assert [f.seq for f in sent(session.output(1.001))] == [0]


def test_events_come_in_order_and_exactly_once(session: Session) -> None:
    first, second, third = (mcu(event(n), n) for n in (1, 2, 3))
    assert session.receive(first, 1.0) == [event(1)]
    assert session.receive(first, 1.0) == []
    assert session.receive(third, 1.0) == []
    assert session.receive(second + third, 1.0) == [event(2), event(3)]  # the third was kept, and comes twice
    assert (session.losses.duplicate, session.losses.gap) == (2, 1)


def test_what_is_further_ahead_than_the_board_can_hold_is_not_kept(session: Session) -> None:
    assert session.receive(mcu(event(65), 65), 1.0) == []
    for n in range(1, 65):
        assert session.receive(mcu(event(n), n), 1.0) == [event(n)]
    assert session.receive(mcu(event(66), 66), 1.0) == []
    assert session.receive(mcu(event(65), 65), 1.0) == [event(65), event(66)]


def test_a_gap_earns_one_nak_until_a_good_frame_has_arrived(session: Session) -> None:
    session.receive(mcu(event(2), 2), 1.0)
    assert [(f.type, f.ack) for f in sent(session.output(1.0))] == [(Nak.TYPE, 1)]
    session.receive(mcu(event(3), 3) + b"\0garbage\0", 1.0)
    assert Nak.TYPE not in [f.type for f in sent(session.output(1.0))]
    assert session.receive(mcu(event(1), 1), 1.0) == [event(1), event(2), event(3)]
    session.receive(mcu(event(5), 5), 1.0)
    assert [(f.type, f.ack) for f in sent(session.output(1.0))] == [(Nak.TYPE, 4)]


def test_the_next_gap_is_asked_for_as_soon_as_one_is_filled(session: Session) -> None:
    for n in (2, 4):
        session.receive(mcu(event(n), n), 1.0)
    assert [(f.type, f.ack) for f in sent(session.output(1.0))] == [(Nak.TYPE, 1)]
    assert session.receive(mcu(event(1), 1), 1.0) == [event(1), event(2)]
    assert [(f.type, f.ack) for f in sent(session.output(1.0))] == [(Nak.TYPE, 3)]


def test_a_damaged_frame_earns_one_nak(session: Session) -> None:
    damaged = bytearray(mcu(event(1), 1))
    damaged[5] ^= 0x10
    session.receive(bytes(damaged) * 3, 1.0)
    assert [f.type for f in sent(session.output(1.0))] == [Nak.TYPE]
    assert session.losses.bad >= 1


def test_an_event_is_acknowledged_even_when_it_was_seen_before(session: Session) -> None:
    for _ in range(2):
        session.receive(mcu(event(1), 1), 1.0)
        assert [(f.type, f.ack) for f in sent(session.output(1.0))] == [(Ack.TYPE, 2)]


def test_frames_of_another_session_are_dropped_and_counted(session: Session) -> None:
    assert session.receive(mcu(event(1), 1, session=SESSION + 1), 1.0) == []
    assert session.losses.stale == 1


def test_the_sequence_wraps(session: Session) -> None:
    for number in range(1, 600):
        assert session.receive(mcu(event(number), number & 0xFF), 1.0) == [event(number)]
    seqs = []
    for number in range(600):
        seqs.append(session.send(GetStatus()))
        (frame,) = sent(session.output(float(number)))
        session.receive(mcu(McuAck(), 600 & 0xFF, ack=(frame.seq + 1) & 0xFF), float(number))
    assert seqs == [n & 0xFF for n in range(600)]
    assert session.idle


def test_the_lease_is_renewed_by_whatever_is_sent(session: Session) -> None:
    session.renew_s = 0.08
    assert [f.type for f in sent(session.output(1.0))] == [Ack.TYPE]
    assert session.output(1.07) == b""
    assert session.deadline() == pytest.approx(1.08)
    assert [f.type for f in sent(session.output(1.08))] == [Ack.TYPE]


def test_a_reply_acknowledges_its_command_and_measures_the_round_trip(session: Session) -> None:
    seq = session.send(GetStatus())
    session.output(1.0)
    session.receive(mcu(Reply(seq, 0), 1, ack=1), 1.004)
    assert session.idle
    assert session.round_trip.smoothed_s == pytest.approx(0.004)


def test_the_time_out_stays_within_its_bounds() -> None:
    trip = RoundTrip()
    assert trip.timeout_s == INITIAL_RTO_S
    for _ in range(50):
        trip.sample(0.001)
    assert trip.timeout_s == FLOOR_RTO_S
    trip.sample(3.0)
    assert trip.timeout_s == CEILING_RTO_S


def test_an_unknown_or_misshapen_message_is_counted_not_raised(session: Session) -> None:
    assert session.receive(encode(Frame(0xF0, SESSION, 1, 0, b"")), 1.0) == []
    assert session.receive(encode(Frame(Actuated.TYPE, SESSION, 1, 0, b"short")), 1.0) == []
    assert session.losses.malformed == 2
