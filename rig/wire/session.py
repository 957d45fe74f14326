# SPDX-License-Identifier: Apache-2.0
"""The host's half of a conversation: reliable commands out, reliable events in. Does no I/O and reads no clock.

The owner feeds `receive` with bytes, writes what `output` returns, and calls again no later than `deadline`. Both
directions are numbered from 0 at HELLO and kept until acknowledged. Commands are resent from the oldest, since the board
keeps none ahead of its turn; the board resends only its oldest event, since the host keeps the others (`docs/protocol.md`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from rig.wire import codec
from rig.wire.frame import Frame, Framer, encode
from rig.wire.messages import MESSAGES, WINDOW, WINDOW_BYTES, Ack, Boot, Hello, McuAck, McuNak, Message, Nak, Ready

INITIAL_RTO_S = 0.050
FLOOR_RTO_S = 0.020
CEILING_RTO_S = 0.060

MOST_EARLY = 64
"""Events that the board's ring of 256 bytes holds at most, four bytes being the least of one."""

TROUBLE_S = 1.0
"""A frame that was damaged, lost or sent again tells of a bad line for this long."""

TROUBLED_RENEWALS = 4
"""On a bad line renewals come this many times as often, since several in a row may be lost before the lease lapses."""


@dataclass(slots=True)
class Losses:
    """What the host saw go wrong on the link, since the conversation began."""

    bad: int = 0  # frames that failed their check
    stale: int = 0  # frames of another session
    duplicate: int = 0  # events seen before
    gap: int = 0  # events ahead of their turn
    resent: int = 0  # commands sent again
    malformed: int = 0  # good frames with an unknown type or a payload that does not fit


@dataclass(slots=True)
class _Sent:
    seq: int
    type: int
    payload: bytes
    size: int
    at: float
    again: bool = False


class RoundTrip:
    """Smoothed round trip and retransmission time-out after RFC 6298, within the bounds named at the top of this file.

    There is no exponential back-off: two parties share the line and there is nothing to congest.
    """

    def __init__(self) -> None:
        self.smoothed_s: float | None = None
        self.variation_s = 0.0

    def sample(self, seconds: float) -> None:
        """Take one measured round trip, in seconds, of a command that was sent once."""
        if self.smoothed_s is None:
            self.smoothed_s, self.variation_s = seconds, seconds / 2
            return
        self.variation_s += (abs(self.smoothed_s - seconds) - self.variation_s) / 4
        self.smoothed_s += (seconds - self.smoothed_s) / 8

    @property
    def timeout_s(self) -> float:
        """Seconds after which an unacknowledged command is sent again."""
        if self.smoothed_s is None:
            return INITIAL_RTO_S
        return min(max(self.smoothed_s + 4 * self.variation_s, FLOOR_RTO_S), CEILING_RTO_S)


