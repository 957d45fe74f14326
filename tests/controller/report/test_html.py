# SPDX-License-Identifier: Apache-2.0
"""The page stands alone, says what it must, and shows names as text whatever is in them."""

from __future__ import annotations

import dataclasses
import re

import pytest

from controller.errors import RefusedError
from controller.report.html import render
from controller.report.svg import COLOUR
from controller.store.records import RunData
from tests.controller.report.factory import data_of, make_data, make_odds, make_run, make_trial
from tests.controller.report.page import Page, assert_stands_alone

pytestmark = pytest.mark.xdist_group("html")

NASTY = '<script>alert(1)</script> & "quotes" \'; {{ 7*7 }} {% raw %} \u202egnp.exe \x07\x00 ]]> --> ünï ' + "x" * 400


@pytest.fixture(scope="module")
def full() -> str:
    data = make_data(300)
    return render(data, make_odds(data))


def test_every_section_is_there_and_the_markup_is_balanced(full: str) -> None:
    page = Page(full)
    wanted = (
        "verdicts",
        "excluded",
        "fire",
        "hazard",
        "counts",
        "faults",
        "exceptions",
        "ledger",
        "link",
        "provenance",
        "conditions",
    )
    assert [name for name in (*wanted, "settings") if name not in page.by_id] == []
    for figure in ("hazard", "counts", "timeline", "blocked", "waveform"):
        assert f"figure-{figure}" in page.by_id
    assert page.names().count("svg") == 10, "five figures, each drawn wide and narrow"


def test_the_page_stands_alone(full: str) -> None:
    assert_stands_alone(full)
    assert "<use " in full, "figures do refer to their own parts"


