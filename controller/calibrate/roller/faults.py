# SPDX-License-Identifier: Apache-2.0
"""How often the feed fails: jam, slip, stick, an empty hopper, and presses that the toy did not take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.calibrate.roller.presses import Presses
from controller.calibrate.share import Share, share


@dataclass(frozen=True, slots=True)
class FaultRate:
    """One fault per press, and per card where that has a meaning."""

    per_press: Share
    per_card: Share | None


def fit_faults(presses: Presses) -> dict[str, FaultRate]:
    """Rates of `jam`, `slip`, `stick`, `empty` and `rejected`.

    Per press: of the usable presses that the hopper had cards for, hence without `empty` and `hopper_found_empty`;
    `empty`: of all usable presses; `rejected`: of all that the toy was offered, which is these and the rejected ones.
    Per card: of the cards that the feed tried to move, which are those dealt, plus one for each jam (the card that
    wedged) and each slip (the card that did not come). stick: a card left in the mouth after an `ok` press.
    """
    fed = presses.usable & ~np.isin(presses.rule, ("empty", "hopper_found_empty"))
    n = int(fed.sum())
    cards = int(presses.dealt[fed].sum())
    jams = int(np.count_nonzero(presses.rule == "jam"))
    slips = int(np.count_nonzero(presses.rule == "slip"))
    sticks = int(np.count_nonzero(fed & presses.sticking & (presses.verdict == "ok")))
    rejected = int(np.count_nonzero(presses.rule == "rejected"))
    moved = cards + jams + slips
    found = {"jam": jams, "slip": slips, "stick": sticks}
    rates = {name: FaultRate(share(events, n), share(events, moved)) for name, events in found.items()}
    empties = int(np.count_nonzero(presses.rule == "empty"))
    usable = int(presses.usable.sum())
    offered = usable + rejected
    return rates | {"empty": FaultRate(share(empties, usable), None), "rejected": FaultRate(share(rejected, offered), None)}
