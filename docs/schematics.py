# SPDX-License-Identifier: Apache-2.0
"""Draws the schematics of the wiring page, each once for a light and once for a dark page.

`conf.py` runs it at every build; `python docs/schematics.py DIR` draws them by hand. Everything stands at absolute
places (x to the right, y up), so that one part can be moved without the others following.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import schemdraw
from schemdraw import elements as elm

schemdraw.use("svg")

INK = {"light": "#16191d", "dark": "#dfe3e7"}
Point = tuple[float, float]


class Sheet:
    """A drawing with the few strokes that the schematics need."""

    def __init__(self, ink: str) -> None:
        self.drawing = schemdraw.Drawing(show=False)
        self.drawing.config(fontsize=11, font="sans-serif", color=ink, lw=1.4, margin=0.9)

    def wire(self, *points: Point) -> None:
        """Lines from point to point."""
        for start, end in pairwise(points):
            self.drawing.add(elm.Line().endpoints(start, end))

    def part(self, element: elm.Element2Term, start: Point, end: Point, text: str = "", where: str = "top") -> None:
        """A two-terminal part between two points; `where` is seen along the part."""
        element.endpoints(start, end)
        self.drawing.add(element.label(text, loc=where) if text else element)

    def dot(self, *points: Point) -> None:
        """Joints."""
        for point in points:
            self.drawing.add(elm.Dot().at(point))

    def ground(self, *points: Point) -> None:
        """Ground symbols."""
        for point in points:
            self.drawing.add(elm.Ground().at(point).theta(0))

    def port(self, point: Point, text: str, side: str = "right") -> None:
        """A named end of a wire: a pin of the Uno, or a supply."""
        self.drawing.add(elm.Dot(open=True).at(point).theta(0).label(text, loc=side))

    def text(self, point: Point, text: str, size: float = 11, align: str = "center") -> None:
        """Words, centred on a point unless `align` says otherwise."""
        self.drawing.add(elm.Label().at(point).theta(0).label(text, fontsize=size, halign=align))

    def box(self, low: Point, high: Point, title: str, pins: dict[str, Point]) -> None:
        """A block with its title in the middle and pin names just inside its edge."""
        (x0, y0), (x1, y1) = low, high
        self.wire((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))
        self.text(((x0 + x1) / 2, (y0 + y1) / 2 - 0.1), title, 12)
        for name, (x, y) in pins.items():
            if x == x0:
                self.text((x + 0.15, y - 0.12), name, 10, "left")
            elif x == x1:
                self.text((x - 0.15, y - 0.12), name, 10, "right")
            else:
                self.text((x, y + (0.12 if y == y0 else -0.38)), name, 10)


def _pack(s: Sheet, cells: str = "3 x C") -> None:
    """The pack with its fuse, divider and current sense; the sensed supply leaves at (6.4, 4), ground is at y = 0."""
    s.part(elm.BatteryCell(), (0, 4), (0, 0), f"pack\n{cells}", "bottom")
    s.part(elm.Fuse(), (0, 4), (2, 4), "F1 2 A")
    s.wire((2, 4), (3.6, 4))
    s.part(elm.Resistor(), (3.6, 4), (6.0, 4), "R1 50 mΩ", "bottom")
    s.wire((6.0, 4), (6.4, 4))
    s.wire((0, 0), (6.4, 0))
    s.ground((0, 0))
    s.part(elm.Resistor(), (2.2, 4), (2.2, 2), "R2 10k", "bottom")
    s.part(elm.Resistor(), (2.2, 2), (2.2, 0), "R3 10k", "bottom")
    s.wire((2.2, 2), (3.6, 2))
    s.port((3.6, 2), "A1")
    s.dot((2.2, 4), (2.2, 2), (2.2, 0), (3.6, 4), (6.0, 4))
    s.box((3.1, 5.2), (6.5, 6.6), "U1, gain 20", {"IN+": (3.6, 5.2), "IN−": (6.0, 5.2)})
    s.wire((3.6, 4), (3.6, 5.2))
    s.wire((6.0, 4), (6.0, 5.2))
    s.wire((6.5, 5.9), (7.2, 5.9))
    s.port((7.2, 5.9), "A0, 1 V per A")


def button(s: Sheet) -> None:
    """Wiring `button`: the motor stays on the toy's board, the pack comes through the shunt and the relay."""
    _pack(s)
    s.part(elm.Switch(), (6.4, 4), (9.0, 4), "K1, closed by A5", "bottom")
    s.wire((9.0, 4), (10, 4))
    s.wire((6.4, 0), (9, 0), (9, 1), (10, 1))
    pins = {"+": (10, 4), "−": (10, 1), "motor": (14.4, 4), "motor ": (14.4, 1), "button": (11.0, 0.2)}
    s.box((10, 0.2), (14.4, 4.8), "toy's board", {**pins, "sound": (13.4, 0.2)})
    s.wire((14.4, 4), (16, 4))
    s.wire((14.4, 1), (16, 1))
    s.part(elm.Motor(), (16, 4), (16, 1), "")
    s.wire((11.0, 0.2), (11.0, -0.4))
    s.text((10.7, -1.3), "pressed by the\nactuator of A2", 10)
    s.wire((13.4, 0.2), (13.4, -0.4))
    s.text((13.9, -1.3), "to the comparator\nof D13", 10)


