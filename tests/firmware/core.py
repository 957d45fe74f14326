# SPDX-License-Identifier: Apache-2.0
"""The firmware's core, compiled for this machine and called from Python: the very C++ of the board, with no AVR between.

Held against the host's half of the protocol in `tests/rig/wire/test_garbage.py` and in `benches/bench_bad_frames.py`.
"""

from __future__ import annotations

import ctypes
import enum
import fcntl
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scipy.stats import beta

from rig.wire.frame import Frame
from rig.wire.messages import MAX_PAYLOAD

HERE = Path(__file__).parent
BUILD = HERE / "build"
BATCH_ROOM = 1 << 18


class _Found(ctypes.Structure):
    _fields_ = (
        ("good", ctypes.c_uint8),
        ("type", ctypes.c_uint8),
        ("session", ctypes.c_uint8),
        ("seq", ctypes.c_uint8),
        ("ack", ctypes.c_uint8),
        ("length", ctypes.c_uint8),
        ("payload", ctypes.c_uint8 * MAX_PAYLOAD),
    )


class _Judged(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("sent", "damaged", "refused", "accepted"))


class Damage(enum.IntEnum):
    """What a line can do to frames, in the order of `library/damage.h`, where each is described."""

    bits = 0
    bytes = 1
    drops = 2
    duplicates = 3
    line = 4
    inserted = 5
    overwritten = 6
    joined = 7
    delimiters = 8
    appended = 9
    shifted = 10
    any_body = 11


CHECK_ALONE = (Damage.any_body,)  # made to pass every other hurdle; no line does that


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of frames on a damaging line; see `library/damage.h`."""

    sent: int
    damaged: int
    refused: int
    accepted: int

    def __add__(self, other: Judged) -> Judged:
        return Judged(
            self.sent + other.sent, self.damaged + other.damaged, self.refused + other.refused, self.accepted + other.accepted
        )


def build(*targets: str) -> Path:
    """Bring `targets` of the Makefile beside this file up to date; returns the directory that holds them."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:  # parallel test workers build one after the other
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(
            ["make", "-s", f"PYTHON={sys.executable}", *targets], cwd=HERE, capture_output=True, text=True, check=False
        )
    assert made.returncode == 0, made.stderr
    return BUILD


@cache
def library(name: str = "libcore.so") -> ctypes.CDLL:
    """The core as a shared library; `libcore_guided.so` also tells libFuzzer which edges were taken."""
    core = ctypes.CDLL(str(build(f"build/{name}") / name))
    core.reader_new.restype = ctypes.c_void_p
    core.reader_free.argtypes = [ctypes.c_void_p]
    core.reader_feed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p]
    core.board_run.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32]
    core.board_take.argtypes = [ctypes.c_char_p]
    core.board_energised.restype = ctypes.c_uint16
    core.judge.restype = _Judged
    core.judge.argtypes = [ctypes.c_uint8, ctypes.c_uint64, ctypes.c_uint64]
    core.damaged_batch.restype = ctypes.c_bool
    core.damaged_batch.argtypes = [ctypes.c_uint8, ctypes.c_uint64, *[ctypes.c_void_p] * 4, ctypes.c_uint32]
    return core


class Reader:
    """The board's frame reader, with the interface of the host's `Framer`."""

    def __init__(self, core: ctypes.CDLL | None = None) -> None:
        self._core = core or library()
        self._reader = self._core.reader_new()

    def __del__(self) -> None:
        self._core.reader_free(self._reader)

    def feed(self, data: bytes) -> list[Frame | None]:
        """Frames completed by `data`, in order; None stands for a piece that was no good frame."""
        found = (_Found * len(data))()
        number = self._core.reader_feed(self._reader, data, len(data), found)
        return [
            Frame(one.type, one.session, one.seq, one.ack, bytes(one.payload[: one.length])) if one.good else None
            for one in found[:number]
        ]


class CoreBoard:
    """The whole firmware on the stub board, in steps of 0.25 ms. There is one: a new one switches the old one off."""

    def __init__(self, core: ctypes.CDLL | None = None) -> None:
        self._core = core or library()
        self._core.board_start()

    def run(self, data: bytes = b"", steps: int = 0) -> bytes:
        """Let `data` arrive and then `steps` pass; returns what the board says meanwhile."""
        said = ctypes.create_string_buffer(self._core.board_run(data, len(data), steps))
        self._core.board_take(said)
        return said.raw

    @property
    def energised(self) -> int:
        """Outputs that are on, one bit each."""
        return int(self._core.board_energised())


def judge(damage: Damage, frames: int, seed: int) -> Judged:
    """Send at least `frames` frames to the board's reader through a line that damages them so."""
    judged = library().judge(damage, frames, seed)
    return Judged(judged.sent, judged.damaged, judged.refused, judged.accepted)


def upper_limit(judged: Judged) -> float:
    """Upper 95 % limit (one-sided, Clopper-Pearson) of the bad frames accepted for each frame damaged."""
    return float(beta.ppf(0.95, judged.accepted + 1, judged.damaged - judged.accepted))


def damaged_batch(damage: Damage, seed: int) -> tuple[bytes, bytes]:
    """256 frames as they were sent, and as they arrive."""
    before, after = (ctypes.create_string_buffer(BATCH_ROOM) for _ in range(2))
    counts = (ctypes.c_uint32 * 2)()
    address = ctypes.addressof(counts)
    assert library().damaged_batch(damage, seed, before, address, after, address + 4, BATCH_ROOM)
    return before.raw[: counts[0]], after.raw[: counts[1]]
