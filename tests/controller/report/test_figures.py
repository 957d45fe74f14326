# SPDX-License-Identifier: Apache-2.0
"""Figures show what they are given, and their size stays bounded."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from controller.report.figures import FigureFunction
from controller.report.roller import figures
from controller.store.records import Event, RunData
from rig.wire.messages import TICK_HZ
from tests.controller.report.factory import STARTED, data_of, make_data, make_odds, make_run, make_trial

ALL = (figures.counts, figures.hazard, figures.blocked, figures.timeline, figures.waveform)


def texts(svg: str | None) -> list[str]:
    assert svg is not None
    return ["".join(part.itertext()) for part in ElementTree.fromstring(svg).iter("text")]


@pytest.mark.parametrize("draw", ALL)
def test_a_figure_is_one_svg_whose_text_is_text(draw: FigureFunction) -> None:
    data = make_data(80)
    svg = draw(data, make_odds(data), "here", 520.0)
    root = ElementTree.fromstring(svg or "")
    assert root.tag == "svg" and root.get("role") == "img" and root.get("aria-label")
    assert len(texts(svg)) > 4
    assert all(part.get("id", "here-").startswith("here-") for part in root.iter())


@pytest.mark.parametrize("draw", ALL)
def test_an_empty_run_has_no_figures(draw: FigureFunction) -> None:
    assert draw(data_of(), None, "here", 520.0) is None


def test_counts_reach_as_far_as_anything_seen_or_fitted() -> None:
    data = data_of(make_trial(cards=15, hopper=83))
    assert "15" in texts(figures.counts(data, make_odds(data), "c", 520.0))


def test_hazard_names_every_place_and_its_number_of_presses() -> None:
    data = make_data(200)
    odds = make_odds(data)
    said = texts(figures.hazard(data, odds, "h", 520.0))
    rows = odds["fire"]["hazard"]
    assert len(rows) > 2
    for row in rows:
        assert str(row["at_risk"]) in said
        assert f"{row['since_fire']}+" if row["or_more"] else str(row["since_fire"]) in said


def test_the_jam_limit_is_drawn_where_passages_come_near_it() -> None:
    slow = data_of(*(make_trial(n, dwell_ms=250.0) for n in range(1, 5)))
    fast = data_of(*(make_trial(n, dwell_ms=50.0) for n in range(1, 5)))
    assert "jam_ms 300" in texts(figures.blocked(slow, None, "b", 520.0))
    assert "jam_ms 300" not in texts(figures.blocked(fast, None, "b", 520.0))


def test_timeline_has_a_lane_for_each_verdict_and_kind_of_event() -> None:
    trials = (make_trial(1), make_trial(2, "no_run", t_s=5), make_trial(3, "jam", t_s=8))
    events = tuple(Event(int(at * TICK_HZ), None, kind, {}, STARTED) for at, kind in ((1, "power"), (9, "clear_mouth")))
    stray = Event(TICK_HZ, None, "beam_b", {}, STARTED)
    said = " ".join(texts(figures.timeline(RunData(make_run(), (), trials, (*events, stray)), None, "t", 1080.0)))
    for lane in ("ok", "no_run", "jam", "power", "clear mouth"):
        assert re.search(rf"{lane}\s+1", said), (lane, said)
    assert "beam" not in said


def test_a_long_run_does_not_make_a_large_file() -> None:
    trials = tuple(make_trial(n, "no_run", t_s=3.0 * n, hopper=83 - n % 80, fill=1 + n // 80) for n in range(1, 12_001))
    svg = figures.timeline(RunData(make_run(), (), trials, ()), None, "t", 1080.0)
    assert svg is not None and len(svg) < 300_000


def test_waveform_shows_every_signal() -> None:
    said = texts(figures.waveform(data_of(make_trial()), None, "w", 520.0))
    assert {"roller", "sound", "beam A", "beam B", "current (A)", "pack (V)", "stall 850 mA", "running 150 mA"} <= set(said)
