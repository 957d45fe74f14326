# SPDX-License-Identifier: Apache-2.0
"""What a flash image says of itself, before any board gets it: it is run in the simulator for a moment of virtual time."""

from __future__ import annotations

from dataclasses import dataclass

from rig.firmware import FLASH_BYTES, packaged
from rig.flash import Heard, Listener
from rig.twin.avr import CYCLE_HZ, Avr
from rig.wire.messages import BAUD, BOOT_AFTER_MS, BOOT_EVERY_MS

BITS_OF_A_BYTE = 10  # 8N1
RATES = (9600, 19200, 38400, 57600, 115200, 230400, 250000, 500000, 1000000, 2000000)
WAIT_CYCLES = CYCLE_HZ // 1000 * (BOOT_AFTER_MS + 4 * BOOT_EVERY_MS)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the image said, and the usual rate (bit/s) that its USART is set nearest to; that of the protocol when it is off."""

    heard: Heard
    baud: int


def rehearse(image: bytes) -> Rehearsal:
    """Run `image` from power-on for as long as firmware of ours needs for several BOOTs, on a bench with nothing attached.

    Raises `TwinUnavailableError` when there is no simulator on this machine.
    """
    with Avr(packaged("elf"), quiet=True) as avr:  # the simulator wants an ELF to begin with
        avr.poke_flash(0, image + b"\xff" * (FLASH_BYTES - len(image)))
        avr.reset(power_on=True)
        listener = Listener()
        while avr.cycle < WAIT_CYCLES:
            step = avr.run(WAIT_CYCLES)
            listener.feed(step.tx)
            if step.crashed:
                break
        byte_cycles = avr.line().byte_cycles
    if not byte_cycles:
        return Rehearsal(listener.heard, BAUD)
    return Rehearsal(listener.heard, min(RATES, key=lambda rate: abs(rate * byte_cycles / BITS_OF_A_BYTE / CYCLE_HZ - 1)))
