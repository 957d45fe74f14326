# SPDX-License-Identifier: Apache-2.0
"""A link test that sweeps line rates: frames are echoed at each, and the line is put back to the rate that everybody knows.

At a rate that the line does not carry the two ends cannot even agree to go back: then the host falls silent, and the
board comes back by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rig.errors import LinkLostError, NotOurBoardError
from rig.selfcheck import AT_ONCE, Bench, Echoes
from rig.wire.messages import BAUD, MAX_PAYLOAD, Cause, Rate

RATES = (57_600, 115_200, 230_400, 250_000, 500_000, 1_000_000)
"""Rates to try, in bit/s."""

LATE = frozenset({"resent", "host_resent"})
TWICE = frozenset({"duplicate", "host_duplicate"})  # what of that arrived

BASE = 2_000_000  # bit/s at divisor 0: 16 MHz / 8
MOST_LATE = 0.2  # share of frames that a busy host may send twice, since an answer was late, on a line that is clean
DRAIN_S = 0.020  # until the last byte said at the old rate has left the host


def divisor_of(baud: int) -> int:
    """The divisor of the board's USART that comes nearest to `baud` bit/s."""
    return round(BASE / baud) - 1


def error_of(baud: int) -> float:
    """How far the board's own rate is off at `baud`, as a share of it."""
    return BASE / (divisor_of(baud) + 1) / baud - 1


@dataclass(frozen=True, slots=True)
class RateResult:
    """How `frames` of random bytes fared at `baud` bit/s; board: the losses that the board counted, by name, above zero.

    returned: the board came back to its built rate by word, and not only after silence.
    """

    baud: int
    echoes: Echoes
    board: dict[str, int]
    returned: bool

    @property
    def losses(self) -> dict[str, int]:
        """What both ends counted, above zero."""
        return self.echoes.losses | self.board

    @property
    def clean(self) -> bool:
        """Nothing was lost or damaged, and next to nothing sent twice."""
        again = sum(count for name, count in self.losses.items() if name in LATE)
        whole = self.echoes.returned == self.echoes.sent and not self.echoes.wrong and self.returned
        return whole and not damage(self.losses) and again <= MOST_LATE * self.echoes.sent


def damage(losses: Mapping[str, int]) -> dict[str, int]:
    """Those of `losses` that tell of a bad line; that something was sent again may only tell of a busy host."""
    return {name: count for name, count in losses.items() if count and name not in LATE | TWICE}


def frames_of(count: int, baud: int) -> list[bytes]:
    """`count` random payloads for `baud` bit/s, always the same ones, so that a result can be had again.

    They are of full length but at slow rates, where a long frame takes longer than the session waits before it resends it.
    """
    generator = random.Random(baud)
    size = MAX_PAYLOAD if baud >= BAUD else MAX_PAYLOAD * baud // BAUD
    return [generator.randbytes(size) for _ in range(count)]


def sweep(bench: Bench, count: int, rates: Sequence[int] = RATES) -> Iterator[RateResult]:
    """Echo `count` frames at each of `rates`; the line is at its built rate whenever this yields, and afterwards.

    Raises a `RigError` when the board does not come back at its built rate.
    """
    for baud in rates:
        yield built(bench, count) if baud == bench.baud else _at(bench, baud, count)


def built(bench: Bench, count: int) -> RateResult:
    """Echo `count` frames at the rate that the firmware was built for."""
    before = bench.board.counters()
    echoes = bench.echo(frames_of(count, bench.baud))
    return RateResult(bench.baud, echoes, _lost(bench, before), True)


def _at(bench: Bench, baud: int, count: int) -> RateResult:
    before, cause = bench.board.counters(), bench.board.status().cause
    returned = False
    echoes = Echoes(count, 0, 0, 0.0, {})
    try:
        _switch(bench, divisor_of(baud), baud)
        echoes = bench.echo(frames_of(count, baud), AT_ONCE if baud >= BAUD else 1)
        if echoes.returned == count:
            _switch(bench, 0, bench.baud)
            returned = True
    except LinkLostError:
        pass  # it does not carry this rate
    finally:
        bench.link.set_baud(bench.baud)
    if not returned:
        _recover(bench)
    lost = _lost(bench, before)
    if cause == Cause.none and bench.board.status().cause == Cause.stop_received:
        bench.board.clear_fault(Cause.stop_received)  # bytes at the wrong rate look like a line break
    return RateResult(baud, echoes, lost, returned)


def _switch(bench: Bench, divisor: int, baud: int) -> None:
    """Both ends to `baud`: the board follows when its answer is acknowledged."""
    bench.board.demand(Rate(divisor))
    clock = bench.link.clock
    bench.board.serve(clock.now())  # the acknowledgement
    clock.sleep(DRAIN_S)
    bench.link.set_baud(baud)


def _recover(bench: Bench) -> None:
    """Only listen until the board, at its built rate again, says BOOT; reset it when it does not."""
    try:
        bench.connect()
    except (NotOurBoardError, LinkLostError):
        bench.link.reopen()
        bench.connect()


def _lost(bench: Bench, before: dict[str, int]) -> dict[str, int]:
    after: dict[str, int] = bench.board.counters()
    return {name: n - before[name] for name, n in after.items() if not name.startswith("host_") and n > before[name]}
