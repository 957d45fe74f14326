# SPDX-License-Identifier: Apache-2.0
"""A link that wraps another one and makes its faults from a seed: lost, changed, doubled, late bytes, resets, a pulled plug.

It stands in front of the twin and of a real port alike. Its only time is the wrapped link's, so that in front of the twin a
seed reproduces a run to the bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rig.clock import Clock
from rig.errors import LinkLostError, RigError
from rig.links.base import Link
from rig.links.faults import Direction, Faults, Kind, Strikes, another

_NEVER = float("inf")


@dataclass(slots=True)
class Counts:
    """What was done to the bytes of one direction.

    bytes: that came since the faults began. corrupted, dropped, duplicated: of these. delays, cuts, resets, unplugs: how often
    one began. lost: bytes that a cut, a reset or a pulled plug swallowed.
    """

    bytes: int = 0
    corrupted: int = 0
    dropped: int = 0
    duplicated: int = 0
    delays: int = 0
    cuts: int = 0
    resets: int = 0
    unplugs: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Way:
    """One direction: what strikes its bytes, and those that are under way, with the moment at which they are due."""

    strikes: Strikes
    counts: Counts = field(default_factory=Counts)
    queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    held_until: float = -_NEVER

    def put(self, data: bytes, now: float) -> None:
        """Send `data` off now: due at once, or when what is before it is."""
        if data:
            self.queue.append((max(now, self.held_until), data))

    @property
    def due(self) -> float:
        """When the next bytes are due."""
        return self.queue[0][0] if self.queue else _NEVER

    def take(self, now: float, dead_until: float) -> bytes:
        """Bytes that are due, but for those that fell due on a dead line."""
        queue, arrived = self.queue, b""
        while queue and queue[0][0] <= now:
            due, data = queue.popleft()
            if due < dead_until:
                self.counts.lost += len(data)
            else:
                arrived += data
        return arrived

    def lose(self) -> None:
        """Lose all that is under way."""
        self.counts.lost += sum(len(data) for _, data in self.queue)
        self.queue.clear()
        self.held_until = -_NEVER


class _ServingClock:
    """The wrapped link's clock. Whoever sleeps on it lets delayed bytes arrive at the board at their time."""

    def __init__(self, clock: Clock, next_due: Callable[[], float], hand_over: Callable[[float], None]) -> None:
        self._clock, self._next_due, self._hand_over = clock, next_due, hand_over

    def now(self) -> float:
        """Seconds of the wrapped link's clock."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        clock = self._clock
        until = clock.now() + seconds
        while (due := self._next_due()) < until:
            clock.sleep(max(0.0, due - clock.now()))
            self._hand_over(max(due, clock.now()))  # to sleep is exact to half a cycle only
        clock.sleep(max(0.0, until - clock.now()))


class FaultyLink:
    """`inner` with faults. `counts` tells what was done, by direction.

    Late bytes to the board are written while the link is read or its clock is slept on, since nothing else lets time pass.
    """

    def __init__(self, inner: Link, faults: Faults, seed: int) -> None:
        self.inner = inner
        self.faults = faults
        self._to_mcu = _Way(Strikes(faults, seed, "to_mcu"))
        self._to_host = _Way(Strikes(faults, seed, "to_host"))
        self.counts: dict[Direction, Counts] = {"to_mcu": self._to_mcu.counts, "to_host": self._to_host.counts}
        self.clock: Clock = _ServingClock(inner.clock, lambda: self._to_mcu.due, self._hand_over)
        self._ready = bytearray()
        self._from = inner.clock.now() + faults.from_s
        self._dead_until = -_NEVER
        self._unplugged_until: float | None = None

    @property
    def path(self) -> str:
        """Where the wrapped link's far side is."""
        return self.inner.path

    def write(self, data: bytes) -> None:
        """Send `data` into its faults. Raises `LinkLostError` when the far side is gone or the plug is pulled."""
        self._demand_plug()
        self._carry(self._to_mcu, data, self.inner.clock.now())
        self._demand_plug()

    def read(self, deadline: float) -> bytes:
        """Bytes that have survived, waiting for the first until `deadline`; b"" when none came.

        Raises `LinkLostError` when the far side is gone or the plug is pulled.
        """
        while not self._ready:
            self._demand_plug()
            arrived = self.inner.read(min(deadline, self._to_mcu.due, self._to_host.due))
            now = self.inner.clock.now()
            self._carry(self._to_host, arrived, now)
            if now >= deadline:
                break
        if not self._ready:
            self._demand_plug()
        data = bytes(self._ready)
        self._ready.clear()
        return data

    def reopen(self) -> None:
        """Take the far side again; bytes under way are gone, faults go on.

        Raises `LinkLostError` while the plug is pulled, and whatever the wrapped link raises.
        """
        if self._unplugged_until is not None and (left := self._unplugged_until - self.inner.clock.now()) > 0:
            raise LinkLostError(f"the port is not there: unplugged by a fault that was asked for, {left:.3f} s more")
        self._forget()
        self.inner.reopen()
        self._unplugged_until = None

    def set_baud(self, baud: int) -> None:
        """Change the rate of the wrapped link; bytes under way are gone. Raises `LinkLostError`."""
        self._demand_plug()
        self._forget()
        self.inner.set_baud(baud)

    def held_for(self, what: str) -> None:
        """Tell others, through the wrapped link, what it is taken for."""
        self.inner.held_for(what)

    def close(self) -> None:
        """Let go of the wrapped link; bytes under way are gone."""
        self._forget()
        self.inner.close()

    # ------------------------------------------------------------------ faults

    def _carry(self, way: _Way, data: bytes, now: float) -> None:
        """Send `data` off on `way`, through its faults, and let arrive what is due.

        Bytes from the far side that lie behind the one that reset or unplugged it are gone with it. Bytes to a board that was
        reset go on, as they would in a write of their own.
        """
        if now < self._from:
            way.put(data, now)
            self._hand_over(now)
            return
        at = 0
        while at < len(data):
            spared, strikes = way.strikes.advance(len(data) - at)
            way.put(data[at : at + spared], now)
            way.counts.bytes += spared
            at += spared
            if strikes:
                way.counts.bytes += 1
                self._strike(way, data[at], strikes, now)
                if self._unplugged_until is not None or (way is self._to_host and "reset" in strikes):
                    return
                at += 1
        self._hand_over(now)

    def _strike(self, way: _Way, byte: int, strikes: dict[Kind, float], now: float) -> None:
        """Do to `byte` what strikes it: of what swallows it the worst, otherwise all."""
        counts, faults = way.counts, self.faults
        if "unplug" in strikes or "reset" in strikes or "cut" in strikes:
            self._hand_over(now)  # what was before it has arrived
            counts.lost += 1
            if "unplug" in strikes:
                counts.unplugs += 1
                self._lose_all()
                self._unplugged_until = now + faults.unplug_ms / 1000
            elif "reset" in strikes:
                counts.resets += 1
                self._lose_all()
                self._reset()
            else:
                counts.cuts += 1
                self._dead_until = max(self._dead_until, now + faults.cut_ms / 1000)
        elif "drop" in strikes:
            counts.dropped += 1
        else:
            if "corrupt" in strikes:
                counts.corrupted += 1
                byte = another(byte, strikes["corrupt"])
            if "delay" in strikes:
                counts.delays += 1
                way.held_until = max(way.held_until, now + strikes["delay"] * faults.delay_ms / 1000)
            copies = 2 if "duplicate" in strikes else 1
            counts.duplicated += copies - 1
            way.put(bytes([byte] * copies), now)

    def _reset(self) -> None:
        try:
            self.inner.reopen()
        except LinkLostError:
            raise
        except RigError as error:  # a port that cannot be had again just now
            raise LinkLostError(f"the port was lost in a reset that was asked for: {error}") from error

    # ------------------------------------------------------------------ plumbing

    def _hand_over(self, now: float) -> None:
        """Let what is due arrive: at the board, and for the host to fetch."""
        if self._to_mcu.due <= now and (data := self._to_mcu.take(now, self._dead_until)):
            self.inner.write(data)
        if self._to_host.due <= now:
            self._ready += self._to_host.take(now, self._dead_until)

    def _lose_all(self) -> None:
        self._to_mcu.lose()
        self._to_host.lose()

    def _forget(self) -> None:
        """Lose what has arrived for the host, too."""
        self._lose_all()
        self._ready.clear()

    def _demand_plug(self) -> None:
        if self._unplugged_until is not None:
            raise LinkLostError("the port vanished: unplugged by a fault that was asked for")
