# SPDX-License-Identifier: Apache-2.0
"""From a twin's URL to a twin: firmware, AVR process, plant and operator, coupled.

A seed reproduces a run to the bit, board UUID and nonces included. Without one a fresh seed is drawn and told in the URL:
two runs that nobody seeded must never be the same data twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.errors import BadRigError
from rig.firmware import flash_image, packaged
from rig.links.twin import TwinLink
from rig.rig import Rig
from rig.twin.avr import Avr
from rig.twin.bench import TwinBench, TwinOperator
from rig.twin.bootloader import NONE, load
from rig.twin.clockset import ClockSetter
from rig.twin.join import truth_of
from rig.twin.parameters import Parameters
from rig.twin.twins import Twin, TwinPlant
from rig.twin.url import parse_url
from rig.wire.frame import crc16

SEED_BITS = 31
# Keeps the nonces apart from the plant's draws.
NONCE_STREAM = 0x6E6F6E63


@dataclass(slots=True)
class TwinParts:
    """A twin, taken apart: what a rig or a pseudo-terminal is made of."""

    url: str
    seed: int
    image: bytes
    twin: Twin
    parameters: Parameters
    plant: TwinPlant
    bench: TwinBench
    operator: TwinOperator
    bootloader: str


def with_seed(url: str, seed: int) -> str:
    """`url` with its seed set, other parameters as they were."""
    base, _, query = url.partition("?")
    rest = [part for part in query.split("&") if part and not part.startswith("seed=")]
    return base + "?" + "&".join([f"seed={seed}", *rest])


def make_twin(url: str, *, seed: int | None = None, vcd: Path | None = None, bootloader: str = NONE) -> TwinParts:
    """Build and start the twin that `url` names; `bootloader` is the one that it has when the URL does not say.

    Raises `BadRigError` for a bad URL or unequal seeds, `TwinUnavailableError` when the simulator is missing.
    """
    said = parse_url(url)
    if seed is not None and said.seed is not None and seed != said.seed:
        raise BadRigError(f"--seed {seed} and seed={said.seed} in {url!r} differ; give one of them")
    chosen = next((each for each in (seed, said.seed) if each is not None), secrets.randbits(SEED_BITS))
    elf = said.elf or packaged("elf")
    image = flash_image(elf)
    plant = said.twin.plant(said.parameters, chosen)
    boot = said.bootloader or bootloader
    code = load(boot)
    avr = Avr(elf, eeprom=_eeprom(plant.board_uuid, said.twin.stored(said.parameters)), vcd=vcd)
    if code is not None:
        avr.boot_from(*code)
    bench = TwinBench(plant, avr, None if said.tick0 is None else ClockSetter(avr, said.tick0))
    operator = TwinOperator(bench, lid=said.twin.lid)
    return TwinParts(with_seed(url, chosen), chosen, image, said.twin, said.parameters, plant, bench, operator, boot)


def _eeprom(uuid: bytes, stored: Sequence[int]) -> bytes:
    """EEPROM of a board that has its UUID and its stored settings, as the firmware lays it out (`src/core/settings.cpp`)."""
    settings = bytes(byte for value in stored for byte in (value, ~value & 0xFF))
    return uuid + crc16(uuid).to_bytes(2, "little") + settings


def open_twin(url: str, *, seed: int | None, vcd: Path | None) -> Rig:
    """The twin that `url` names, as a rig."""
    parts = make_twin(url, seed=seed, vcd=vcd)
    nonces = np.random.default_rng((parts.seed, NONCE_STREAM))
    return Rig(
        url=parts.url,
        seed=parts.seed,
        link=TwinLink(parts.bench),
        operator=parts.operator,
        nonce=lambda: int(nonces.integers(1 << 16)),
        new_uuid=lambda: parts.plant.board_uuid,
        brain=parts.parameters.brain,
        preload=parts.bench.load,
        truth=lambda trials, stretches: truth_of(parts.parameters, parts.twin.nothing, trials, parts.plant.truth(), stretches),
        image=parts.image,
    )