def direct(s: Sheet) -> None:
    """Wiring `direct`: a changeover moves the motor to the rig's bridge, the toy's board has no power."""
    _pack(s)
    s.wire((6.4, 4), (9, 4))
    s.wire((6.4, 0), (8, 0), (8, 1), (9, 1))
    pins = {"VM": (9, 4), "GND": (9, 1), "OUT1": (12.6, 4), "OUT2": (12.6, 1), "IN1": (9.9, 0.2), "IN2": (11.7, 0.2)}
    s.box((9, 0.2), (12.6, 4.8), "U2, bridge", pins)
    for y, name in ((4.0, "S1a"), (1.0, "S1b")):
        s.wire((12.6, y), (13.8, y))
        s.drawing.add(elm.Dot(open=True).at((13.8, y)))
        s.wire((13.8, y), (15.6, y - 0.35))
        s.dot((15.6, y - 0.35))
        s.text((14.9, y + 0.1), name, 10)
        s.drawing.add(elm.Dot(open=True).at((13.8, y - 0.7)))
        s.wire((13.8, y - 0.7), (13.3, y - 0.7))
        s.text((13.3, y - 1.25), "toy's board", 9)
        s.wire((15.6, y - 0.35), (17.0, y - 0.35))
    s.part(elm.Motor(), (17.0, 3.65), (17.0, 0.65), "")
    for x, pin, pull in ((9.9, "D3", 8.4), (11.7, "D4", 13.0)):
        s.wire((x, 0.2), (x, -1.6))
        s.port((x, -1.6), pin, "bottom")
        s.dot((x, -0.7))
        s.part(elm.Resistor(), (x, -0.7), (pull, -0.7), "10k", "top")
        s.ground((pull, -0.7))


def blaster(s: Sheet) -> None:
    """The blaster: the pack as for the roller, and a stage of its own for each slot solenoid and the reset actuator."""
    _pack(s, "3 x AA")
    s.part(elm.Switch(), (6.4, 4), (9.0, 4), "K1, closed by A5", "bottom")
    s.wire((9.0, 4), (10, 4))
    s.wire((6.4, 0), (9, 0), (9, 1), (10, 1))
    pins = {"+": (10, 4), "−": (10, 1), "reset": (11.0, 0.2), "sound": (13.8, 0.2)}
    s.box((10, 0.2), (14.8, 4.8), "toy's board", pins)
    s.wire((11.0, 0.2), (11.0, -0.4))
    s.text((11.0, -1.3), "pressed by the\nactuator of D12", 10)
    s.wire((13.8, 0.2), (13.8, -0.4))
    s.text((14.2, -1.3), "to the comparator\nof D13", 10)
    rail = -3.0
    s.port((0, rail), "coil\nsupply", "left")
    s.part(elm.Button(nc=True), (0, rail), (2.6, rail), "emergency stop,\nsecond contact", "top")
    stages = ((4.6, "D5", "slot 1"), (8.2, "D6", "slot 2"), (13.4, "D11", "slot 6"), (17.0, "D12", "reset"))
    s.wire((2.6, rail), (stages[-1][0] + 1.0, rail))
    for x, pin, name in stages:
        _driven_coil(s, x, rail, pin, name)
    s.text((9.95, rail - 4.2), "slots 3 to 5:\nD7 D9 D10", 10)


