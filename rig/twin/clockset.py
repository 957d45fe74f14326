# SPDX-License-Identifier: Apache-2.0
"""Sets the firmware's clock, so that a run can start just before a wrap of its 48-bit ticks instead of days before it.

The high 32 bits are written into the firmware's own count of Timer1's overflows, found by its symbol in the ELF; the low 16
are the timer's and stay as they are.
"""

from __future__ import annotations

from rig.errors import BadRigError
from rig.twin.avr import CYCLE_HZ, Avr

OVERFLOWS = "launchrig_overflows"  # u32; src/uno/time.cpp
GPIOR1 = 0x4A  # its low 8 bits, as the interrupts count them; src/uno/interrupts.h
TIMSK1, TOIE1 = 0x6F, 0x01  # the overflow interrupt is on: the clock runs
LOOK_CYCLES = CYCLE_HZ // 1000


class ClockSetter:
    """Writes a tick's high words as soon as the firmware's clock runs, before it has said anything.

    It does so again after every reset of the chip, which puts the clock back to 0: each life of a run starts before the
    same wrap. The firmware needs about 0.1 s from its clock to its first BOOT, in which it reads no time, so it never sees
    the clock jump.
    """

    def __init__(self, avr: Avr, tick: int) -> None:
        """`tick` from 0 to 2^48 - 1. Raises `BadRigError` when the firmware has no such count."""
        try:
            self._address = avr.symbol(OVERFLOWS)
        except KeyError:
            raise BadRigError(f"tick0: {avr.elf} has no symbol {OVERFLOWS}, so its clock cannot be set") from None
        self._avr = avr
        self._overflows = tick >> 16
        self.due = True

    def was_reset(self) -> None:
        """The chip begins anew."""
        self.due = True

    def look(self) -> None:
        """Set the clock if it runs; to be called every `LOOK_CYCLES` while `due`."""
        if not self._avr.peek(TIMSK1, 1)[0] & TOIE1:
            return
        low = self._overflows & 0xFF
        counted = (self._avr.peek(GPIOR1, 1)[0] - low) & 0xFF
        carried = self._avr.peek(self._address, 4) == self._overflows.to_bytes(4, "little")
        if carried and counted <= 1:  # an interrupt that was just counting would have undone it
            self.due = False
            return
        self._avr.poke(self._address, self._overflows.to_bytes(4, "little"))
        self._avr.poke(GPIOR1, bytes([low]))
