# SPDX-License-Identifier: Apache-2.0
"""Bursts of garbage: what they cost the host's framing and session, and the board's, which are held against each other.

The board is its own C++, called as a library; bytes travel between the two with no line of their own but this file's.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from rig.wire import codec
from rig.wire.frame import MAX_ENCODED, Frame, Framer, encode
from rig.wire.messages import (
    MAX_PAYLOAD,
    PROTOCOL_HASH,
    WINDOW,
    Ack,
    Boot,
    Echo,
    Echoed,
    McuAck,
    McuNak,
    Message,
    Nak,
    Ready,
    Reply,
)
from rig.wire.session import Session
from tests.firmware.core import CHECK_ALONE, CoreBoard, Damage, Reader, damaged_batch, judge

RANDOM_BYTES = 1_000_000
STEP_S = 0.000_25
BYTES_PER_STEP = 3  # 115200 baud
SETTLE_STEPS = 600
BURSTS = 60


def some_frame(rng: random.Random) -> Frame:
    zeros = rng.random()
    payload = bytes(0 if rng.random() < zeros else rng.randrange(256) for _ in range(rng.randrange(MAX_PAYLOAD + 1)))
    return Frame(*rng.randbytes(4), payload)


def burst(rng: random.Random, longest: int = 300) -> bytes:
    """Garbage of one of the kinds that a line brings: noise, silence, a stuck line, many delimiters, pieces of frames."""
    length = rng.randrange(1, longest + 1)
    kind = rng.randrange(8)
    if kind == 0:
        return bytes(length)
    if kind == 1:
        return b"\xff" * length
    if kind == 2:
        return bytes([rng.randrange(1, 256)]) * length
    if kind == 3:
        return bytes(rng.choice((0, 0, 1, 2, 0xFF)) for _ in range(length))
    if kind == 4:
        piece = encode(some_frame(rng))
        at = rng.randrange(2, len(piece) - 2)
        return piece[:at] if rng.random() < 0.5 else piece[at:-1]
    return rng.randbytes(length)


def cut(rng: random.Random, stream: bytes) -> Iterator[bytes]:
    """The stream in pieces of any size, single bytes and empty ones included."""
    at = 0
    while at < len(stream):
        size = rng.choice((0, 1, 2, rng.randrange(60), rng.randrange(5000)))
        yield stream[at : at + size]
        at += size


def good(found: list[Frame | None]) -> list[Frame]:
    return [frame for frame in found if frame is not None]


def both_read(rng: random.Random, stream: bytes) -> list[Frame]:
    """The frames in `stream`, on which both readers agree however it is cut, as on the number of bad pieces."""
    framer, reader = Framer(), Reader()
    host = [frame for piece in cut(rng, stream + b"\0") for frame in framer.feed(piece)]
    board = [frame for piece in cut(rng, stream + b"\0") for frame in reader.feed(piece)]
    assert host == board
    return good(host)


# ------------------------------------------------------------------ framing


def test_both_readers_find_the_same_in_a_million_random_bytes() -> None:
    rng = random.Random(1)
    assert both_read(rng, rng.randbytes(RANDOM_BYTES)) == []


def test_both_readers_find_the_same_where_zeros_and_small_codes_are_frequent() -> None:
    rng = random.Random(2)
    codes = [0, 0, 0, 1, 1, 2, 3, 7, 8, 9, 54, 55, 56, 57, 254, 255, 255, *range(256)]
    both_read(rng, bytes(rng.choices(codes, k=300_000)))


def test_both_readers_find_the_same_where_blocks_are_of_every_length() -> None:
    """Every code byte with every number of bytes behind it: where the two COBS decoders could differ."""
    rng = random.Random(3)
    stream = bytearray()
    for code in range(1, 256):
        for behind in range(70):
            stream += bytes([code]) + bytes(rng.randrange(1, 256) for _ in range(behind)) + b"\0"
    for behind in range(250, 520):
        stream += b"\xff" * behind + b"\0" + b"\xff" + b"\x01" * behind + b"\0"
    both_read(rng, bytes(stream))


@pytest.mark.parametrize("damage", Damage, ids=lambda damage: damage.name)
def test_both_readers_find_the_same_in_damaged_frames(damage: Damage) -> None:
    rng = random.Random(damage)
    for seed in range(8):
        before, after = damaged_batch(damage, seed)
        sent = both_read(rng, before)
        assert len(sent) == 256
        received = both_read(rng, after)
        assert [frame for frame in received if frame not in sent] == []
        if damage is not Damage.duplicates:  # whose delimiters come twice, and no harm done
            assert len(received) < 256


def test_a_burst_costs_only_the_frames_that_it_hits() -> None:
    """At most one when it falls into a frame, none when it falls between two, and any that it writes over."""
    rng = random.Random(4)
    garbage = 0
    while garbage < RANDOM_BYTES:
        sent = [some_frame(rng) for _ in range(8)]
        encoded = [encode(frame) for frame in sent]
        stream = b"".join(encoded)
        ends = [sum(map(len, encoded[:n])) for n in range(len(encoded) + 1)]
        noise = burst(rng)
        garbage += len(noise)
        start = rng.choice(ends) if rng.random() < 0.2 else rng.randrange(len(stream) + 1)
        stop = start if rng.random() < 0.5 else min(start + len(noise), len(stream))
        received = both_read(rng, stream[:start] + noise + stream[stop:])
        whole = [frame for frame, (begin, end) in zip(sent, pairwise(ends), strict=True) if stop <= begin or end <= start]
        assert [frame for frame in received if frame in whole] == whole
        assert all(frame in sent for frame in received)


def test_after_any_garbage_a_good_frame_is_read_at_once() -> None:
    rng = random.Random(5)
    framer, reader = Framer(), Reader()
    garbage = 0
    while garbage < RANDOM_BYTES:
        noise, frame = burst(rng, 1000), some_frame(rng)
        garbage += len(noise)
        for receiver in (framer, reader):
            receiver.feed(noise)
            found = receiver.feed(encode(frame))
            assert found in ([frame], [None, frame])
    assert len(framer._rest) <= MAX_ENCODED


@pytest.mark.parametrize("damage", [damage for damage in Damage if damage not in CHECK_ALONE], ids=lambda damage: damage.name)
def test_bad_frames_are_refused(damage: Damage) -> None:
    """A look at what `benches/bench_bad_frames.py` measures: these frames are always the same, and hardly one passes."""
    judged = judge(damage, 200_000, seed=1)
    assert judged.damaged > 20_000
    assert judged.accepted <= 1  # one where three bytes were hit


def test_a_body_at_random_passes_as_often_as_a_check_of_16_bits_lets_it() -> None:
    """So that the count of bad frames accepted is seen to count."""
    judged = judge(Damage.any_body, 1_000_000, seed=1)
    assert judged.accepted / judged.damaged == pytest.approx(2**-16, rel=0.75)


# ------------------------------------------------------------------ the conversation


class Line:
    """One direction: bytes at a rate, so much later; a burst comes where the line is when `disturb` is called."""

    def __init__(self, latency: int) -> None:
        self._waiting = bytearray()
        self._travelling = deque([b""] * latency)
        self.framer = Framer()  # what the sender wrote
        self.said: list[Frame] = []
        self.arriving = Framer()  # what arrives
        self.arrived: list[Frame] = []

    def write(self, data: bytes) -> None:
        self._waiting += data
        self.said += good(self.framer.feed(data))

    def disturb(self, noise: bytes) -> None:
        self._travelling[-1] += noise

    def step(self) -> bytes:
        self._travelling.append(bytes(self._waiting[:BYTES_PER_STEP]))
        del self._waiting[:BYTES_PER_STEP]
        came = self._travelling.popleft()
        self.arrived += good(self.arriving.feed(came))
        return came

    @property
    def quiet(self) -> bool:
        return not self._waiting and not any(self._travelling)


class Conversation:
    """The host's session and the board's firmware, over two lines that take `latency` steps each."""

    def __init__(self, latency: int) -> None:
        self.board, self.session = CoreBoard(), Session()
        self.to_board, self.to_host = Line(latency), Line(latency)
        self.now = 0.0
        self.received: list[Message] = []
        self.session.renew_s = 0.080
        self.run_until(lambda: any(isinstance(message, Boot) for message in self.received))
        boot = next(message for message in self.received if isinstance(message, Boot))
        self.session.begin(boot, PROTOCOL_HASH, nonce=1)
        self.run_until(lambda: self.session.open)
        self.settle()

    def step(self) -> None:
        self.now += STEP_S
        self.to_board.write(self.session.output(self.now))
        self.to_host.write(self.board.run(self.to_board.step(), 1))
        self.received += self.session.receive(self.to_host.step(), self.now)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def run_until(self, done: Callable[[], bool], steps: int = 8000) -> None:
        while not done():
            assert steps, "what is waited for does not come"
            self.step()
            steps -= 1

    def settle(self) -> None:
        """Until an event whose acknowledgement was lost has been told again, and that has been acknowledged."""
        self.run_until(lambda: self.session.idle)
        self.run(SETTLE_STEPS)
        self.run_until(lambda: self.to_board.quiet and self.to_host.quiet)

    def forget(self) -> None:
        for line in (self.to_board, self.to_host):
            line.said.clear()
            line.arrived.clear()
        self.received.clear()


def said(line: Line, kind: type[Message]) -> int:
    return sum(frame.type == kind.TYPE for frame in line.said)


@pytest.mark.parametrize("latency", [8, 70], ids=["2 ms", "17 ms"])
@pytest.mark.parametrize("disturbed", ["to_board", "to_host"])
def test_a_burst_in_a_conversation_costs_one_frame_and_at_most_one_nak(disturbed: str, latency: int) -> None:
    """Each burst meets a conversation in full swing; afterwards everything has been said and done exactly once."""
    rng = random.Random(f"{disturbed} {latency}")
    talk = Conversation(latency)
    line: Line = getattr(talk, disturbed)
    heard_by, other = (McuNak, Nak) if disturbed == "to_board" else (Nak, McuNak)
    answers, back = (talk.to_host, talk.to_board) if disturbed == "to_board" else (talk.to_board, talk.to_host)
    for number in range(BURSTS):
        talk.forget()
        echoes = [Echo(rng.randbytes(rng.choice((0, 1, 20, 44)))) for _ in range(rng.randrange(1, 6))]
        seqs = [talk.session.send(echo) for echo in echoes]
        talk.run(rng.randrange(120))
        noise = burst(rng)
        line.disturb(noise)
        talk.settle()
        line.disturb(b"\0")  # ends what the burst left open, which is still this burst's
        talk.settle()
        context = f"burst {number}: {noise.hex()}"
        assert 0 <= len(line.said) - len(line.arrived) <= 1, context
        assert said(answers, heard_by) <= 1, context
        assert said(back, other) == 0, context
        assert [m.data for m in talk.received if isinstance(m, Echoed)] == [echo.data for echo in echoes], context
        assert [m.command for m in talk.received if isinstance(m, Reply)] == seqs, context
    assert talk.board.energised == 0


def a_burst_among(rng: random.Random, frames: list[bytes]) -> bytes:
    """The frames with one burst among them, which ends with a delimiter lest it reach into what comes later."""
    stream = b"".join(frames)
    at = rng.randrange(len(stream) + 1)
    return stream[:at] + burst(rng) + stream[at:] + b"\0"


def test_a_million_bytes_in_bursts_cost_the_host_one_frame_and_one_nak_each() -> None:
    """The board repeats the event that was lost; acknowledgements stand between events, as they may."""
    rng = random.Random(6)
    session = Session()
    session.begin(Boot(PROTOCOL_HASH, 0, 1, 0, 0, bytes(16), 7, 0, 0, 0, 0, 0), PROTOCOL_HASH, nonce=1)
    session.output(0.0)
    session.receive(encode(Frame(Ready.TYPE, 7, 0, 0, codec.pack(Ready(1, 0)))), 0.0)
    session.output(0.0)
    garbage, seq, now = 0, 1, 0.0
    while garbage < RANDOM_BYTES:
        now += 1
        seqs = [(seq + n) & 0xFF for n in range(rng.randrange(1, 7))]
        events = {number: encode(Frame(Echoed.TYPE, 7, number, 0, rng.randbytes(rng.randrange(20)))) for number in seqs}
        frames = []
        for number, event in events.items():
            frames.append(event)
            if rng.random() < 0.3:
                frames.append(encode(Frame(McuAck.TYPE, 7, (number + 1) & 0xFF, 0, b"")))
        stream = a_burst_among(rng, frames)
        garbage += len(stream) - sum(map(len, frames))
        said, received = b"", []
        for piece in cut(rng, stream):
            received += session.receive(piece, now)
            said += session.output(now)
        while len(received) < len(events):
            acked = (seq + len(received)) & 0xFF
            more = session.receive(events[acked], now)
            assert more
            received += more
            said += session.output(now)
        assert [encode(Frame(Echoed.TYPE, 7, n, 0, m.data)) for n, m in zip(seqs, received, strict=True)] == list(events.values())
        assert [frame.type for frame in good(Framer().feed(said))].count(Nak.TYPE) <= 1, stream.hex()
        seq = (seq + len(events)) & 0xFF


def test_a_million_bytes_in_bursts_cost_the_board_one_frame_and_one_nak_each() -> None:
    """The host repeats from the command that was lost; acknowledgements stand between commands, as they may."""
    rng = random.Random(7)
    talk = Conversation(8)
    board, framer = talk.board, Framer()
    garbage = seq = 0
    told = sum(frame.type >= Ready.TYPE for frame in talk.to_host.said)  # events: the number of the next one
    while garbage < RANDOM_BYTES:
        seqs = [(seq + n) & 0xFF for n in range(rng.randrange(1, WINDOW + 1))]
        commands = {number: encode(Frame(Echo.TYPE, 1, number, told, rng.randbytes(rng.randrange(8)))) for number in seqs}
        frames = []
        for number, command in commands.items():
            frames.append(command)
            if rng.random() < 0.3:
                frames.append(encode(Frame(Ack.TYPE, 1, (number + 1) & 0xFF, told, b"")))
        stream = a_burst_among(rng, frames)
        garbage += len(stream) - sum(map(len, frames))
        said = [frame for piece in cut(rng, stream) for frame in good(framer.feed(board.run(piece)))]
        done = [frame.payload[0] for frame in said if frame.type == Reply.TYPE]
        assert done == seqs[: len(done)]
        for number in seqs[len(done) :]:
            said += good(framer.feed(board.run(commands[number])))
        assert [frame.payload[0] for frame in said if frame.type == Reply.TYPE] == seqs
        assert [frame.type for frame in said].count(McuNak.TYPE) <= 1, stream.hex()
        seq = (seq + len(commands)) & 0xFF
        told = (told + 2 * len(commands)) & 0xFF  # ECHOED and REPLY
        board.run(encode(Frame(Ack.TYPE, 1, seq, told, b"")))
    assert board.energised == 0


@pytest.mark.parametrize("cuts", [1, 97, 5000])
def test_a_million_bytes_of_garbage_earn_one_nak_of_either_side(cuts: int) -> None:
    """Nothing good arrives among them; the next good frame is heard, and then there may be another NAK."""
    rng = random.Random(cuts)
    talk = Conversation(8)
    noise = rng.randbytes(RANDOM_BYTES if cuts > 1 else RANDOM_BYTES // 20)
    talk.forget()
    to_board = Framer()
    board_said = host_said = b""
    for at in range(0, len(noise), cuts):
        board_said += talk.board.run(noise[at : at + cuts])
        assert talk.session.receive(noise[at : at + cuts], talk.now) == []
        host_said += talk.session.output(talk.now)
    assert [frame.type for frame in good(Framer().feed(board_said))] == [McuNak.TYPE]
    assert [frame.type for frame in good(to_board.feed(host_said))] == [Nak.TYPE]
    seq = talk.session.send(Echo(b"after"))
    for line in (talk.to_board, talk.to_host):
        line.disturb(b"\0")
    talk.run_until(lambda: any(isinstance(m, Reply) and m.command == seq for m in talk.received))
    assert [m.data for m in talk.received if isinstance(m, Echoed)] == [b"after"]
    assert talk.board.energised == 0
