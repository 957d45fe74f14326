# SPDX-License-Identifier: Apache-2.0
"""One run as one HTML file that needs nothing else: no network, no script, no other file.

The same run and odds give the same text to the byte, so reports can be compared and signed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controller.errors import RefusedError
from controller.report import blast, roller, words
from controller.report.figures import Odds
from controller.report.page import FigureSpec, Item, Page, Row
from controller.report.tables import Table
from controller.store.records import RunData, is_simulated

PAGES: Mapping[str, Page] = {"roller": roller.PAGE, "blast": blast.PAGE}
"""The page of each kind of launcher."""

# Characters that HTML forbids or that would rearrange the text around them: controls, surrogates, direction marks.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as the template takes it: its variants by CSS class, or the reason why there is none."""

    name: str
    variants: tuple[tuple[str, Markup], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """An item of the page once it is made: a figure, or a table if there is one."""

    figure: Drawn | None
    table: Table | None


def render(data: RunData, odds: Odds | None) -> str:
    """Return the report of a run as one HTML document.

    odds: the content of odds.json for this run; None when it was not calibrated, then no interval is shown.
    Raises `RefusedError` for a launcher that has no page.
    """
    page = PAGES.get(data.run.launcher)
    if page is None:
        raise RefusedError(
            f"run {data.run.id}: no report is known for launcher {data.run.launcher}, only for {' and '.join(PAGES)}"
        )
    environment = Environment(
        loader=PackageLoader("controller.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_presentable,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        run=data.run,
        simulated=is_twin(data, odds),
        note=page.note(data, odds),
        tiles=page.tiles(data, odds),
        status_tone=_STATUS_TONE.get(data.run.status, "bad"),
        safe_state=_SAFE_STATE.get(data.run.safe_state, _SAFE_STATE[""]),
        started=words.instant(data.run.started_at),
        sections=[(section.title, [_row(row, data, odds) for row in section.rows]) for section in page.sections],
    )


def is_twin(data: RunData, odds: Odds | None) -> bool:
    """Return whether the run was made on the simulated launcher."""
    return is_simulated(data.run) or bool((odds or {}).get("simulated"))


def _presentable(value: object) -> object:
    """Show what a reader or a parser could trip over as its code, so that no name can disguise itself."""
    if isinstance(value, Markup):
        return value
    return _UNFIT.sub(lambda found: f"\\u{ord(found.group()):04x}", str(value))


def _row(row: Row, data: RunData, odds: Odds | None) -> tuple[str, list[list[Shown]]]:
    return row.look, [[_shown(item, data, odds) for item in column] for column in row.columns]


def _shown(item: Item, data: RunData, odds: Odds | None) -> Shown:
    return Shown(_drawn(item, data, odds), None) if isinstance(item, FigureSpec) else Shown(None, item(data, odds))


def _drawn(spec: FigureSpec, data: RunData, odds: Odds | None) -> Drawn:
    classes = ("wide", "narrow")
    drawn = [spec.draw(data, odds, f"{spec.name}-{part}", width) for part, width in zip(classes, spec.widths_px, strict=True)]
    variants = tuple((part, Markup(text)) for part, text in zip(classes, drawn, strict=True) if text)
    return Drawn(spec.name, variants, (spec.caption if variants else spec.missing)(data, odds))


_STATUS_TONE: dict[str, str] = {"complete": "good", "running": "warn"}

_SAFE_STATE: dict[str, tuple[str, str]] = {
    "confirmed": ("good", "Safe state confirmed: every output was read back as off at the end."),
    "not confirmed": ("bad", "NOT CONFIRMED SAFE: the outputs could not be read back as off at the end."),
    "": ("warn", "Safe state unknown: the end of this run was not recorded."),
}
