# SPDX-License-Identifier: Apache-2.0
"""What each kind of bench has wired, and what its board must refuse: one table row per launcher, for self-test and set-up.

The roller's bench has the pins of slots and reset open, so there they can be exercised with the rest. At the blaster they
hang on something, and what the bench lacks is left alone and said to be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rig.errors import RefusedRequestError
from rig.wire.messages import PULSE_MAX_MS, Channel, Launcher, Output, Pulse, Result, Wiring

PULSE_MS = 40
FULL = 255
ROLLER_DUTY = 20  # the least that the guard allows, of 255

SLOTS = tuple(output for output in Output if output.name.startswith("slot"))
"""The solenoids' outputs, slot 1 first."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What must be refused: `command`, asked for as `what`, with the answer `answer`.

    first: a pulse before it; the command comes `wait_s` later, and must come within `within_ms`. None: it may come at any time.
    """

    name: str
    command: Pulse
    what: str
    answer: Result
    first: Pulse | None = None
    wait_s: float = 0.0
    within_ms: int = 0


@dataclass(frozen=True, slots=True)
class Wired:
    """What a kind of bench has.

    name: what sentences call it. wirings: that make sense, the usual one first. outputs: by number of slots. rest: its
    inputs, with their level at rest. rules: what its board must refuse. left_out: by number of slots, why rows are missing
    that a person may look for. slotted: whether the number of slots means anything.
    """

    name: str
    wirings: tuple[Wiring, ...]
    outputs: Callable[[int], tuple[Output, ...]]
    rest: Mapping[Channel, int]
    rules: tuple[Rule, ...]
    left_out: Callable[[int], dict[str, str]]
    slotted: bool

    def wiring(self, asked: Wiring | None, stored: Wiring) -> Wiring:
        """The wiring to work in: the one `asked` for, or else the `stored` one where it makes sense.

        Raises `RefusedRequestError` when what was asked for makes none.
        """
        if asked is None:
            return stored if stored in self.wirings else self.wirings[0]
        if asked not in self.wirings:
            known = " or ".join(wiring.name for wiring in self.wirings)
            raise RefusedRequestError(f"wiring {asked.name}: {self.name} has only wiring {known}; leave it away")
        return asked


def _coil_rules(coil: Output, other: Output) -> tuple[Rule, ...]:
    """That coils keep: one at a time, and each has its rest."""
    on = Pulse(coil, PULSE_MAX_MS, FULL)
    return (
        Rule(
            "rule.one_at_a_time",
            Pulse(other, PULSE_MS, FULL),
            "a second coil while one is on",
            Result.busy,
            first=on,
            within_ms=PULSE_MAX_MS,
        ),
        Rule(
            "rule.rest",
            on,
            "the same coil within 200 ms",
            Result.refused,
            first=on,
            wait_s=(PULSE_MAX_MS + 20) / 1000,
            within_ms=PULSE_MAX_MS + 200,
        ),
    )


def _pulse_rules(least: Pulse, what: str) -> tuple[Rule, ...]:
    """That any pulse keeps; `least` is of too little duty, as `what` says."""
    return (
        Rule("rule.duty", least, what, Result.refused),
        Rule("rule.time", Pulse(Output.slot1, PULSE_MAX_MS + 1, FULL), f"more than {PULSE_MAX_MS} ms", Result.bad_value),
        Rule("rule.power", Pulse(Output.power, PULSE_MS, FULL), "toy power for a moment", Result.bad_value),
    )


_TURN = Rule(
    "rule.reverse",
    Pulse(Output.reverse, PULSE_MS, FULL),
    "reverse within 100 ms of the roller",
    Result.refused,
    first=Pulse(Output.roller, PULSE_MS, ROLLER_DUTY),
    wait_s=(PULSE_MS + 20) / 1000,
    within_ms=PULSE_MS + 100,
)

_ROLLER_LEFT_OUT = {
    "drive.press": "the toy's button is pressed only with --press in wiring button, since cards may fly",
    "drive.roller": "the roller is driven under current only in wiring direct (--drive direct)",
    "sensor.sound": "the toy sounds only in wiring button (--drive button)",
}


def _blast_left_out(slots: int) -> dict[str, str]:
    beyond = {f"output.{each.name}": f"not wired: the bench has {slots} slots (launchrig bench)" for each in SLOTS[slots:]}
    alien = {f"output.{each.name}": "not wired: the blaster has none" for each in (Output.roller, Output.reverse, Output.launch)}
    return (
        beyond
        | alien
        | {
            "sensor.lid": "not wired: the blaster's lid covers stored cards and is no interlock",
            "sensor.sound": "the blaster sounds only when pressed: drive.reset listens",
            "drive.reset": "the toy's reset button is pressed only with --press, since cards may fly",
        }
    )


WIRED: dict[Launcher, Wired] = {
    Launcher.roller: Wired(
        name="a roller launcher",
        wirings=(Wiring.button, Wiring.direct),
        outputs=lambda slots: tuple(each for each in Output if each is not Output.power),
        rest={Channel.interlock: 1, Channel.lid: 1, Channel.beam_a: 0, Channel.beam_b: 0, Channel.sound: 0},
        rules=(
            _TURN,
            *_coil_rules(Output.slot1, Output.slot2),
            *_pulse_rules(Pulse(Output.roller, PULSE_MS, ROLLER_DUTY - 1), "the roller below its least duty"),
        ),
        left_out=lambda slots: _ROLLER_LEFT_OUT,
        slotted=False,
    ),
    Launcher.blast: Wired(
        name="a blaster",
        wirings=(Wiring.button,),
        outputs=lambda slots: (*SLOTS[:slots], Output.reset),
        rest={Channel.interlock: 1, Channel.beam_a: 0, Channel.beam_b: 0, Channel.sound: 0},
        rules=(
            *_coil_rules(Output.slot1, Output.reset),
            *_pulse_rules(Pulse(Output.slot1, PULSE_MS, FULL - 1), "a coil at less than its full duty"),
        ),
        left_out=_blast_left_out,
        slotted=True,
    ),
}
"""Everything in which the benches differ, for whoever exercises or sets up one."""
