# SPDX-License-Identifier: Apache-2.0
"""The real firmware and the real host on a bench whose beams do exactly what a test says: no plant decides anything."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rig.board import IDLE_RENEW_S, Board
from rig.firmware import packaged
from rig.links.twin import TwinLink
from rig.twin.avr import CYCLE_HZ, Avr
from rig.twin.bench import TwinBench
from rig.wire.messages import Channel, Echo, Echoed, Edges, Message, TrialEnd

BEAM_A, BEAM_B, SOUND, INTERLOCK, LID = 8, 2, 13, 17, 18
BLOCKED, CLEAR = 0, 1  # as the pins see it
MS = CYCLE_HZ // 1000
US = MS // 1000
BYTE_CYCLES = 1360  # 10 bits at the 117,647 baud that 16 MHz makes of 115,200
BEAM_B_LATEST = 10 * US  # one interrupt that is running or a lock (at most 8 us), and the way into its own

PinEdge = tuple[int, int, int]
"""(cycle, pin, level at the pin)"""

Seen = tuple[int, int]
"""(tick, 1 = blocked)"""


@dataclass(slots=True)
class Script:
    """A plan, as the bench takes it."""

    edges: Sequence[PinEdge] = ()
    analog: dict[int, list[tuple[int, float]]] = field(default_factory=dict)


class ScriptedPlant:
    """A launcher that does nothing of its own; `on_launch` says what it does from the cycle of a button-down on."""

    def __init__(self, on_launch: Callable[[int], Script] | None = None) -> None:
        self._on_launch = on_launch

    def start(self, cycle: int) -> Script:
        levels = ((BEAM_A, CLEAR), (BEAM_B, CLEAR), (SOUND, 0), (INTERLOCK, 0), (LID, 0))
        return Script([(cycle, pin, level) for pin, level in levels], {0: [(cycle, 0.0)], 1: [(cycle, 2.3)]})

    def output(self, cycle: int, signal: str, value: float) -> Script | None:
        return self._on_launch(cycle) if self._on_launch and signal == "launch" and value else None

    def idle_after(self) -> int:
        return 0


@contextmanager
def bench_of(plant: ScriptedPlant | None = None, elf: Path | None = None) -> Iterator[TwinBench]:
    """The packaged firmware, or `elf`, on a bench of `plant`."""
    bench = TwinBench(plant or ScriptedPlant(), Avr(elf or packaged("elf")))
    try:
        yield bench
    finally:
        assert not bench.crashed
        assert not bench.unmodelled
        bench.close()


class EdgeBoard(Board):
    """The host's board, which keeps every edge that it is told, as (tick, level) by channel, and the ends of trials."""

    def __init__(self, bench: TwinBench) -> None:
        self.bench = bench
        self.edges: dict[Channel, list[Seen]] = {channel: [] for channel in Channel}
        self.trials: set[int] = set()  # that edges were told to belong to; 0 = none
        self.ends: list[TrialEnd] = []
        super().__init__(TwinLink(bench), self.keep, nonce=lambda: 7, new_uuid=lambda: bytes(range(16)), stop_asked=lambda: False)
        self.run_to(bench.avr.cycle + 50 * MS)  # READY is followed by the levels
        self.at_first = self.counters()  # while a board takes its name it answers late, and is asked again
        for edges in self.edges.values():
            edges.clear()
        self.trials.clear()

    def keep(self, message: Message) -> None:
        if isinstance(message, TrialEnd):
            self.ends.append(message)
        if isinstance(message, Edges):
            self.trials.add(message.trial)
            self.edges[Channel(message.channel)] += [
                (message.tick - ((message.tick - (word >> 1)) & 0x7FFFFFFF), word & 1) for word in message.edges
            ]

    def forget_answers(self) -> None:
        """Whoever sends commands by the session itself is the one to throw their replies away."""
        self._answers.clear()

    def run_to(self, cycle: int) -> None:
        while self.bench.avr.cycle < cycle:
            self.serve(cycle / CYCLE_HZ)


