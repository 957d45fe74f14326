# SPDX-License-Identifier: Apache-2.0
"""The main job, end to end, judged against the truth."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.odds.write import check_odds
from tests.system.conftest import LAUNCHRIG, Demo

pytestmark = pytest.mark.xdist_group("demo")

PRODUCTS = {"runs.sqlite", "odds.json", "report.html", "trials.csv", "truth.json"}
PACE_TICKS_TOLERANCE_S = 0.0021  # the MCU acts on its 2 ms tick


@pytest.fixture
def plain(demo: Callable[..., Demo]) -> Demo:
    return demo("--trials", "200", "--seed", "3")


def test_the_demo_writes_every_product_and_says_that_it_is_simulated(plain: Demo) -> None:
    assert {path.name for path in plain.out.iterdir()} >= PRODUCTS
    assert "outputs off, confirmed" in plain.process.stdout
    assert "simulated launcher" in plain.process.stdout
    assert "recovered against true values" in plain.process.stdout
    assert len(plain.trials) == 200
    check_odds(plain.odds)
    assert plain.odds["simulated"] is True
    assert "\x1b" not in plain.process.stdout, "no terminal codes where there is no terminal"


def test_a_seed_reproduces_trials_and_odds_to_the_byte(plain: Demo, demo: Callable[..., Demo]) -> None:
    first_csv, first_odds = (plain.out / "trials.csv").read_bytes(), plain.odds
    again = demo("--trials", "200", "--seed", "3", again=True)
    assert (again.out / "trials.csv").read_bytes() == first_csv
    assert again.odds | {"created_at": ""} == first_odds | {"created_at": ""}


def test_another_seed_gives_other_trials(plain: Demo, demo: Callable[..., Demo]) -> None:
    other = demo("--trials", "200", "--seed", "4")
    assert [t["dealt"] for t in other.trials] != [t["dealt"] for t in plain.trials]
    assert other.odds["device"]["board_uuid"] != plain.odds["device"]["board_uuid"]


def test_presses_come_at_the_pace_in_mcu_time(plain: Demo) -> None:
    gaps = [float(t["gap_s"]) for t in plain.trials if t["gap_s"]]
    at_pace = [gap for gap in gaps if abs(gap - 3.0) <= PACE_TICKS_TOLERANCE_S]
    interrupted = [gap for gap in gaps if gap > 3.0 + PACE_TICKS_TOLERANCE_S]  # by the operator
    assert len(at_pace) + len(interrupted) == len(gaps)
    assert len(at_pace) > 0.8 * len(gaps)


def test_an_existing_folder_gets_a_further_run(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        subprocess.run(
            [LAUNCHRIG, "demo", "--trials", "5", "--seed", seed, "--out", str(tmp_path)], check=True, capture_output=True
        )
    listing = subprocess.run(
        [LAUNCHRIG, "runs", "list", "--store", str(tmp_path / "runs.sqlite")], check=True, capture_output=True, text=True
    ).stdout
    assert "seed=1" in listing
    assert "seed=2" in listing


@pytest.mark.parametrize("drive", ["button", "direct"])
@pytest.mark.parametrize("brain", ["iid", "hazard", "sequence"])
def test_without_double_feeds_every_card_is_counted_as_it_was(brain: str, drive: str, demo: Callable[..., Demo]) -> None:
    done = demo("--rig", f"twin:roller?brain={brain}&double_feed=0", "--trials", "250", "--seed", "11", "--drive", drive)
    pairs = done.pairs()
    assert len(pairs) == 250, "every press reached the launcher"
    for trial, true in pairs:
        assert (int(trial["cleared"]), int(trial["sticking"])) == (true["cleared"], true["sticking"]), trial
        assert (trial["verdict"] == "jam") == bool(true["jammed"]), trial
    assert sum(true["cleared"] for _, true in pairs) > 200
    assert sum(true["sticking"] for _, true in pairs) > 0


def test_with_double_feeds_trials_differ_and_only_those(demo: Callable[..., Demo]) -> None:
    done = demo("--rig", "twin:roller?double_feed=0.2", "--trials", "250", "--seed", "11")
    different = [
        true
        for trial, true in done.pairs()
        if (int(trial["cleared"]), int(trial["sticking"])) != (true["cleared"], true["sticking"])
    ]
    assert different
    assert all(true["double_feeds"] for true in different)


def test_a_blind_beam_sees_nothing_while_cards_fly(demo: Callable[..., Demo]) -> None:
    done = demo("--rig", "twin:roller?beam=blind", "--trials", "60", "--seed", "5")
    assert all(int(trial["cleared"]) == 0 for trial in done.trials)
    assert sum(true["cleared"] for _, true in done.pairs()) > 20


def test_the_odds_of_direct_drive_have_no_fire_and_say_why(demo: Callable[..., Demo]) -> None:
    done = demo("--rig", "twin:roller?brain=hazard&double_feed=0", "--trials", "250", "--seed", "11", "--drive", "direct")
    assert done.odds["fire"] == {"value": None, "reason": "commanded"}
    assert sum(done.odds["count"]["weights"]) == 2**32


def test_the_ledger_reconciles_or_says_by_how_much(plain: Demo) -> None:
    shown = subprocess.run(
        [LAUNCHRIG, "runs", "show", "last", "--store", str(plain.out / "runs.sqlite")], check=True, capture_output=True, text=True
    ).stdout
    assert "cards by fill" in shown
    assert "outputs at the end  off, confirmed" in shown


def test_calibrate_and_report_work_from_the_store_alone(plain: Demo, tmp_path: Path) -> None:
    store = str(plain.out / "runs.sqlite")
    odds, page = tmp_path / "odds.json", tmp_path / "report.html"
    subprocess.run([LAUNCHRIG, "calibrate", "last", "-o", str(odds), "--store", store], check=True, capture_output=True)
    subprocess.run([LAUNCHRIG, "report", "last", "-o", str(page), "--store", store], check=True, capture_output=True)
    assert json.loads(odds.read_text()) | {"created_at": ""} == plain.odds | {"created_at": ""}
    assert "simulated" in page.read_text(encoding="utf-8").lower()
