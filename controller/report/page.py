# SPDX-License-Identifier: Apache-2.0
"""What a page of the report is made of: tiles on top, then sections of figures and tables. Each launcher has one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from controller.report.figures import FigureFunction, Odds
from controller.report.tables import TableFunction, Tone
from controller.report.words import NOTHING
from controller.store.records import RunData

WIDE_PX, HALF_PX, NARROW_PX = 1080.0, 520.0, 380.0

Say = Callable[[RunData, Odds | None], str]


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the figures at the head of the page."""

    title: str
    value: str
    detail: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure's place on the page. widths_px: it is drawn wide and narrow, and the page shows what fits its window."""

    name: str
    draw: FigureFunction
    widths_px: tuple[float, float]
    caption: Say
    missing: Say


Item = FigureSpec | TableFunction


@dataclass(frozen=True, slots=True)
class Row:
    """One band of a section, in one column or two. look: `block` sets a table that may be missing apart from what is above."""

    columns: tuple[tuple[Item, ...], ...]
    look: Literal["wide", "pair", "block"]


def wide(item: Item) -> Row:
    """One item over the whole width."""
    return Row(((item,),), "wide")


def pair(left: tuple[Item, ...], right: tuple[Item, ...]) -> Row:
    """Two columns beside each other; one below the other in a narrow window."""
    return Row((left, right), "pair")


def block(item: TableFunction) -> Row:
    """A table over the whole width, of which nothing is left when there is no such table."""
    return Row(((item,),), "block")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is under it."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The report on one kind of launcher. note: a sentence on what is not verified of it, shown under the head, or empty."""

    tiles: Callable[[RunData, Odds | None], list[Tile]]
    sections: tuple[Section, ...]
    note: Say


def ledger_tile(data: RunData) -> Tile:
    """Whether the cards of all fills are accounted for."""
    counted = [fill for fill in data.fills if fill.difference is not None]
    off = [fill for fill in counted if fill.difference]
    if not counted:
        return Tile("Card ledger", NOTHING, "no fill was counted out")
    if not off:
        return Tile("Card ledger", "balances", f"counted fills: {len(counted)}")
    cards = sum(abs(fill.difference or 0) for fill in off)
    return Tile("Card ledger", f"{cards} off", f"in {len(off)} of {len(counted)} counted fills", "bad")
