# SPDX-License-Identifier: Apache-2.0
"""The odds file keeps its schema, says where it comes from, and is the same for the same measurements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from controller.calibrate.fit import calibrate
from controller.odds.build import OWN, SCHEMA_VERSION, OddsError, build_odds
from controller.odds.write import check_odds, odds_text, schema, write_odds
from controller.store.records import Fill, RunData, raw_sha256
from tests.controller.calibrate.roller.simulate import campaign
from tests.controller.conftest import RunMaker, make_trial

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
VERSIONS = {"numpy": "2.4.6", "launchrig": "0.1.0"}


def odds_of(*runs: RunData, created_at: datetime = NOW) -> dict[str, Any]:
    """Calibrate and build."""
    return build_odds(calibrate(runs), runs, created_at=created_at, versions=VERSIONS)


@pytest.fixture
def odds() -> dict[str, Any]:
    """Odds of a simulated campaign."""
    return odds_of(campaign("hazard", 3).data)


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object within a schema."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from objects(one)


def test_the_schema_is_a_good_2020_12_schema_that_forbids_what_it_does_not_name() -> None:
    found = schema()
    Draft202012Validator.check_schema(found)
    assert found["$schema"].endswith("2020-12/schema")
    assert found["$id"].endswith(f":{SCHEMA_VERSION}")
    closed = [one for one in objects(found) if isinstance(one.get("properties"), dict) and "type" in one]
    assert len(closed) > 15
    assert all((one.get("additionalProperties"), one.get("unevaluatedProperties")).count(False) == 1 for one in closed)
    branches = [found["$defs"][launcher] for launcher in OWN]
    assert all(set(one["required"]) == set(one["properties"]) for one in closed + branches)


def test_the_odds_of_a_campaign_keep_the_schema_and_hold_what_was_fitted(odds: dict[str, Any]) -> None:
    check_odds(odds)
    assert odds["n_trials"] == 500 and odds["simulated"] is True
    assert sum(odds["count"]["weights"]) == 2**32
    assert sum(odds["count"]["p"]) == pytest.approx(1)
    assert odds["count"]["n"] + sum(odds["excluded"].values()) == odds["fire"]["fired"]
    assert odds["fire"]["dependence"]["winner"] == "dependent"
    assert odds["device"] == {
        "dut": "unit 7",
        "board_uuid": "6f1d3c1e-0000-4000-8000-000000000001",
        "drive": "button",
    }
    assert odds["conditions"]["pace_s"] == 3.0
    assert odds["provenance"]["versions"][0] == {"name": "launchrig", "version": "0.1.0"}


def test_equal_measurements_give_an_equal_file_but_for_the_date() -> None:
    first = campaign("iid", 3).data
    again = campaign("iid", 3).data
    later = replace(again, run=replace(again.run, id=99, started_at=NOW, ended_at=NOW, raw_sha256=raw_sha256(again.trials)))
    one, two = odds_of(first), odds_of(later, created_at=NOW + timedelta(days=1))
    assert one.pop("created_at") != two.pop("created_at")
    assert one == two
    other = odds_of(campaign("iid", 4).data)
    assert other["provenance"]["runs"][0]["raw_sha256"] != one["provenance"]["runs"][0]["raw_sha256"]


@pytest.mark.parametrize("verdicts", [[], ["ok"], ["no_run"], ["rejected"], ["jam"], ["ok", "no_run"], ["fault", "slip"]])
@pytest.mark.parametrize("drive", ["button", "direct"])
def test_the_fewest_presses_give_odds_or_a_reason(run_of: RunMaker, verdicts: list[str], drive: str) -> None:
    trials = [make_trial(number=i, verdict=verdict, drive=drive) for i, verdict in enumerate(verdicts, start=1)]
    odds = odds_of(run_of(trials, drive=drive))
    assert json.loads(odds_text(odds)) == odds
    for part in (odds["fire"], odds["count"]):
        assert part.get("p") is not None or part["reason"]


def test_in_direct_drive_fire_is_null_and_commanded(run_of: RunMaker) -> None:
    odds = odds_of(run_of([make_trial(drive="direct")], drive="direct"))
    assert odds["fire"] == {"value": None, "reason": "commanded"}


def test_what_runs_share_is_given_and_what_they_do_not_is_null(run_of: RunMaker) -> None:
    first = run_of([make_trial()], [Fill(1, 83, 81, 0, 9, 0, 0, 2, 0)])
    second = run_of([make_trial(gap_s=4.0, pack_V=4.0)], id=2, settings={"pace_s": 4.0}, rig_url="twin:roller?seed=8")
    odds = odds_of(first, second)
    assert odds["conditions"]["pace_s"] is None
    assert odds["conditions"]["gap_s"] == {"mean": 4.0, "min": 4.0, "max": 4.0}
    assert odds["conditions"]["pack_V"] == {"mean": (4.0 + 4.1875) / 2, "min": 4.0, "max": 4.1875}
    assert odds["conditions"]["fills"] == 1
    assert odds["device"]["board_uuid"] is not None
    assert [run["rig_url"] for run in odds["provenance"]["runs"]] == ["twin:roller?seed=7", "twin:roller?seed=8"]
    assert odds["simulated"] is True


def test_trials_that_were_changed_after_the_run_are_not_vouched_for(run_of: RunMaker) -> None:
    run = run_of([make_trial()], raw_sha256=raw_sha256([make_trial(cleared=9)]))
    with pytest.raises(OddsError, match="changed by hand"):
        odds_of(run)


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path, odds: dict[str, Any]) -> None:
    path = tmp_path / "odds.json"
    write_odds(path, odds)
    before = path.read_text(encoding="utf-8")
    assert json.loads(before) == odds
    with pytest.raises(OddsError, match=r"odds\.n_trials"):
        write_odds(path, odds | {"n_trials": -1})
    assert path.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [path]


def test_keys_come_in_one_order(odds: dict[str, Any]) -> None:
    assert odds_text(odds) == odds_text(dict(reversed(odds.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_that_json_does_not_know_gets_into_the_file(odds: dict[str, Any], value: float) -> None:
    odds["fire"]["variance"] = value
    with pytest.raises((OddsError, ValueError)):
        odds_text(odds)


def test_a_key_that_the_schema_does_not_name_is_refused(odds: dict[str, Any]) -> None:
    with pytest.raises(OddsError, match="extra"):
        check_odds(odds | {"extra": 1})
    with pytest.raises(ValidationError):
        Draft202012Validator(schema()).validate(odds | {"extra": 1})


def test_weights_that_do_not_sum_to_2_to_the_32_are_refused(odds: dict[str, Any]) -> None:
    odds["count"]["weights"][0] += 1
    with pytest.raises(OddsError, match="the sum is 4294967297"):
        check_odds(odds)


def test_arrays_of_unequal_length_are_refused(odds: dict[str, Any]) -> None:
    odds["count"]["p"].append(0.0)
    with pytest.raises(OddsError, match="differ in length"):
        check_odds(odds)
