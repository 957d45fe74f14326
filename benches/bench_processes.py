# SPDX-License-Identifier: Apache-2.0
"""Over 100 runs in real processes, each ended at another moment: what pins and store say, and how long an end takes.

Takes a few minutes. `tests/system/test_processes.py` does the same with fewer.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from tests.system.processes import ENDINGS, PHASES, drawn, judge, judge_unused, played

EACH = 18  # moments of each ending
SEED = 30_000


@pytest.mark.nightly
def test_a_hundred_processes_end_with_all_off_and_kept(tmp_path: Path) -> None:
    phases = (list(PHASES) * EACH)[:EACH]
    for ending in ENDINGS:
        (tmp_path / ending).mkdir()
    with ThreadPoolExecutor(len(ENDINGS)) as pool:
        futures = {
            ending: pool.submit(played, ending, drawn(SEED + n, phases), tmp_path / ending) for n, ending in enumerate(ENDINGS)
        }
    print()
    for ending, future in futures.items():
        found = future.result()
        for case in found.cases:
            judge(case)
        for life in found.unused:
            judge_unused(life)
        assert found.last_code == 0
        seconds = [case.ended.seconds for case in found.cases]
        fell = Counter(case.fell for case in found.cases)
        print(
            f"{ending}: {len(seconds)} moments ({', '.join(f'{count} {phase}' for phase, count in sorted(fell.items()))}), "
            f"{sum(len(case.ended.told) for case in found.cases)} trials told, all stored; "
            f"over after {median(seconds):.2f} s (median), {max(seconds):.2f} s (worst)"
        )
