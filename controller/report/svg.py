# SPDX-License-Identifier: Apache-2.0
"""Matplotlib figures as SVG that can stand inside an HTML page.

A page holds several figures and has a light and a dark face, so every figure is redrawn in the page's own
colours (CSS variables), carries ids that no other figure has, and names no outside address, not even a namespace.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Matplotlib only knows fixed colours. Each name of the page's palette has a stand-in that no figure uses by
# chance; `inline` puts the CSS variable of that name in its place.
_NAMES = (
    "ink",
    "muted",
    "grid",
    "paper",
    "accent",
    "band",
    "ok",
    "no_run",
    "slip",
    "jam",
    "empty",
    "rejected",
    "aborted",
    "fault",
    "blast",
    "held",
    "partial",
    "latch_fault",
)
COLOUR: dict[str, str] = {name: f"#0b{number:02x}fe" for number, name in enumerate(_NAMES, start=1)}

FONT_PX = 11.0

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "launchrig",
    "figure.dpi": 72,
    "font.size": FONT_PX,
    "axes.titlesize": FONT_PX,
    "axes.labelsize": FONT_PX,
    "xtick.labelsize": FONT_PX,
    "ytick.labelsize": FONT_PX,
    "text.color": COLOUR["ink"],
    "axes.labelcolor": COLOUR["muted"],
    "axes.edgecolor": COLOUR["muted"],
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.linewidth": 0.8,
    "grid.color": COLOUR["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": COLOUR["muted"],
    "ytick.color": COLOUR["muted"],
    "xtick.labelcolor": COLOUR["ink"],
    "ytick.labelcolor": COLOUR["ink"],
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": FONT_PX,
    "patch.linewidth": 0,
    "patch.edgecolor": COLOUR["ink"],
}

_XLINK = "{http://www.w3.org/1999/xlink}"
_FONT_FAMILY = re.compile(r"\s*font-family:[^;]*;?")
_TOO_FINE = re.compile(r"(\.\d\d)\d+")  # a hundredth of a pixel is enough
_REFERENCE = re.compile(r"#([\w.:-]+)")


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the house style, whatever the user's own matplotlib settings say."""
    with style.context(_STYLE, after_reset=True):
        yield


def new_figure(width_px: float, height_px: float) -> Figure:
    """Return an empty figure of the given size in CSS pixels; use it inside `drawing`."""
    figure = Figure(figsize=(width_px / 72, height_px / 72), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def inline(figure: Figure, name: str, title: str) -> str:
    """Return `figure` as an `<svg>` element for HTML.

    `name` must be unique in the page: it is put before every id. `title` is what a screen reader says.
    The same figure gives the same text: no date, no random ids.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(buffer.getvalue())
    used = _used_ids(root)
    for parent in root.iter():
        parent.tag = parent.tag.rpartition("}")[2]
        for child in list(parent):
            # Its one rule is for every element of the page; the page's own sheet has it for figures.
            if child.tag.endswith("}style") or child.tag.endswith("}metadata"):
                parent.remove(child)
        _clean(parent.attrib, used, name)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    width_px, height_px = root.attrib["viewBox"].split()[2:]
    root.set("role", "img")
    root.set("aria-label", title)
    root.set("style", f"aspect-ratio:{width_px}/{height_px};max-width:{float(width_px):g}px")
    text = ElementTree.tostring(root, encoding="unicode")
    text = re.sub(r">\s+<", "><", text)
    for colour_name, stand_in in COLOUR.items():
        text = text.replace(stand_in, f"var(--{colour_name})")
    return text


def _used_ids(root: ElementTree.Element) -> set[str]:
    """Return the ids that anything in the figure points to."""
    found: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == f"{_XLINK}href" or "url(#" in value:
                found.update(_REFERENCE.findall(value))
    return found


def _clean(attributes: dict[str, str], used: set[str], name: str) -> None:
    """Make one element's attributes fit for HTML: own ids, no namespace, the page's font."""
    for key, value in list(attributes.items()):
        if key == "id":
            if value in used:
                attributes["id"] = f"{name}-{value}"
            else:
                del attributes["id"]
        elif key == f"{_XLINK}href":
            del attributes[key]
            attributes["href"] = f"#{name}-{value.removeprefix('#')}"
        elif "url(#" in value:
            attributes[key] = value.replace("url(#", f"url(#{name}-")
        elif key == "style":
            attributes["style"] = _FONT_FAMILY.sub("", value).strip()
        elif key == "d":
            attributes["d"] = _TOO_FINE.sub(r"\1", " ".join(value.split()))
        elif key == "transform" and value.startswith("rotate(-0 "):
            del attributes[key]
