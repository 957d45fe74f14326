# SPDX-License-Identifier: Apache-2.0
"""What the firmware takes of the AVR under the heaviest load there is: longest stretches without interrupts, stack left.

The same limits gate every session of the tests (`tests/conftest.py`); here edges, trials and a full or bad line come together.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benches.campaigns import run, twin_and_store
from rig.twin.avr import STATS_DIRECTORY
from rig.wire.messages import Channel
from tests.gate import figures, read_stats
from tests.system.echoes import echo
from tests.system.edges import BEAM_A, BEAM_B, US, Compared, SaturatingBoard, bench_of, drive, random_gaps
from tests.system.lossy import BAD_LINE, over_a_bad_line


def _edges_on_a_full_line() -> None:
    with bench_of() as bench:
        board = SaturatingBoard(bench, 1)
        board.saturated = True
        beams = (Compared(BEAM_A, Channel.beam_a), Compared(BEAM_B, Channel.beam_b))
        drive(board, [(beam, random_gaps(random.Random(n), 200, 20 * US)) for n, beam in enumerate(beams)], 4000)
        board.calm_down()


@pytest.mark.nightly
def test_no_stretch_without_interrupts_is_longer_than_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATS_DIRECTORY, str(tmp_path))
    _edges_on_a_full_line()
    echo(50_000)
    for name in ("button", "direct"):
        over_a_bad_line(f"faulty+twin:roller?{BAD_LINE}&seed=7", 60, drive=name)
        with twin_and_store("twin:roller?seed=7") as (rig, store):
            run(rig, store, 200, drive=name)
    found = figures(read_stats(tmp_path))
    print("", *found, sep="\n")
    assert found and all(figure.holds for figure in found)