def _driven_coil(s: Sheet, x: float, rail: float, pin: str, name: str) -> None:
    """A coil between the rail and a transistor, with its diode, gate resistor and pull-down; the pin comes in from above."""
    drain, gate = rail - 2.4, x - 1.9
    fet = s.drawing.add(elm.NFet().theta(0).reverse().at((x, drain)).anchor("drain"))
    level = fet.gate[1]
    s.part(elm.Inductor2(), (x, drain), (x, rail), "")
    s.text((x, rail + 0.25), name, 10)
    s.wire((x, drain), (x + 1.0, drain))
    s.part(elm.Diode(), (x + 1.0, drain), (x + 1.0, rail), "")
    s.dot((x, drain), (x, rail), (x + 1.0, rail), (gate, level))
    s.wire(tuple(fet.gate), (gate, level))
    s.part(elm.Resistor(), (gate, level), (gate, level + 1.9), "100 Ω", "bottom")
    s.port((gate, level + 1.9), pin, "top")
    s.part(elm.Resistor(), (gate, level), (gate, level - 1.9), "10k", "bottom")
    s.ground((gate, level - 1.9))
    s.wire(tuple(fet.source), (x, level - 1.9))
    s.ground((x, level - 1.9))


def coil(s: Sheet) -> None:
    """The same stage for every coil: launch actuator, reset actuator, slot solenoids, power relay."""
    s.port((0, 0), "A2, A5, D5 to D7,\nD9 to D12", "left")
    s.part(elm.Resistor(), (0, 0), (2.2, 0), "100 Ω")
    s.dot((2.2, 0))
    s.part(elm.Resistor(), (2.2, 0), (2.2, -2), "10k", "bottom")
    s.ground((2.2, -2))
    fet = s.drawing.add(elm.NFet().theta(0).reverse().at((3.2, 0)).anchor("gate"))
    s.wire((2.2, 0), tuple(fet.gate))
    s.wire(tuple(fet.source), (fet.source[0], -2))
    s.ground((fet.source[0], -2))
    x = fet.drain[0]
    s.wire(tuple(fet.drain), (x, 1.4))
    s.dot((x, 1.4))
    s.part(elm.Inductor2(), (x, 1.4), (x, 3.8), "coil", "bottom")
    s.wire((x, 1.4), (x + 1.8, 1.4))
    s.part(elm.Diode(), (x + 1.8, 1.4), (x + 1.8, 3.8), "flyback", "bottom")
    s.wire((x, 3.8), (x + 1.8, 3.8))
    s.dot((x, 3.8))
    s.wire((x, 3.8), (x, 4.4))
    s.port((x, 4.4), "coil supply", "right")
    s.text((x + 0.3, 0.35), "Q", 11, "left")


