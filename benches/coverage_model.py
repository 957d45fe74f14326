# SPDX-License-Identifier: Apache-2.0
"""How often the published 95 % intervals hold the truth: 1,000 campaigns of 500 presses for each kind of launcher.

Pure numpy, without firmware; a minute or two. Run from the root: `python -m benches.coverage_model [campaigns]`. Ends with 1
when the coverage of a fire interval leaves the bounds that 95 % (or "at least 95 %" for a fixed list) allows; what the
count cells cover is printed beside it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from scipy.stats import binom

from controller.calibrate.fit import calibrate
from tests.controller.calibrate.roller.simulate import DEALT, campaign

CAMPAIGNS = 1000
CONCENTRATED = (0.1, 0.7, 0.15, 0.05)
"""Few counts, one of them frequent: where the prior pulls hardest."""

FALSE_ALARM = 0.001


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of launcher; `at_least` when its fire interval is conservative by design."""

    brain: str
    dealt: tuple[float, ...]
    at_least: bool
    reload_every: int | None = None


KINDS = {
    "iid": Kind("iid", DEALT, False),
    "hazard": Kind("hazard", DEALT, False),
    "hazard, reloaded every 25": Kind("hazard", DEALT, False, reload_every=25),
    "sequence": Kind("sequence", DEALT, True),
    "iid, few counts": Kind("iid", CONCENTRATED, False),
}


def covered(kind: Kind, campaigns: int) -> tuple[int, dict[int, tuple[int, int]]]:
    """Campaigns whose fire interval covers, and per count (covering, judged), judged where n*p is at least 5."""
    fire = 0
    cells: dict[int, tuple[int, int]] = {}
    for seed in range(campaigns):
        made = campaign(kind.brain, seed, dealt=kind.dealt, reload_every=kind.reload_every)
        fit = calibrate([made.data])
        assert fit.fire is not None and fit.count is not None
        fire += fit.fire.ci_low <= made.mean_p <= fit.fire.ci_high
        for k, p in enumerate(kind.dealt, start=1):
            if fit.count.n * p >= 5:
                hits, judged = cells.get(k, (0, 0))
                # A count that was never seen has no interval: a miss.
                seen = k in fit.count.support
                cells[k] = hits + (seen and fit.count.ci_low[k - 1] <= p <= fit.count.ci_high[k - 1]), judged + 1
    return fire, cells


def main(campaigns: int) -> int:
    """Print a table; return 1 when fewer cover than an interval of 95 % allows."""
    failed = False
    for name, kind in KINDS.items():
        fire, cells = covered(kind, campaigns)
        least = campaigns if kind.at_least else int(binom.ppf(FALSE_ALARM, campaigns, 0.95))
        failed |= fire < least
        print(f"{name:28} fire {fire / campaigns:.3f} (at least {least / campaigns:.3f})", end="  count ")
        print(" ".join(f"{k}:{hits / judged:.3f}" for k, (hits, judged) in sorted(cells.items())))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS))
