# SPDX-License-Identifier: Apache-2.0
"""What a receiver makes of bytes that were sent at another rate than its own: rubbish, as on a real line."""

from __future__ import annotations

SAME = 0.03  # that two rates may differ without harm; an Uno's 115200 is off by 2.1 %
DATA_BITS = 8


def misheard(data: bytes, ratio: float) -> list[tuple[int, bool]]:
    """Bytes of `data`, sent 8N1 back to back, as a receiver hears them: each byte, and whether its stop bit was missing.

    `ratio` is the receiver's bit time over the sender's. A receiver waits for a low line, then looks at the middle of each bit.
    """
    if abs(ratio - 1) <= SAME:
        return [(byte, False) for byte in data]
    bits = [bit for byte in data for bit in (0, *(byte >> k & 1 for k in range(DATA_BITS)), 1)]

    def level(moment: float) -> int:
        return bits[int(moment)] if moment < len(bits) else 1

    heard = []
    at = 0.0  # in bit times of the sender
    while at < len(bits):
        if level(at):
            at = int(at) + 1.0
            continue
        byte = sum(level(at + (k + 1.5) * ratio) << k for k in range(DATA_BITS))
        at += (DATA_BITS + 1.5) * ratio
        broken = not level(at)
        heard.append((byte, broken))
        while not level(at):  # the next start is a fall
            at = int(at) + 1.0
    return heard