def inputs(s: Sheet) -> None:
    """Beams, sound, interlock loop and lid."""
    # one beam
    s.port((0, 3), "5 V", "top")
    s.part(elm.Resistor(), (0, 3), (0, 1.2), "180 Ω", "bottom")
    s.part(elm.LED(), (0, 1.2), (0, -0.6), "")
    s.ground((0, -0.6))
    s.port((2.4, 3), "5 V", "top")
    s.wire((2.4, 3), (2.4, 2.6))
    s.part(elm.Photodiode(), (2.4, 1.0), (2.4, 2.6), "")
    s.dot((2.4, 1.0))
    s.part(elm.Resistor(), (2.4, 1.0), (2.4, -0.6), "4k7", "bottom")
    s.ground((2.4, -0.6))
    s.wire((2.4, 1.0), (4.6, 1.0))
    s.box((4.6, -0.4), (7.4, 1.6), "U3", {"+": (4.6, 1.0), "−": (4.6, 0.2)})
    s.wire((4.6, 0.2), (3.9, 0.2), (3.9, -0.5))
    s.text((3.9, -0.95), "2.5 V", 10)
    s.wire((7.4, 0.6), (9.0, 0.6))
    s.dot((8.2, 0.6))
    s.part(elm.Resistor(), (8.2, 0.6), (8.2, 2.6), "10k", "bottom")
    s.port((8.2, 2.6), "5 V", "top")
    s.port((9.0, 0.6), "D8 or D2,\nlow = blocked")
    s.text((4.6, 4.0), "one beam, twice", 12)
    # loops
    y = -3.4
    s.text((4.6, y + 1.0), "interlock loop and lid, pull-ups inside the Uno", 12)
    s.ground((0, y))
    s.part(elm.Switch(action="open"), (0, y), (3.4, y), "catch bin", "top")
    s.part(elm.Button(nc=True), (3.4, y), (6.8, y), "emergency stop", "top")
    s.wire((6.8, y), (9.0, y))
    s.port((9.0, y), "A3, low = closed")
    y -= 1.7
    s.ground((0, y))
    s.part(elm.Switch(action="open"), (0, y), (6.8, y), "lid", "top")
    s.wire((6.8, y), (9.0, y))
    s.port((9.0, y), "A4, low = closed")
    # sound
    y -= 2.9
    s.text((4.6, y + 1.6), "the toy's sound", 12)
    s.port((-0.6, y), "speaker", "left")
    s.part(elm.Capacitor(), (-0.6, y), (1.2, y), "1 µF")
    s.dot((1.2, y))
    s.part(elm.Resistor(), (1.2, y), (1.2, y - 1.8), "100k", "bottom")
    s.ground((1.2, y - 1.8))
    s.part(elm.Diode(), (1.2, y), (2.9, y), "")
    s.dot((2.9, y))
    s.part(elm.Capacitor(), (2.9, y), (2.9, y - 1.8), "100 nF", "bottom")
    s.ground((2.9, y - 1.8))
    s.wire((2.9, y), (4.7, y))
    s.dot((4.7, y))
    s.part(elm.Resistor(), (4.7, y), (4.7, y - 1.8), "100k", "bottom")
    s.ground((4.7, y - 1.8))
    s.wire((4.7, y), (6.4, y))
    s.box((6.4, y - 1.2), (8.8, y + 0.6), "U4", {"+": (6.4, y), "−": (6.4, y - 0.8)})
    s.wire((6.4, y - 0.8), (6.0, y - 0.8), (6.0, y - 1.5))
    s.text((6.3, y - 2.0), "threshold", 10)
    s.wire((8.8, y - 0.3), (10.4, y - 0.3))
    s.dot((9.6, y - 0.3))
    s.part(elm.Resistor(), (9.6, y - 0.3), (9.6, y + 1.6), "10k", "bottom")
    s.port((9.6, y + 1.6), "5 V", "top")
    s.port((10.4, y - 0.3), "D13,\nhigh = sounding")


DRAWINGS: dict[str, Callable[[Sheet], None]] = {
    "button": button,
    "direct": direct,
    "blaster": blaster,
    "coil": coil,
    "inputs": inputs,
}


def draw_all(folder: Path) -> None:
    """Write `NAME-light.svg` and `NAME-dark.svg` of every drawing into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        for face, ink in INK.items():
            sheet = Sheet(ink)
            draw(sheet)
            sheet.drawing.save(str(folder / f"{name}-{face}.svg"))


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]))
