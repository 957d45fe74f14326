# SPDX-License-Identifier: Apache-2.0
"""Every figure of the simulated blaster, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rig import blast_brains
from rig.twin.parameters import Parameters, row

_RULE = "docs/facts.md#the-blaster, B5 says that nobody knows which slot triggers, and no more"
_NONE = "no figure found"
_LATCH = "docs/facts.md#the-blaster, B3 has weak cells and a failing lock, no figure"
_FEEDER = "docs/facts.md#misfeeds, a home-made feeder failed on 2.2 % of cards; another machine, and the split is a guess"


@dataclass(frozen=True, slots=True)
class BlastParameters(Parameters):
    """The simulated blaster, field by field. Raises `BadRigError` when a value is out of its row's limits."""

    # the toy's decision
    brain: str = row("hidden_slot", "", blast_brains.NAMES, "UNV", _RULE, "how the toy decides that a card triggers it")
    slots: int = row(
        4,
        "slots",
        (1, 6),
        "UNV",
        "docs/facts.md#the-blaster, two weak sites; B5 does not say",
        "slots of the toy, each with a loader and a solenoid of the rig's",
        "whole",
    )
    p_blast: float = row(
        blast_brains.P_BLAST, "1", (0, 1), "UNV", _RULE, "brain constant: probability that a card triggers the toy"
    )
    creeping: tuple[float, ...] = row(
        blast_brains.CREEPING, "1", (0, 1), "UNV", _RULE, "brain creeping: the same by cards in the round", "numbers"
    )

    # the rig's solenoids and the toy's board
    pull_in_ms: float = row(15, "ms", (5, 30), "UNV", _NONE, "a solenoid on for this long has pushed the card in")
    debounce_ms: float = row(20, "ms", (1, 40), "UNV", _NONE, "a card in its slot, or the button held, this long counts")
    sound_delay_ms: float = row(25, "ms", (5, 70), "UNV", _NONE, "from what counts to the sound")
    sound_ms: float = row(300, "ms", (50, 1500), "UNV", _NONE, "length of the sound")
    boot_ms: float = row(200, "ms", (0, 450), "UNV", _NONE, "deaf for this long after power-on")
    sleep_s: float = row(
        180, "s", (5, 3600), "PUB", "docs/facts.md#the-blaster, B12", "asleep after this long without card, button or power-on"
    )
    idle_mA: float = row(15, "mA", (0, 50), "UNV", _NONE, "drawn by the toy's board, awake")
    asleep_mA: float = row(0.1, "mA", (0, 5), "UNV", _NONE, "drawn by it, asleep")
    sound_mA: float = row(60, "mA", (0, 70), "UNV", _NONE, "drawn by the sound on top of that")

    # the latch
    release_delay_ms: float = row(
        150, "ms", (20, 2000), "UNV", _NONE, "from what counts to the latch; beyond 280 it comes after the trial's end"
    )
    release_ms: float = row(80, "ms", (40, 200), "UNV", _NONE, "the latch is driven for this long")
    release_mA: float = row(600, "mA", (400, 700), "UNV", _NONE, "drawn by the latch on top of the board and the sound")
    let_go_ms: float = row(20, "ms", (5, 35), "UNV", _NONE, "a latch driven for this long lets go")
    latch_fault: float = row(0.01, "1", (0, 1), "UNV", _LATCH, "probability that a driven latch does not let go, pack full")
    latch_V: float = row(3.6, "V", (0, 5), "UNV", _LATCH, "loaded pack voltage below which that probability rises")
    latch_fault_growth: float = row(0.5, "1/V", (0, 10), "UNV", _LATCH, "rise of that probability with every volt below")

    # the pack: 3 x AA
    cell_V: float = row(1.6, "V", (1.2, 1.65), "PUB", "docs/facts.md#battery, AA cell", "open-circuit voltage of a fresh cell")
    pack_ohm: float = row(
        0.6,
        "ohm",
        (0.3, 1.5),
        "DER",
        "docs/facts.md#battery, pack of three, 0.45 to 0.9 ohm",
        "resistance of the fresh pack",
    )
    pack_aging: float = row(
        1, "1", (0, 4), "UNV", "docs/facts.md#battery, rises with age", "rise of that resistance until empty, as a fraction of it"
    )
    pack_mAh: float = row(2700, "mAh", (100, 4000), "PUB", "docs/facts.md#battery, AA cell at 0.1 A", "charge of a fresh pack")
    used_mAh: float = row(0, "mAh", (0, 4000), "SUG", "a fresh pack", "charge already drawn at the start")

    # the cards and their way out
    card_mm: float = row(
        88, "mm", (85, 89), "PUB", "docs/facts.md#cards, 56 x 88 mm", "length of a card in the direction of flight"
    )
    stagger_ms: float = row(
        60,
        "ms",
        (5, 150),
        "UNV",
        "no figure found; cards that overlap are a double feed",
        "least time from one card's start to the next one's",
    )
    jitter_ms: float = row(4, "ms", (0, 20), "UNV", _NONE, "most that is added to it, all less equally likely")
    throw_mm_s: float = row(3000, "mm/s", (2400, 8000), "UNV", _NONE, "speed of a card in flight")
    partial: float = row(0.01, "1/card", (0, 1), "UNV", _FEEDER, "probability that a card stays in its slot as the latch lets go")
    double_feed: float = row(0.008, "1/card", (0, 1), "UNV", _FEEDER, "probability that the next card leaves on top of this one")
    shingle_mm: float = row(6, "mm", (0, 10), "UNV", _NONE, "largest offset of two such cards")
    overlap: float = row(0.4, "1", (0, 1), "UNV", _NONE, "share of them that overlap exactly")
    jam: float = row(
        0.004, "1/card", (0, 1), "UNV", _FEEDER, "probability that a card wedges in the mouth; those behind stay in their slots"
    )

    # the beams
    beam_a_mm: float = row(20, "mm", (10, 60), "SUG", "at the mouth", "from the slots to beam A")
    beam_b_mm: float = row(30, "mm", (10, 30), "SUG", "far enough for speed, nearer than a card is long", "from beam A to beam B")
    beam_us: float = row(
        15, "us", (0, 100), "PUB", "docs/facts.md#beams, ITR-9608 slotted coupler", "delay of either edge in the receiver"
    )
    beam: str = row("ok", "", ("ok", "blind"), "SUG", "a fault to test with", "blind: the receivers never see a card")

    def relations(self) -> Sequence[tuple[bool, str]]:
        """What must hold between parameters, and what to say where it does not."""
        return ((len(self.creeping) > 0, "creeping has no hazard"),)

    def rule(self) -> blast_brains.Rule:
        """How the toy decides."""
        rules: Mapping[str, Callable[[], blast_brains.Rule]] = {
            "hidden_slot": lambda: blast_brains.hidden_slot(self.slots),
            "constant": lambda: blast_brains.constant(self.p_blast),
            "creeping": lambda: blast_brains.creeping(self.creeping),
        }
        return rules[self.brain]()
