# SPDX-License-Identifier: Apache-2.0
"""What a trial is once it has been observed.

The launcher makes one per activation, whatever the link; store, statistics and report know nothing rawer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One activation and all that was observed of it.

    number: within the run, from 1. kind: ``press``. drive: ``button`` or ``direct``.
    burst, burst_index: the game event that owed the press, and the place within it, from 0.
    tick: of actuation, 62.5 ns each; None when it was never actuated.
    verdict, reason: the host's, ``fault`` when the MCU's differs. mcu_verdict: as sent.
    cleared, sticking: cards. roller_ms: time driven, in ms.
    hopper: cards that the ledger believed to be in the hopper before the press.
    run_ms, duty: commanded in ``direct`` drive, in ms and 1/255; 0 in ``button``.
    pack_V: lowest loaded pack voltage, over the driven bins; pack_open_V: unloaded. None when not sampled.
    peak_A: highest current of a bin. edges: (tick, channel, level), by tick. bins: sample bins as on the wire.
    spoiled: empty, or the name of what spoiled the trial (``link``, ``reset``, ``ring_full``, ...).
    """

    number: int
    kind: str
    drive: str
    burst: int
    burst_index: int
    tick: int | None
    verdict: str
    reason: str
    mcu_verdict: str
    accepted: bool
    cleared: int
    sticking: int
    roller_ms: int
    hopper: int
    run_ms: int
    duty: int
    pack_V: float | None
    pack_open_V: float | None
    peak_A: float | None
    edges: tuple[tuple[int, str, int], ...]
    bins: tuple[int, ...]
    spoiled: str


@dataclass(frozen=True, slots=True)
class PressRequest:
    """One press to make.

    tick: earliest MCU tick of actuation, 0 = at once. hopper: cards believed inside. run_ms, duty (of 255): for `direct`.
    """

    number: int
    burst: int
    index: int
    tick: int
    hopper: int
    run_ms: int = 0
    duty: int = 255
