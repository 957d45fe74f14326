# SPDX-License-Identifier: Apache-2.0
"""What may be fitted together, whatever the launcher."""

from __future__ import annotations

from typing import Any

import pytest

from controller.calibrate.fit import FITS, CalibrationError, calibrate
from tests.controller.conftest import RunMaker, TrialMaker, make_run, make_trial


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"dut": "other"}, "device under test"), ({"drive": "direct"}, "drive"), ({"launcher": "blast"}, "launcher")],
)
def test_runs_that_do_not_belong_together_are_refused(
    run_of: RunMaker, trial: TrialMaker, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(CalibrationError, match=f"differ in {message}"):
        calibrate([run_of([trial()]), run_of([trial()], id=2, **changes)])


def test_a_run_given_twice_or_none_at_all_is_refused(run_of: RunMaker, trial: TrialMaker) -> None:
    run = run_of([trial()])
    with pytest.raises(CalibrationError, match="given twice"):
        calibrate([run, run])
    with pytest.raises(CalibrationError, match="no run"):
        calibrate([])


def test_runs_with_the_same_trials_or_of_twin_and_board_are_not_pooled() -> None:
    trials = [make_trial(number=i) for i in range(1, 6)]
    first = make_run(trials, raw_sha256="a" * 64)
    with pytest.raises(CalibrationError, match="same trials"):
        calibrate([first, make_run(trials, id=2, raw_sha256="a" * 64)])
    with pytest.raises(CalibrationError, match="of the twin"):
        calibrate([first, make_run(trials, id=2, raw_sha256="b" * 64, rig_url="/dev/ttyACM0", firmware={})])


def test_a_launcher_without_a_model_is_refused_by_name(run_of: RunMaker) -> None:
    with pytest.raises(CalibrationError, match=r"launcher catapult: .* roller and blast"):
        calibrate([run_of([], launcher="catapult")])


@pytest.mark.parametrize("launcher", FITS)
def test_the_fit_is_of_the_launcher_that_was_asked_for(run_of: RunMaker, launcher: str) -> None:
    assert calibrate([run_of([], launcher=launcher, settings={"slots": 4})]).launcher == launcher
