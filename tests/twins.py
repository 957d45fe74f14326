# SPDX-License-Identifier: Apache-2.0
"""The real twin for tests of the rooms above it: how it is set, what its pins say, and links that are not quite what they seem."""

from __future__ import annotations

from collections.abc import Callable

from rig.clock import Clock
from rig.launcher import Driver, Happening
from rig.links.base import Link
from rig.links.faulty import FaultyLink
from rig.links.twin import TwinLink
from rig.rig import Rig
from rig.twin.bench import TwinBench
from rig.wire.messages import Wiring

TAME = "twin:roller?seed=7&brain=iid&p_fire=1&jam=0&stick=0&slip=0&double_feed=0&throw_mm_s=400&run_ms=305:1"
"""A toy that always fires, from a roller without faults."""

INTERLOCK, LID = 17, 18  # pins of the loop (A3) and of the lid (A4); low = closed

_PORTS = {"B": 0x24, "C": 0x27, "D": 0x2A}  # data-space addresses of DDRx; PORTx is the next one
_PINS = {
    **{("D", bit): f"D{bit}" for bit in range(2, 8)},
    **{("B", bit): f"D{bit + 8}" for bit in range(6)},
    **{("C", bit): f"A{bit}" for bit in range(6)},
}


def driven(bench: TwinBench) -> set[str]:
    """Pins of the AVR that drive their line high; the roller's (D3, PWM) counts as soon as it is an output."""
    found = set()
    for (port, bit), name in _PINS.items():
        direction, level = bench.avr.peek(_PORTS[port], 1)[0], bench.avr.peek(_PORTS[port] + 1, 1)[0]
        if direction >> bit & 1 and (name == "D3" or level >> bit & 1):
            found.add(name)
    return found


def bench_of(rig: Rig) -> TwinBench:
    """The bench behind a rig that is a twin."""
    link = rig.link.inner if isinstance(rig.link, FaultyLink) else rig.link
    assert isinstance(link, TwinLink)
    return link.bench


def launcher_on(
    rig: Rig,
    drive: Wiring = Wiring.button,
    *,
    happenings: list[Happening] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Driver:
    """A launcher connected to `rig`; not prepared."""
    kept: list[Happening] = [] if happenings is None else happenings
    return Driver(rig.link, drive=drive, on_happening=kept.append, nonce=rig.nonce, new_uuid=rig.new_uuid, stop_asked=stop_asked)


class OtherLink:
    """A link like `link`; what is said and heard on it goes through `out` and `into`."""

    def __init__(
        self, link: Link, *, out: Callable[[bytes], bytes] = lambda data: data, into: Callable[[bytes], bytes] = lambda data: data
    ) -> None:
        self._link, self._out, self._into = link, out, into

    @property
    def clock(self) -> Clock:
        return self._link.clock

    @property
    def path(self) -> str:
        return self._link.path

    def write(self, data: bytes) -> None:
        self._link.write(self._out(data))

    def read(self, deadline: float) -> bytes:
        return self._into(self._link.read(deadline))

    def reopen(self) -> None:
        self._link.reopen()

    def set_baud(self, baud: int) -> None:
        self._link.set_baud(baud)

    def held_for(self, what: str) -> None:
        self._link.held_for(what)

    def close(self) -> None:
        self._link.close()
