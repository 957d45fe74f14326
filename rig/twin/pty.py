# SPDX-License-Identifier: Apache-2.0
"""The twin behind a pseudo-terminal, paced at real time: a board that any serial program can open, and flash.

As on a board, opening the port resets the chip, and a bootloader listens before the firmware starts. A pseudo-terminal has
no DTR line; opening it is the reset. Bytes travel at the rate that the AVR's own USART is set to, and who has set the port
to another one hears and says rubbish.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.clock import Clock, WallClock
from rig.errors import LinkLostError
from rig.twin.avr import CYCLE_HZ
from rig.twin.bootloader import NONE, installed
from rig.twin.far_side import FarSide
from rig.twin.rig import TwinParts, make_twin
from rig.twin.wrong_rate import misheard
from rig.wire.messages import BAUD

BOOTLOADER = "optiboot"  # what an Uno has
TALKING_S = 0.000_2  # from look to look while bytes are on the line: what a sent byte waits for at most
BUSY_S = 0.001  # the same while the launcher moves
IDLE_S = 0.010  # and else; whatever comes from the far side is looked at when it comes
TALK_LASTS_S = 0.004  # after the last byte either way; an answer is on its way by then
BRIDGE_BYTES = 64  # that a board's USB bridge holds for the AVR; more waits on the far side, as it would at a port
LATE_S = 0.020  # that is caught up; more than an idle rest
KERNEL_READS, KERNEL_READ_BYTES = 32, 4096  # at least what a pseudo-terminal holds between its sides
BITS_OF_A_BYTE = 10  # 8N1
TERMIOS2 = struct.Struct("@4I20B2I")  # flags, line and characters, input and output speed in bit/s
TCGETS2 = 0x802C542A  # the call that tells speeds as numbers
RELOAD_AFTER_S = 5.0


class PtyTwin:
    """A twin and the pseudo-terminal that it listens on; `path` is what to open. A context manager."""

    def __init__(self, url: str, *, seed: int | None = None, vcd: Path | None = None, clock: Clock | None = None) -> None:
        """Build the twin that `url` names. Raises a `RigError` that says what is wrong with it."""
        self._clock = clock or WallClock()
        self._parts: TwinParts = make_twin(url, seed=seed, vcd=vcd, bootloader=BOOTLOADER if installed(BOOTLOADER) else NONE)
        self.bootloader = self._parts.bootloader
        self._master, far = os.openpty()
        _set_up(far)
        self.path = os.ttyname(far)
        os.close(far)  # nobody has it open now, which the master sees as a hang-up
        os.set_blocking(self._master, False)
        self._far = FarSide(self._master, self.path)
        self._origin = 0.0
        self._talk_until = 0.0  # virtual seconds, as the next one
        self._quiet_since = 0.0
        self._room = BRIDGE_BYTES  # that the bridge can take
        self._cards = self._parts.twin.fill(self._parts.parameters)
        self._parts.bench.load(self._cards)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._far.close()
        os.close(self._master)
        self._parts.bench.close()

    def serve(self, stop: Callable[[], bool]) -> None:
        """Run at real time until `stop` says so. Raises `LinkLostError` when the firmware crashes and no bootloader is there."""
        self._origin = self._clock.now() - self._parts.bench.clock.now()
        while not stop():
            self._turn()
            if self._at_rest():
                self._parts.bench.clear_mouth()
                if self._parts.plant.is_empty:
                    self._parts.operator.reload(self._cards, lambda seconds: self._let_pass(seconds, stop))

    def _let_pass(self, seconds: float, stop: Callable[[], bool]) -> None:
        until = self._parts.bench.clock.now() + seconds
        while self._parts.bench.clock.now() < until and not stop():
            self._turn()

    def _turn(self) -> None:
        """Wait for the far side or the next look, catch up with the wall clock, then carry bytes both ways.

        What cannot be caught up, on a machine that is too busy or was asleep, is left out: else the firmware would live through
        it without the bytes that came meanwhile.
        """
        bench = self._parts.bench
        ready = self._rest()
        if (self._far.events in ready or self._far.events < 0) and self._far.look():
            self._drop_unread()
            bench.reset()
            bench.clear_mouth()
        if bench.crashed:
            if self.bootloader == NONE:
                raise LinkLostError("the simulated AVR has crashed: the firmware ran into nothing")
            self._taken()  # a board with a broken program hears nothing; its bootloader listens after the next reset
            return
        # Before the clock is read: nothing may reach the AVR earlier than it was sent.
        data = self._taken() if self._master in ready else b""
        now = self._clock.now() - self._origin
        late = now - bench.clock.now() - LATE_S
        if late > 0:
            self._origin += late
            now -= late
        due = round(now * CYCLE_HZ)
        while ((sent := bench.read(due)) or bench.avr.cycle < due) and not bench.crashed:
            self._give_output(sent)
        if data:
            self._put_in(data)
        if self._room < BRIDGE_BYTES:
            self._room = BRIDGE_BYTES - min(bench.avr.line().waiting, BRIDGE_BYTES)

    def _rest(self) -> list[int]:
        """Until the far side has something to say, or for as long as nothing can be missed; what can be read then.

        A hang-up would end the wait at once, so a far side that is closed is waited for by its file events alone.
        """
        bench = self._parts.bench
        seconds = TALKING_S if self._talking else BUSY_S if bench.busy else IDLE_S
        watched = [self._far.events] if self._far.events >= 0 else []
        if self._far.is_open and self._room:
            watched.append(self._master)
        return select.select(watched, [], [], seconds)[0]

    def _taken(self) -> bytes:
        """What the far side has sent, as far as it fits the bridge."""
        if not (self._far.is_open and self._room):
            return b""
        try:
            return os.read(self._master, self._room)
        except OSError:  # nothing there, or closed since
            return b""

    def _drop_unread(self) -> None:
        """Forget what was sent before the port was opened anew, as a USB bridge does: a bootloader would take it for commands."""
        with suppress(OSError):  # nothing there any more
            for _ in range(KERNEL_READS):
                os.read(self._master, KERNEL_READ_BYTES)

    def _put_in(self, data: bytes) -> None:
        heard = misheard(data, self._rate_ratio() or 1)
        for broken, group in groupby(heard, key=itemgetter(1)):
            self._parts.bench.avr.write(bytes(byte for byte, _ in group), broken=broken)
        self._room -= len(data)
        self._talks()

    def _rate_ratio(self) -> float:
        """The AVR's bit time over that of the port as the far side has set it; 0 where one of them is not set."""
        byte_cycles = self._parts.bench.avr.line().byte_cycles
        return byte_cycles / BITS_OF_A_BYTE / CYCLE_HZ * _speed(self._master)

    @property
    def _talking(self) -> bool:
        return self._parts.bench.clock.now() < self._talk_until

    def _talks(self) -> None:
        self._talk_until = self._parts.bench.clock.now() + TALK_LASTS_S

    def _give_output(self, data: bytes) -> None:
        if not (data and self._far.is_open):
            return  # a board talks to nobody, too
        self._talks()
        if ratio := self._rate_ratio():
            data = bytes(byte for byte, _ in misheard(data, 1 / ratio))
        try:
            os.write(self._master, data)
        except OSError:
            return  # the far side is closed, or does not read and its buffer is full, as a USB bridge's would be

    def _at_rest(self) -> bool:
        """There is no operator here: after a while of rest the mouth is cleared and an empty machine filled."""
        now = self._parts.bench.clock.now()
        if self._parts.bench.busy:
            self._quiet_since = now
        if now - self._quiet_since < RELOAD_AFTER_S:
            return False
        self._quiet_since = now
        return True


def _set_up(far: int) -> None:
    """A raw line at the usual rate, for programs that set nothing."""
    tty.setraw(far)
    attributes = termios.tcgetattr(far)
    attributes[4] = attributes[5] = getattr(termios, f"B{BAUD}")
    termios.tcsetattr(far, termios.TCSANOW, attributes)


def _speed(master: int) -> int:
    """The rate that the far side has set, in bit/s."""
    speed: int = TERMIOS2.unpack(fcntl.ioctl(master, TCGETS2, bytes(TERMIOS2.size)))[-1]
    return speed