class SaturatingBoard(EdgeBoard):
    """A host that, while `saturated`, lets neither line rest: echoes at work all the time, acknowledgements between them."""

    AT_WORK = 2  # more answers than that find no room in the board's ring, and are refused instead of sent

    def __init__(self, bench: TwinBench, seed: int) -> None:
        self._draw = random.Random(seed)
        self._unanswered = 0
        self._line_free = 0
        self.sent_bytes = self.received_bytes = 0
        self.saturated = False
        super().__init__(bench)

    def keep(self, message: Message) -> None:
        super().keep(message)
        self._unanswered -= isinstance(message, Echoed)

    def serve(self, deadline: float) -> None:
        if not self.saturated:
            return super().serve(deadline)
        link, session, avr = self.link, self.session, self.bench.avr
        if avr.cycle >= self._line_free - BYTE_CYCLES:
            while self._unanswered < self.AT_WORK:
                session.send(Echo(self._draw.randbytes(48)))
                self._unanswered += 1
            session.renew_s = 0.0  # whenever there is nothing else to say
            out = session.output(link.clock.now())
            link.write(out)
            self.sent_bytes += len(out)
            self._line_free = max(self._line_free, avr.cycle) + len(out) * BYTE_CYCLES
        data = self.bench.read(min(round(deadline * CYCLE_HZ), self._line_free - BYTE_CYCLES // 2))
        self.received_bytes += len(data)
        for message in session.receive(data, link.clock.now()):
            self._take(message)
        self.forget_answers()
        return None

    def calm_down(self) -> None:
        self.saturated = False
        self.session.renew_s = IDLE_RENEW_S
        self.run_to(self.bench.avr.cycle + 500 * MS)


def random_gaps(draw: random.Random, per_s: float, shortest: int) -> Iterator[int]:
    """Gaps in cycles, `per_s` on average: one in ten the shortest there may be, the others exponential beyond it."""
    mean = (CYCLE_HZ / per_s - shortest) / 0.9
    while True:
        yield shortest if draw.random() < 0.1 else shortest + round(draw.expovariate(1 / mean))


class Compared:
    """What one beam did beside what the host was told, edge by edge; what was compared is forgotten."""

    def __init__(self, pin: int, channel: Channel) -> None:
        self.pin, self.channel = pin, channel
        self.compared = 0
        self.wrong_levels = 0
        self.differences: Counter[int] = Counter()  # cycle scheduled less tick told
        self._scheduled: list[PinEdge] = []
        self._levels = 0

    def schedule(self, cycles: Sequence[int]) -> list[PinEdge]:
        """The edges at these cycles, blocked and clear in turn."""
        edges = [(cycle, self.pin, n & 1) for n, cycle in enumerate(cycles, start=self._levels)]
        self._levels += len(cycles)
        self._scheduled += edges
        return edges

    def take(self, board: EdgeBoard) -> None:
        """Compare everything told so far."""
        seen = board.edges[self.channel]
        pairs = list(zip(self._scheduled, seen, strict=False))
        self.differences.update(cycle - tick for (cycle, _, _), (tick, _) in pairs)
        self.wrong_levels += sum(level == blocked for (_, _, level), (_, blocked) in pairs)
        self.compared += len(pairs)
        del self._scheduled[: len(pairs)], seen[: len(pairs)]

    def assert_all_told(self, board: EdgeBoard) -> None:
        """None lost, none doubled, none invented, every level right. (An edge lost in the middle shows as wrong levels.)"""
        self.take(board)
        assert (len(self._scheduled), len(board.edges[self.channel]), self.wrong_levels) == (0, 0, 0)


def drive(board: EdgeBoard, streams: Sequence[tuple[Compared, Iterator[int]]], count: int) -> None:
    """Give every beam of `streams` `count` edges with these gaps, while the host listens and acknowledges."""
    avr = board.bench.avr
    begin = avr.cycle + 10 * MS
    at = [begin] * len(streams)
    left = [count] * len(streams)
    while any(left):
        horizon = avr.cycle + CYCLE_HZ
        for n, (compared, gaps) in enumerate(streams):
            cycles = []
            while left[n] and at[n] < horizon:
                cycles.append(at[n])
                at[n] += next(gaps)
                left[n] -= 1
            avr.edges(compared.schedule(cycles))
        board.run_to(horizon - 10 * MS)
        for compared, _ in streams:
            compared.take(board)
    board.run_to(max(at) + 100 * MS)
