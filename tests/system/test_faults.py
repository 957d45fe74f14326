# SPDX-License-Identifier: Apache-2.0
"""A bad line through firmware and host: nothing is lost, doubled or invented (`benches/bench_faults.py` does more)."""

from __future__ import annotations

import pytest

from tests.system.lossy import BAD_LINE, Lossy, over_a_bad_line


@pytest.mark.parametrize("drive", ["button", "direct"])
@pytest.mark.parametrize("seed", range(101, 111))
def test_a_bad_line_loses_doubles_and_invents_nothing(seed: int, drive: str) -> None:
    found = over_a_bad_line(f"faulty+twin:roller?{BAD_LINE}&seed={seed}", 12, drive=drive)
    assert found.outcome.status == "complete", found.outcome.cause
    assert len(found.data.trials) == 12
    assert found.wrong == []
    assert found.spoiled == []
    for counts in found.counts.values():  # the line was as bad as it was to be
        assert min(counts.corrupted, counts.dropped, counts.duplicated, counts.delays) > 0
    assert found.data.run.counters["host_bad"] > 20 and found.data.run.counters["resent"] > 20


BREAKS = {
    "reset": "reset=0.0002",
    "unplug": "unplug=0.0002&unplug_ms=2500",
    "cut": "cut=0.0003&cut_ms=400",
    "everything": f"{BAD_LINE}&reset=0.00003&unplug=0.00003&unplug_ms=700&cut=0.00006&cut_ms=300",
}


def gaps(found: Lossy) -> int:
    return sum(event.kind == "gap" for event in found.data.events)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("kind", BREAKS)
def test_a_run_goes_on_over_breaks_of_the_link_and_every_trial_is_there_once(kind: str, seed: int) -> None:
    found = over_a_bad_line(f"faulty+twin:roller?{BREAKS[kind]}&from_s=3&seed={seed}", 40)
    assert found.outcome.status == "complete", found.outcome.cause
    assert len(found.data.trials) == 40
    assert found.outcome.safe
    assert found.wrong == []
    if kind != "cut":
        assert gaps(found) > 0
        assert any(trial.spoiled in ("link", "reset") or trial.gap_s is None for trial in found.data.trials[1:])
