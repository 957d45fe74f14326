# SPDX-License-Identifier: Apache-2.0
"""What a trial is once it has been observed.

The launcher makes one per activation, whatever the link; store, statistics and report know nothing rawer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One activation and all that was observed of it.

    number: within the run, from 1. kind: ``press``, ``insert`` or ``reset``. drive: ``button`` or ``direct``.
    burst, burst_index: the game event that owed the trial, and the place within it, from 0.
    tick: of actuation, 62.5 ns each; None when it was never actuated.
    verdict, reason: the host's, ``fault`` when the MCU's differs. mcu_verdict: as sent.
    cleared, sticking: cards. roller_ms: time that the roller, or the blaster's latch, was driven, in ms.
    hopper: cards that the ledger believed to be in the hopper, or waiting in the loader, before the trial.
    run_ms, duty: commanded in ``direct`` drive, in ms and 1/255; 0 in ``button``.
    pack_V: lowest loaded pack voltage, over the driven bins; pack_open_V: unloaded. None when not sampled.
    peak_A: highest current of a bin. edges: (tick, channel, level), by tick. bins: sample bins as on the wire.
    spoiled: empty, or the name of what spoiled the trial (``link``, ``reset``, ``ring_full``, ...).
    slot: that the card was inserted into, from 1. loaded: cards in the slots by the bookkeeping, the inserted one included.
    toy: state in which the trial met the toy, as inferred (``awake``, ``asleep``, ``unknown``). All three belong to the
    blaster; a press has None, None and "".
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
    slot: int | None = None
    loaded: int | None = None
    toy: str = ""
