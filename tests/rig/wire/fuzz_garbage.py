# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of both receivers at once: `python -m tests.rig.wire.fuzz_garbage [LIBFUZZER OPTION...] [CORPUS]`.

libFuzzer (in atheris) sees the edges taken in the host's Python and in the board's C++, which stops at undefined behaviour.
An input is a script: good frames, pieces of frames and raw bytes, in any cut, so that a check sum is no wall.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rig.wire.frame", "rig.wire.session", "rig.wire.codec"]):
    from rig.wire import codec
    from rig.wire.frame import Frame, Framer, encode
    from rig.wire.session import Session
from rig.wire.messages import MAX_PAYLOAD, MESSAGES, PROTOCOL_HASH, Ack, Boot, Echo, Hello, McuNak, Nak, Ready
from tests.firmware.core import CoreBoard, Reader, library

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "frames.json"
SESSION = 1  # of a board that has booted once
KINDS = sorted(MESSAGES)
WIDTH = {"u8": 1, "u16": 2, "u32": 4, "u48": 6, "bytes[16]": 16}
FIXED_SIZE = {number: sum(WIDTH.get(name, 0) for name in kind.LAYOUT) for number, kind in MESSAGES.items()}  # without a tail
RAW, PIECE, GOOD, SPEAK = range(4)  # the two low bits of an instruction


def core() -> ctypes.CDLL:
    """The board's side, which counts its edges."""
    return library("libcore_guided.so")


class Script:
    """Reads an input: instructions of one byte, and what each needs."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes, zeros where the input is at its end."""
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken + bytes(count - len(taken))

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def frame(self, next_seq: int, to_host: bool) -> Frame:
        """A frame whose numbers lie about where they are expected, of a type that exists, or of any."""
        kind, odd, seq, ack, length = self.take(5)
        kinds = [k for k in KINDS if (k >= 0x80) == to_host]
        chosen = kind if odd & 1 else kinds[kind % len(kinds)]
        session = odd >> 4 if odd & 2 else SESSION
        size = length % (MAX_PAYLOAD + 1)
        if not odd & 4 and chosen in MESSAGES:
            size = FIXED_SIZE[chosen] + (size % 8 if odd & 8 else 0)
        return Frame(chosen, session, (next_seq + seq - 4) & 0xFF if seq < 16 else seq, ack, self.take(min(size, MAX_PAYLOAD)))


class Host:
    """The session in an open conversation, and the rule of the one NAK watched from outside."""

    def __init__(self) -> None:
        self.session = Session()
        boot = Boot(PROTOCOL_HASH, 0, 1, 0, 0, bytes(16), SESSION, 0, 0, 0, 0, 0)
        self.session.begin(boot, PROTOCOL_HASH, nonce=1)
        self.now = 0.0
        self.session.output(self.now)
        self.session.receive(encode(Frame(Ready.TYPE, SESSION, 0, 0, codec.pack(Ready(1, 0)))), self.now)
        self.heard = True
        self.watched = Framer()
        self.said = Framer()

    def receive(self, data: bytes) -> None:
        """Let bytes arrive; good ones may be followed by a NAK, others by one in all."""
        self.now += 0.001
        self.session.receive(data, self.now)
        self.heard |= any(frame is not None for frame in self.watched.feed(data))
        for frame in self.said.feed(self.session.output(self.now)):
            assert frame is not None
            if frame.type == Nak.TYPE:
                assert self.heard, "a second NAK, and no good frame in between"
                self.heard = False


class Far:
    """The board in an open conversation, watched in the same way."""

    def __init__(self) -> None:
        self.board = CoreBoard(core())
        self.heard = True
        self.watched, self.said = Framer(), Framer()
        self.board.run(encode(Frame(Hello.TYPE, SESSION, 0, 0, codec.pack(Hello(PROTOCOL_HASH, 1)))))
        self.board.run(encode(Frame(Ack.TYPE, SESSION, 0, 6, b"")), 4)

    def receive(self, data: bytes) -> None:
        """Let bytes arrive, and 0.25 ms pass."""
        self.heard |= any(frame is not None for frame in self.watched.feed(data))
        for frame in self.said.feed(self.board.run(data, 1)):
            assert frame is not None
            if frame.type == McuNak.TYPE:
                assert self.heard, "a second NAK, and no good frame in between"
                self.heard = False


def play(data: bytes) -> None:
    """Run one script on both sides; raises AssertionError where they differ or break a rule."""
    script = Script(data)
    (start,) = script.take(1)
    to_host = bool(start & 1)
    receiver: Host | Far = Host() if to_host else Far()
    framer, reader = Framer(), Reader(core())
    host: list[Frame | None] = []
    board: list[Frame | None] = []
    next_seq = int(to_host)
    ends = re.compile(rb"[^\0]*\0|[^\0]+")  # up to each delimiter, so that what is said can be told from what came
    while script:
        (instruction,) = script.take(1)
        what, size = instruction & 3, instruction >> 2
        if what == RAW:
            piece = script.take(size)
        elif what == SPEAK:
            if isinstance(receiver, Host):
                receiver.session.send(Echo(script.take(size % 8)))
            piece = bytes(size % 4)
        else:
            whole = encode(script.frame(next_seq, to_host))
            next_seq = (next_seq + 1) & 0xFF
            piece = whole if what == GOOD else whole[: size % len(whole)]
        host += framer.feed(piece)
        board += reader.feed(piece)
        for part in ends.findall(piece):
            receiver.receive(part)
    host += framer.feed(b"\0")
    board += reader.feed(b"\0")
    assert host == board, "the two readers differ"
    last = Frame(Ack.TYPE, SESSION, 0, 0, b"after")
    assert framer.feed(encode(last)) == reader.feed(encode(last)) == [last], "garbage has outlived its delimiter"


def seeds() -> list[bytes]:
    """Scripts to begin with: golden frames whole and cut, what is too long, and a good frame of every type."""
    found = [bytes([to_host, (len(part) << 2 | RAW) & 0xFF]) + part for to_host in (0, 1) for part in _golden()]
    too_long = (bytes([63 << 2 | RAW]) + b"\x55" * 63) * 4 + bytes([1 << 2 | RAW, 0])
    for to_host in (0, 1):
        found.append(bytes([to_host]) + too_long)
        for at in range(len(KINDS)):
            found.append(bytes([to_host, GOOD, at, 0, 4, 0, 0]) + bytes(range(MAX_PAYLOAD)))
    return found


def _golden() -> list[bytes]:
    frames = [bytes.fromhex(vector["frame"]) for vector in json.loads(GOLDEN.read_text(encoding="utf-8"))]
    return [part for frame in frames for part in (frame[:63], frame[: len(frame) // 2])]


def main() -> None:
    """Write the seeds to the corpus, the last argument that is no option, and fuzz."""
    corpus = Path(next(argument for argument in sys.argv[1:] if not argument.startswith("-")))
    for at, seed in enumerate(seeds()):
        (corpus / f"seed{at:03}").write_bytes(seed)
    atheris.Setup(sys.argv, play)
    (libfuzzer,) = Path(atheris.__file__).parent.glob("core_with_libfuzzer.*")
    assert core().guide(ctypes.c_void_p(ctypes.CDLL(str(libfuzzer))._handle))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