def test_the_page_forbids_itself_to_load_anything(full: str) -> None:
    policies = [own["content"] for tag, own in Page(full).elements if own.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_figures_wear_the_colours_of_the_page_in_light_and_dark(full: str) -> None:
    figures = " ".join(re.findall(r"<svg.*?</svg>", full, re.DOTALL))
    assert re.findall(r"(?:fill|stroke): ?#[0-9a-f]+", figures) == []
    sheet = full[: full.index("</style>")]
    dark = sheet[sheet.index("prefers-color-scheme: dark") :]
    for name in COLOUR:
        assert f"--{name}:" in sheet and f"--{name}:" in dark, name


def test_the_same_run_gives_the_same_page_to_the_byte() -> None:
    first, second = make_data(40, seed=11), make_data(40, seed=11)
    assert render(first, make_odds(first)) == render(second, make_odds(second))
    other = make_data(40, seed=12)
    assert render(other, make_odds(other)) != render(first, make_odds(first))


def test_a_users_own_plot_settings_change_nothing() -> None:
    import matplotlib as mpl

    data = make_data(20)
    plain = render(data, None)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert render(data, None) == plain


@pytest.mark.parametrize("field", ["dut", "note", "rig_url", "status"])
def test_odd_characters_stay_text(field: str) -> None:
    run = make_run(**{field: NASTY})
    page = Page(render(RunData(run, (), (), ()), None))
    assert "script" not in page.names()
    assert '<script>alert(1)</script> & "quotes" \'; {{ 7*7 }} {% raw %} ' in page.text
    assert "\\u202egnp.exe \\u0007\\u0000 ]]> --> ünï" in page.text
    assert not set("\u202e\x07\x00") & set(page.text)


def test_the_page_can_be_written_whatever_the_name() -> None:
    text = render(RunData(make_run(dut="half a \ud83d smile"), (), (), ()), None)
    assert b"half a \\ud83d smile" in text.encode("utf-8")


@pytest.mark.parametrize(
    ("url", "simulated"),
    [("twin:roller?seed=3", True), ("/dev/ttyACM0", False), ("socket://twin:4000", False)],
)
def test_a_simulated_launcher_is_called_one(url: str, simulated: bool) -> None:
    page = Page(render(RunData(make_run(rig_url=url), (), (), ()), None))
    assert ("Simulated launcher (twin)" in page.text) is simulated


@pytest.mark.parametrize(
    ("state", "words"),
    [("confirmed", "Safe state confirmed"), ("not confirmed", "NOT CONFIRMED SAFE"), ("", "Safe state unknown")],
)
def test_the_safe_state_is_told(state: str, words: str) -> None:
    assert words in Page(render(RunData(make_run(safe_state=state), (), (), ()), None)).text


@pytest.mark.parametrize("status", ["running", "aborted by operator", "aborted by rule", "crashed"])
def test_a_run_that_did_not_complete_says_so_in_a_colour_that_warns(status: str) -> None:
    text = render(RunData(make_run(status=status), (), (), ()), None)
    assert re.search(rf'<span class="pill (bad|warn)">{status}</span>', text)


def test_an_empty_run_says_why_there_is_nothing_to_see() -> None:
    page = Page(render(RunData(make_run(raw_sha256=None, ended_at=None), (), (), ()), None))
    assert page.names().count("svg") == 0
    assert "No press was made." in page.by_id["figure-timeline"]
    assert "Not calibrated" in page.by_id["figure-hazard"]


@pytest.mark.parametrize("presses", [0, 1, 2, 3])
def test_few_presses_make_a_calibrated_page_with_wide_intervals_or_a_reason(presses: int) -> None:
    data = data_of(*(make_trial(n, "ok" if n % 2 else "no_run", t_s=3.0 * n) for n in range(1, presses + 1)))
    page = Page(render(data, make_odds(data)))
    assert ("no usable press" in page.by_id["figure-hazard"]) is (presses == 0)
    assert f"all presses{presses}" in page.by_id["verdicts"].replace("\n", "")


def test_one_press_is_enough_for_a_page() -> None:
    data = make_data(1, only="ok")
    assert "1" in Page(render(data, make_odds(data))).by_id["verdicts"]


@pytest.mark.parametrize("verdict", ["jam", "slip", "empty", "no_run", "rejected", "fault", "aborted"])
def test_a_run_of_nothing_else_makes_a_page(verdict: str) -> None:
    data = make_data(15, only=verdict)
    text = render(data, make_odds(data))
    assert f"{verdict}15100 %" in Page(text).by_id["verdicts"].replace("\n", "")
    assert ("<svg" in _figure(text, "waveform")) is (verdict in ("jam", "slip", "empty"))


def test_without_odds_no_interval_is_claimed() -> None:
    page = Page(render(make_data(100), None))
    assert "not calibrated" in page.text
    assert "fire" not in page.by_id and "faults" not in page.by_id
    assert "without intervals" in page.by_id["figure-counts"]


def test_direct_drive_tells_that_the_fires_were_commanded() -> None:
    data = data_of(*(make_trial(n, drive="direct") for n in range(1, 20)), drive="direct")
    page = Page(render(data, make_odds(data)))
    assert "commanded by the rig" in page.text
    assert "the rig decides" in page.by_id["figure-hazard"]


def test_a_difference_in_the_ledger_is_on_top_and_in_its_row() -> None:
    data = make_data(60)
    wrong = dataclasses.replace(data.fills[0], difference=-2)
    page = render(dataclasses.replace(data, fills=(wrong, *data.fills[1:])), None)
    assert '<b class="bad">2 off</b>' in page
    assert '<span class="bad">-2</span>' in page
    even = dataclasses.replace(data, fills=tuple(dataclasses.replace(fill, difference=0) for fill in data.fills))
    assert "balances" in Page(render(even, None)).text


def _figure(page: str, name: str) -> str:
    start = page.index(f'id="figure-{name}"')
    return page[start : page.index("</figure>", start)]


def test_a_launcher_without_a_page_is_told_in_one_line() -> None:
    with pytest.raises(RefusedError, match="run 7: no report is known for launcher catapult, only for roller and blast"):
        render(RunData(make_run(launcher="catapult"), (), (), ()), None)
