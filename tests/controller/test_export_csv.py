# SPDX-License-Identifier: Apache-2.0
"""The trials as CSV: one row each, nothing rounded, nothing made up."""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from controller.export_csv import COLUMNS, trials_csv
from controller.store.records import Trial
from tests.controller.conftest import RunMaker, TrialMaker


def test_every_field_but_edges_samples_and_derived_ones_is_a_column() -> None:
    left_out = {field.name for field in fields(Trial)} - set(COLUMNS)
    assert left_out == {"number", "tick", "edges", "bins", "fired"}
    assert COLUMNS[:9] == ("trial", "kind", "drive", "t_s", "verdict", "cleared", "sticking", "dealt", "roller_ms")


def test_a_row_reads_back_as_the_trial(trial: TrialMaker, run_of: RunMaker) -> None:
    given = trial(number=41, sticking=1, gap_s=0.1 + 0.2, since_fire=3)
    (row,) = csv.DictReader(io.StringIO(trials_csv(run_of([given]))))
    assert (row["trial"], row["dealt"], row["accepted"], row["since_fire"]) == ("41", "3", "1", "3")
    assert float(row["gap_s"]) == 0.1 + 0.2 and float(row["t_s"]) == 3.0


def test_what_is_not_known_is_empty(trial: TrialMaker, run_of: RunMaker) -> None:
    text = trials_csv(run_of([trial(tick=None, pack_V=None, since_fire=None)]))
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["t_s"] == row["pack_V"] == row["since_fire"] == row["gap_s"] == ""
    assert "None" not in text


def test_a_run_without_trials_is_a_header(run_of: RunMaker) -> None:
    assert trials_csv(run_of([])) == ",".join(COLUMNS) + "\n"
