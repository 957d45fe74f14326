# SPDX-License-Identifier: Apache-2.0
"""Payload echoed as fast as the session's window lets it, by firmware built for one rate or another."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig.twin.avr import CYCLE_HZ
from rig.wire.messages import MAX_PAYLOAD, WINDOW, Echo, Echoed, Message
from tests.system.edges import EdgeBoard, bench_of

FIRMWARE = Path(__file__).parents[2] / "firmware_arduino"


def built_for(baud: int, folder: Path) -> Path:
    """The ELF of the same source with another line rate in bit/s, the only difference."""
    subprocess.run(["make", "-s", "-C", FIRMWARE, f"BUILD={folder}", f"EXTRA=-DLAUNCHRIG_BAUD={baud}"], check=True)
    return folder / "firmware_arduino.ino.elf"


class EchoBoard(EdgeBoard):
    """Keeps the session's window full of echoes and what came back of them."""

    echoed: list[bytes]

    def keep(self, message: Message) -> None:
        if isinstance(message, Echoed):
            self.echoed.append(message.data)
        super().keep(message)


@dataclass(frozen=True, slots=True)
class EchoRun:
    """What became of `sent` payload bytes; `seconds` of virtual time, `losses` of both ends above zero."""

    sent: int
    is_same: bool
    seconds: float
    losses: dict[str, int]
    rx_overruns: int

    @property
    def baud(self) -> float:
        """Line rate that would carry the payload alone, 10 bits a byte."""
        return self.sent * 10 / self.seconds


def echo(payload: int, elf: Path | None = None, seed: int = 1) -> EchoRun:
    """Have `payload` random bytes echoed in full frames, as many at once as the window allows."""
    draw = random.Random(seed)
    sent = [draw.randbytes(MAX_PAYLOAD) for _ in range(payload // MAX_PAYLOAD + 1)]
    EchoBoard.echoed = []
    with bench_of(elf=elf) as bench:
        board = EchoBoard(bench)
        board.echoed = echoed = []
        began = bench.clock.now()
        asked = 0
        while len(echoed) < len(sent):
            while asked < len(sent) and asked < len(echoed) + 2 * WINDOW:
                board.session.send(Echo(sent[asked]))
                asked += 1
            board.serve(bench.clock.now() + 1.0)
            board.forget_answers()
            if bench.clock.now() > began + 10 + payload / 1000:
                break
        seconds = bench.clock.now() - began
        losses = {name: n - board.at_first[name] for name, n in board.counters().items() if n != board.at_first[name]}
        stats = bench.avr.stats()
        assert stats.cycles / CYCLE_HZ >= seconds
        return EchoRun(len(sent) * MAX_PAYLOAD, echoed == sent, seconds, losses, stats.rx_overruns)
