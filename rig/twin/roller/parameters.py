# SPDX-License-Identifier: Apache-2.0
"""Every figure of the simulated roller launcher, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rig import brains
from rig.twin.parameters import Parameters, row

_CLAIM = "docs/facts.md#published-claims, a list of fires of unknown worth"
_NONE = "no figure found"
_MABUCHI = "docs/facts.md#motor, Mabuchi FA-130RA-14150; the toy's own motor is unknown"
_FEEDER = "docs/facts.md#misfeeds, a home-made UNO feeder failed on 2.2 % of cards; the split is a guess"


@dataclass(frozen=True, slots=True)
class RollerParameters(Parameters):
    """The simulated roller launcher, field by field. Raises `BadRigError` when a value is out of its row's limits."""

    # the toy's decision
    brain: str = row(
        "hazard", "", tuple(brains.MODELS), "UNV", "docs/facts.md#published-claims", "how the toy decides that a press fires"
    )
    p_fire: float = row(brains.P_FIRE, "1", (0, 1), "UNV", _CLAIM, "brain iid: probability that a press fires")
    hazard: tuple[float, ...] = row(
        brains.HAZARD, "1", (0, 1), "UNV", _CLAIM, "brain hazard: the same by presses since the last fire", "numbers"
    )
    sequence: tuple[int, ...] = row(
        brains.SEQUENCE, "press", (1, 100000), "UNV", _CLAIM, "brain sequence: presses that fire, from the restart", "positions"
    )
    sequence_length: int = row(
        brains.SEQUENCE_LENGTH,
        "press",
        (1, 100000),
        "UNV",
        _CLAIM,
        "brain sequence: presses after which it begins again",
        "whole",
    )
    run_ms: tuple[tuple[int, float], ...] = row(
        brains.RUNS,
        "ms:weight",
        (20, 5000),
        "UNV",
        "docs/facts.md#published-claims, counts up to 10 or 12",
        "run times of the roller and their weights",
        "runs",
    )

    # the toy's board
    debounce_ms: float = row(20, "ms", (1, 60), "UNV", _NONE, "button held this long counts as a press")
    sound_delay_ms: float = row(45, "ms", (5, 140), "UNV", _NONE, "from button-down to the sound")
    sound_ms: float = row(
        300,
        "ms",
        (50, 1500),
        "UNV",
        "docs/facts.md#the-launcher, L3 has the sound, not its length",
        "length of the sound of a press",
    )
    motor_delay_ms: float = row(150, "ms", (20, 350), "UNV", _NONE, "from button-down to the motor")
    lockout_ms: float = row(100, "ms", (0, 2000), "UNV", _NONE, "deaf for this long after motor and sound")
    boot_ms: float = row(200, "ms", (0, 450), "UNV", _NONE, "deaf for this long after power-on")
    beep_ms: float = row(
        200,
        "ms",
        (0, 1500),
        "UNV",
        "docs/facts.md#the-launcher, L2 has the beep, not its length",
        "length of the beep at lid close",
    )
    idle_mA: float = row(15, "mA", (0, 50), "UNV", _NONE, "drawn by the toy's board")
    sound_mA: float = row(60, "mA", (0, 70), "UNV", _NONE, "drawn by the sound on top of that")
    jam_hold_ms: float = row(700, "ms", (500, 3000), "UNV", _NONE, "the toy keeps a wedged motor on for at least this long")

    # the pack: 3 x C
    cell_V: float = row(
        1.58,
        "V",
        (1.2, 1.65),
        "PUB",
        "docs/facts.md#battery, fresh alkaline cell, typical",
        "open-circuit voltage of a fresh cell",
    )
    pack_ohm: float = row(
        0.45,
        "ohm",
        (0.1, 1),
        "DER",
        "docs/facts.md#battery, 3 x 0.15 ohm at 1 kHz; under load it is more",
        "resistance of the fresh pack",
    )
    pack_aging: float = row(
        1, "1", (0, 4), "UNV", "docs/facts.md#battery, rises with age", "rise of that resistance until empty, as a fraction of it"
    )
    pack_mAh: float = row(
        8000, "mAh", (100, 20000), "PUB", "docs/facts.md#battery, alkaline C cell, up to", "charge of a fresh pack"
    )
    used_mAh: float = row(0, "mAh", (0, 20000), "SUG", "a fresh pack", "charge already drawn at the start")

    # the motor and the roller
    motor_ohm: float = row(3.33, "ohm", (1.4, 5), "DER", _MABUCHI, "resistance of the winding")
    torque_mNm_A: float = row(2.34, "mN.m/A", (1.5, 4), "DER", _MABUCHI, "torque per ampere")
    emf_mV_s: float = row(3.03, "mV.s", (2, 5), "DER", _MABUCHI, "back-EMF per rad/s")
    motor_idle_mA: float = row(110, "mA", (50, 200), "PUB", _MABUCHI, "no-load current")
    inertia_gcm2: float = row(
        1.1,
        "g.cm2",
        (0.3, 1.3),
        "UNV",
        "from the rotor's size and mass; none published fits",
        "rotor and roller, at the motor's shaft",
    )
    roller_load_mNm: float = row(0.3, "mN.m", (0.2, 0.6), "UNV", _NONE, "friction of gears and roller, at the motor's shaft")
    card_load_mNm: float = row(0.2, "mN.m", (0, 0.4), "UNV", _NONE, "drag of a card under the roller, at the motor's shaft")
    wedge_mA: float = row(600, "mA", (500, 700), "UNV", _NONE, "motor current while the roller still slips on a wedged card")
    gear: float = row(
        10, "1", (6, 14), "UNV", "chosen for 60 to 100 ms a card with a fresh pack", "turns of the motor per turn of the roller"
    )
    roller_mm: float = row(10, "mm", (7, 14), "UNV", _NONE, "radius of the roller")
    start_mm_s: float = row(520, "mm/s", (520, 900), "UNV", _NONE, "a drive too weak for this speed does not turn the roller")

    # the cards and their way out
    card_mm: float = row(
        88, "mm", (85, 89), "PUB", "docs/facts.md#cards, 56 x 88 mm", "length of a card in the direction of travel"
    )
    grip_mm: float = row(
        30,
        "mm",
        (18, 60),
        "UNV",
        "docs/facts.md#mechanism, the patent has an eccentric wheel, not its size",
        "travel over which the roller holds a card",
    )
    gap_min_mm: float = row(
        14,
        "mm",
        (6, 60),
        "UNV",
        "no figure found; a gap of less than 10 ms can fall between two looks at the beam, 10 ms apart",
        "least gap between one card and the next",
    )
    gap_max_mm: float = row(26, "mm", (6, 80), "UNV", _NONE, "largest gap between one card and the next")
    slip: float = row(0.010, "1/card", (0, 1), "SUG", _FEEDER, "probability that the roller slips on a card, roller clean")
    slip_growth: float = row(
        2e-6,
        "1/card2",
        (0, 0.01),
        "UNV",
        "docs/facts.md#the-launcher, L6 has the effect, not its size",
        "rise of that with every card since cleaning",
    )
    slip_mm: float = row(150, "mm", (1, 2000), "UNV", _NONE, "mean roller travel until a slipping card is gripped; exponential")
    double_feed: float = row(0.008, "1/card", (0, 1), "SUG", _FEEDER, "probability that a card drags the next one along")
    shingle_mm: float = row(6, "mm", (0, 10), "UNV", _NONE, "largest offset of the two cards of a double feed")
    overlap: float = row(0.4, "1", (0, 1), "UNV", _NONE, "share of double feeds that overlap exactly")
    stick: float = row(
        0.05,
        "1/card",
        (0, 1),
        "UNV",
        "docs/facts.md#the-launcher, L5 has the effect, not its rate",
        "probability that a card leaving the coasting roller stays in the mouth",
    )
    jam: float = row(0.004, "1/card", (0, 1), "SUG", _FEEDER, "probability that a card wedges in the mouth")
    wedge_ms: float = row(120, "ms", (100, 400), "UNV", _NONE, "the roller slips on a wedged card for this long, then stalls")
    throw_mm_s: float = row(
        400, "mm/s", (400, 600), "UNV", _NONE, "a card that the coasting roller lets go slower stays in the mouth"
    )

    # the beams
    beam_a_mm: float = row(
        20, "mm", (10, 20), "SUG", "in the mouth, where the roller still holds the card", "from the roller to beam A"
    )
    beam_b_mm: float = row(30, "mm", (10, 30), "SUG", "far enough for speed, nearer than a card is long", "from beam A to beam B")
    beam_us: float = row(
        15, "us", (0, 100), "PUB", "docs/facts.md#beams, ITR-9608 slotted coupler", "delay of either edge in the receiver"
    )
    beam: str = row("ok", "", ("ok", "blind"), "SUG", "a fault to test with", "blind: the receivers never see a card")

    def relations(self) -> Sequence[tuple[bool, str]]:
        """What must hold between parameters, and what to say where it does not."""
        return (
            (self.grip_mm >= self.beam_a_mm + 5, "grip_mm must be at least 5 mm more than beam_a_mm"),
            (self.gap_min_mm <= self.gap_max_mm, "gap_min_mm is larger than gap_max_mm"),
            (self.debounce_ms < self.sound_delay_ms, "sound_delay_ms must be longer than debounce_ms"),
            (self.debounce_ms < self.motor_delay_ms, "motor_delay_ms must be longer than debounce_ms"),
            (sum(weight for _, weight in self.run_ms) > 0, "run_ms: the weights are all zero"),
            (all(weight >= 0 for _, weight in self.run_ms), "run_ms: a weight is negative"),
        )

    def new_brain(self) -> brains.Brain:
        """The toy's brain, at its restart."""
        models: Mapping[str, Callable[[], brains.Model]] = {
            "iid": lambda: brains.iid(self.p_fire),
            "hazard": lambda: brains.hazard(self.hazard),
            "sequence": lambda: brains.sequence(self.sequence, self.sequence_length),
        }
        return brains.Brain(models[self.brain](), self.run_ms)
