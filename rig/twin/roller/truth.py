# SPDX-License-Identifier: Apache-2.0
"""What really happened, as only the plant can know it. Written by AVR cycle, read when everything measured is on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rig.wire.messages import BIN_MS, SETTINGS

CYCLES_PER_MS = 16_000
_JAM_MS = SETTINGS["jam_ms"].default
_JAM_BINS = _JAM_MS // BIN_MS + 1  # closes of bins from the block on: the bin in which it begins is not blocked throughout
_BIN = BIN_MS * CYCLES_PER_MS
_EARLY = 5 * CYCLES_PER_MS // 2  # a bin closes on the firmware's 2 ms tick, up to that much after its nominal end


NOTHING = {
    "cycle": None,
    "cleared": 0,
    "sticking": 0,
    "double_feeds": 0,
    "jammed": 0,
    "cause": "not actuated",
    "p_fire": None,
}
"""Of a press that never reached the launcher."""


@dataclass(slots=True)
class Activation:
    """One press of the toy's button (`button`), or one start of the roller by the rig (`direct`).

    cycle: actuator down, or roller on. accepted: the toy took it. p_fire: before the draw, None when nothing was drawn or the
    rig decided. run_ms: as drawn, or in `direct` as it was; None when the roller did not run. p_slip: of the first card,
    before it was met. hopper: cards inside before. cleared, sticking: cards, so that
    both cards of a double feed count. jammed: 0 or 1; wedged cards are in neither count. p_count[k]: probability that k
    cards are dealt, p_jam: that it jams, given that it fired and before the run time was drawn; None when it did not fire.
    """

    cycle: int
    drive: str
    hopper: int
    accepted: bool = False
    p_fire: float | None = None
    fired: bool = False
    run_ms: float | None = None
    cleared: int = 0
    sticking: int = 0
    double_feeds: int = 0
    slips: int = 0
    jammed: int = 0
    cause: str = "ignored"
    p_slip: float | None = None
    p_count: list[float] | None = None
    p_jam: float | None = None

    @property
    def dealt(self) -> int:
        """Cards that left the hopper, those that stick in the mouth included."""
        return self.cleared + self.sticking

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, as JSON can hold it."""
        return asdict(self)


def was_jam(actuated: int, blocked: int, off: int) -> bool:
    """Whether a wedged card was a jam: beam A blocked longer than `jam_ms` while driven, in whole bins from actuation.

    All three are cycles: of actuation, of the moment beam A was blocked, of the moment the drive went off. In `direct` the
    rig itself ends the drive at the close of the bin that makes it a jam; so when the beam was blocked in the first moments
    of a bin, it is the moment of the end that tells whether that bin was counted. A commanded run that ends by chance in the
    first 2 ms of that very bin cannot be told from a jam; the run times of `rig.brains` never do.
    """
    bins = (off - actuated) // _BIN - (blocked - actuated) // _BIN
    at_close = (off - actuated) % _BIN <= _EARLY and (blocked - actuated) % _BIN <= _EARLY
    return bins >= _JAM_BINS - at_close
