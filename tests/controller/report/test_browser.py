# SPDX-License-Identifier: Apache-2.0
"""What Chromium makes of the page: no request leaves the file, nothing pokes out of a narrow window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.report.html import render
from controller.store.records import RunData
from tests.controller.report.blaster import make_blast_data
from tests.controller.report.browser import CHROMIUM, Browser, chromium
from tests.controller.report.factory import make_data, make_odds

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"), pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


MAKE: dict[str, tuple[Callable[..., RunData], int]] = {"roller": (make_data, 5), "blast": (make_blast_data, 7)}
"""By launcher, how a run is made, and how many figures its page has."""


@pytest.fixture(scope="module", params=sorted(MAKE))
def launcher(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, launcher: str) -> Path:
    data = MAKE[launcher][0](200, dut="unit <0042> " + "very-long-name-" * 20)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(data, make_odds(data)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 400])
def test_opening_the_page_asks_for_the_page_and_nothing_else(browser: Browser, report: Path, launcher: str, width: int) -> None:
    browser.requests.clear()
    browser.open(report, width)
    assert browser.requests == [report.as_uri()]
    assert browser.evaluate("performance.getEntriesByType('resource').length") == 0
    assert browser.evaluate("document.querySelectorAll('figure svg').length") == 2 * MAKE[launcher][1]


def test_a_page_that_does_ask_for_more_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    leaky = tmp_path / "leaky.html"
    leaky.write_text('<!doctype html><img src="http://launchrig.invalid/pixel.png">', encoding="utf-8")
    browser.requests.clear()
    browser.open(leaky, 400)
    assert "http://launchrig.invalid/pixel.png" in browser.requests


@pytest.mark.parametrize("width", [1280, 900, 640, 400, 320])
def test_the_page_never_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    browser.open(report, width)
    assert browser.evaluate("innerWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "shown"), [(1280, "wide"), (400, "narrow")])
def test_each_figure_is_shown_once_and_large_enough_to_read(
    browser: Browser, report: Path, launcher: str, width: int, shown: str
) -> None:
    browser.open(report, width)
    seen = browser.evaluate(
        "[...document.querySelectorAll('figure > div')].filter(box => box.offsetHeight > 0).map(box => box.className)"
    )
    assert seen == [shown] * MAKE[launcher][1]
    smallest = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('figure svg')].filter(svg => svg.clientWidth > 0)"
        ".map(svg => 11 * svg.clientWidth / svg.viewBox.baseVal.width))"
    )
    assert smallest >= 8.5, "px of letter height"


def test_the_dark_face_has_light_letters_on_a_dark_ground(browser: Browser, report: Path) -> None:
    def brightness(selector: str, what: str) -> float:
        colour = browser.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{what}")
        return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 3

    for dark in (False, True):
        browser.open(report, 1280, dark=dark)
        assert (brightness("main", "backgroundColor") < 128) is dark
        assert (brightness("figure svg text", "fill") > 128) is dark


def test_on_paper_a_long_table_is_whole_and_lies_on_nothing(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "jams.html"
    page.write_text(render(make_data(60, only="jam"), None), encoding="utf-8")
    browser.open(page, 690, media="print")
    cut = "[...document.querySelectorAll('.scroll')].filter(box => box.clientHeight < box.scrollHeight).length"
    assert browser.evaluate(cut) == 0
    browser.open(page, 690)
    assert browser.evaluate(cut) > 0, "on the screen it scrolls"