class Session:
    """One conversation with one board. Times are seconds of the link's clock, given by the caller."""

    def __init__(self) -> None:
        self.losses = Losses()
        self.round_trip = RoundTrip()
        self.renew_s: float | None = None
        self.open = False
        self._framer = Framer()
        self._session: int | None = None
        self._hello: Hello | None = None
        self._reset_sequences()
        self._last_sent = float("-inf")
        self._trouble_at = float("-inf")

    def _reset_sequences(self) -> None:
        self._next_seq = 0
        self._expected = 0
        self._early: dict[int, Message] = {}  # events ahead of their turn, by number
        self._waiting: deque[tuple[int, int, bytes]] = deque()
        self._in_flight: deque[_Sent] = deque()
        self._unreliable: list[Message] = []
        self._owes_ack = False
        self._nak_sent = False
        self._hello_at = float("-inf")

    def begin(self, boot: Boot, protocol_hash: int, nonce: int) -> None:
        """Open a conversation with the board that said `boot`; READY, among the received, confirms it."""
        self._reset_sequences()
        self.open = False
        self._session = boot.boot_count & 0xFF
        self._hello = Hello(protocol_hash, nonce)

    # ------------------------------------------------------------------ out

    def send(self, message: Message) -> int:
        """Queue a reliable command; returns its sequence number, which REPLY repeats."""
        seq = self._next_seq
        self._next_seq = (seq + 1) & 0xFF
        self._waiting.append((seq, message.TYPE, codec.pack(message)))
        return seq

    @property
    def idle(self) -> bool:
        """Nothing sent is unacknowledged and nothing waits."""
        return not self._in_flight and not self._waiting

    def output(self, now: float) -> bytes:
        """Bytes to write now: commands that fit the window, resends that are due, acknowledgements owed, a renewal."""
        if self._session is None:
            return b""
        out = bytearray()
        if not self.open:
            if self._hello is not None and now >= self._hello_at + CEILING_RTO_S:
                self._hello_at = now
                out += self._frame(Hello.TYPE, 0, codec.pack(self._hello))
            return bytes(out)
        if self._in_flight and now >= self._in_flight[0].at + self.round_trip.timeout_s:
            self._resend(out, now)
        while self._waiting and len(self._in_flight) < WINDOW:
            seq, kind, payload = self._waiting[0]
            frame = self._frame(kind, seq, payload)
            if self._in_flight and sum(sent.size for sent in self._in_flight) + len(frame) > WINDOW_BYTES:
                break
            self._waiting.popleft()
            self._in_flight.append(_Sent(seq, kind, payload, len(frame), now))
            out += frame
        for message in self._unreliable:
            out += self._frame(message.TYPE, self._send_seq, b"")
        self._unreliable.clear()
        if not out and (self._owes_ack or now >= self._renewal_at):
            out += self._frame(Ack.TYPE, self._send_seq, b"")
        if out:
            self._owes_ack = False
            self._last_sent = now
        return bytes(out)

    def deadline(self) -> float:
        """When `output` wants to be called again; infinity when nothing is due."""
        if self._session is None:
            return float("inf")
        if not self.open:
            return self._hello_at + CEILING_RTO_S
        due = float("inf")
        if self._in_flight:
            due = self._in_flight[0].at + self.round_trip.timeout_s
        return min(due, self._renewal_at)

    @property
    def _renewal_at(self) -> float:
        """When the board must hear of this host again."""
        if self.renew_s is None:
            return float("inf")
        troubled = self._last_sent < self._trouble_at + TROUBLE_S
        return self._last_sent + (self.renew_s / TROUBLED_RENEWALS if troubled else self.renew_s)

    @property
    def _send_seq(self) -> int:
        """The number that an unreliable frame carries: the next one that goes on the wire."""
        return self._waiting[0][0] if self._waiting else self._next_seq

    def _frame(self, kind: int, seq: int, payload: bytes) -> bytes:
        assert self._session is not None
        return encode(Frame(kind, self._session, seq, self._expected, payload))

    def _resend(self, out: bytearray, now: float) -> None:
        for sent in self._in_flight:
            sent.at, sent.again = now, True
            out += self._frame(sent.type, sent.seq, sent.payload)
            self.losses.resent += 1
        self._trouble_at = now

    # ------------------------------------------------------------------ in

    def receive(self, data: bytes, now: float) -> list[Message]:
        """Messages completed by `data`: events in order and exactly once, and every BOOT."""
        received: list[Message] = []
        for frame in self._framer.feed(data):
            if frame is None:
                self.losses.bad += 1
                self._trouble_at = now
                self._nak()
            else:
                self._take(frame, now, received)
        return received

    def _nak(self) -> None:
        """Ask once for a resend; not again until a good frame has arrived."""
        if self.open and not self._nak_sent:
            self._unreliable.append(Nak())
            self._nak_sent = True

    def _take(self, frame: Frame, now: float, received: list[Message]) -> None:
        kind = MESSAGES.get(frame.type)
        if kind is None or frame.type < 0x80:
            self.losses.malformed += 1
            return
        try:
            message = codec.unpack(kind, frame.payload)
        except codec.MalformedPayloadError:
            self.losses.malformed += 1
            return
        if isinstance(message, Boot):  # names a session of its own
            received.append(message)
            return
        if frame.session != self._session:
            self.losses.stale += 1
            return
        if not self.open and not (isinstance(message, Ready) and self._hello and message.nonce == self._hello.nonce):
            self.losses.stale += 1  # of the conversation before
            return
        self.open = True
        self._acknowledge(frame.ack, now)
        if isinstance(message, McuNak):
            self._rewind()
        ahead = (frame.seq - self._expected) & 0xFF
        if not kind.RELIABLE or isinstance(message, McuAck):
            if ahead == 0:  # else what was lost is still missing, and asked for already
                self._nak_sent = False
            return
        if ahead == 0:
            self._early[frame.seq] = message
            while self._expected in self._early:
                received.append(self._early.pop(self._expected))
                self._expected = (self._expected + 1) & 0xFF
            self._nak_sent = False
            self._owes_ack = True
            if self._early:
                self._nak()  # the next one that is missing
        elif ahead < 0x80:
            if ahead < MOST_EARLY:
                self._early[frame.seq] = message
            self.losses.gap += 1
            self._trouble_at = now
            self._nak()
        else:
            self.losses.duplicate += 1
            self._owes_ack = True

    def _acknowledge(self, ack: int, now: float) -> None:
        while self._in_flight and 0 < ((ack - self._in_flight[0].seq) & 0xFF) <= len(self._in_flight):
            sent = self._in_flight.popleft()
            if not sent.again:  # Karn: a resent command measures nothing
                self.round_trip.sample(now - sent.at)

    def _rewind(self) -> None:
        if self._in_flight:
            self._in_flight[0].at = float("-inf")  # due at once
            self._in_flight[0].again = True  # what was sent once and not in time measures nothing either
