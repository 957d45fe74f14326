# SPDX-License-Identifier: Apache-2.0
"""How often the exported 95 % intervals hold the truth, through the real firmware: 200 seeded campaigns of 500 presses.

Judged against the probabilities that the plant logged before each draw. Takes about a quarter of an hour a brain; the figures
stand in `docs/statistics.md`. `benches/coverage_model.py` asks the same of the statistics alone.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from statistics import fmean

import pytest

from benches.campaigns import measured_and_true
from controller.calibrate.fit import calibrate

CAMPAIGNS = 200
PRESSES = 500
PACE_S = 1.5
LOW, HIGH = 181, 197  # of 200: where a true 95 % lies with probability .998
MIN_EXPECTED = 5

Cells = dict[int, tuple[float, bool]]


def campaign(brain: str, seed: int) -> tuple[bool, Cells]:
    """Whether the interval of the fire probability covers, and for each count its expected number and whether its own does."""
    data, truth = measured_and_true(f"twin:roller?seed={seed}&brain={brain}&double_feed=0", PRESSES, pace_s=PACE_S)
    fit = calibrate([data])
    assert fit.fire is not None and fit.count is not None
    true = {each["trial"]: each for each in truth["trials"]}
    accepted = [true[trial.number] for trial in data.trials if trial.accepted]
    covers = fit.fire.ci_low <= fmean(each["p_fire"] for each in accepted) <= fit.fire.ci_high
    held = [
        true[trial.number]["p_count"]
        for trial in data.trials
        if trial.verdict == "ok" and trial.hopper >= fit.largest and sum(true[trial.number]["p_count"][1:]) > 0
    ]
    cells: Cells = {}
    for k in range(1, max(len(each) for each in held)):
        p = fmean(each[k] / sum(each[1:]) if k < len(each) else 0.0 for each in held)
        place = k - 1
        inside = k in fit.count.support and fit.count.ci_low[place] <= p <= fit.count.ci_high[place]
        cells[k] = (p * fit.count.n, inside)
    return covers, cells


@pytest.mark.nightly
@pytest.mark.parametrize(("brain", "at_most"), [("iid", HIGH), ("hazard", HIGH), ("sequence", CAMPAIGNS)])
def test_intervals_cover_as_often_as_they_say(brain: str, at_most: int) -> None:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(campaign, [brain] * CAMPAIGNS, range(CAMPAIGNS)))
    fire = sum(covers for covers, _ in found)
    judged: dict[int, list[bool]] = {}
    for _, cells in found:
        for k, (expected, inside) in cells.items():
            if expected >= MIN_EXPECTED:
                judged.setdefault(k, []).append(inside)
    share = {k: f"{sum(each)}/{len(each)}" for k, each in sorted(judged.items())}
    print(f"\n{brain}: fire {fire}/{CAMPAIGNS}; count {share}")
    assert LOW <= fire <= at_most
    for k, each in judged.items():
        assert sum(each) >= LOW / CAMPAIGNS * len(each) - 1, f"count {k}: {sum(each)} of {len(each)}"
