# SPDX-License-Identifier: Apache-2.0
"""The trials as CSV: one row each, nothing rounded, nothing made up."""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from controller.export_csv import COLUMNS, trials_csv
from controller.store.records import Trial
from tests.controller.conftest import RunMaker, TrialMaker

OF_BLASTER = ("slot", "loaded", "toy", "round", "insert")


def test_every_field_but_edges_samples_and_derived_ones_is_a_column() -> None:
    left_out = {field.name for field in fields(Trial)} - set(COLUMNS["blast"])
    assert left_out == {"number", "tick", "edges", "bins", "fired"}


def test_a_roller_has_no_columns_of_the_blaster_and_those_come_last() -> None:
    assert COLUMNS["blast"] == (*COLUMNS["roller"], *OF_BLASTER)
    assert COLUMNS["roller"][:9] == ("trial", "kind", "drive", "t_s", "verdict", "cleared", "sticking", "dealt", "roller_ms")
    assert COLUMNS["roller"][-3:] == ("duty", "pack_open_V", "spoiled")


def test_a_row_of_a_blaster_reads_back_as_the_trial(trial: TrialMaker, run_of: RunMaker) -> None:
    insert = trial(kind="insert", verdict="held", slot=3, loaded=2, toy="awake", round=7, insert=2)
    reset = trial(kind="reset", number=2, verdict="held", loaded=2, toy="asleep", round=7)
    rows = list(csv.DictReader(io.StringIO(trials_csv(run_of([insert, reset], launcher="blast")))))
    assert [[row[name] for name in OF_BLASTER] for row in rows] == [["3", "2", "awake", "7", "2"], ["", "2", "asleep", "7", ""]]


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
    assert trials_csv(run_of([])) == ",".join(COLUMNS["roller"]) + "\n"
