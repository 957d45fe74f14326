# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path

import pytest

from rig.twin.avr import CYCLE_HZ, Avr

MS = CYCLE_HZ // 1000
BEAM_A, SOUND = 8, 13
UNITS_PER_CYCLE = 625  # of 100 ps

Wave = list[tuple[int, str]]


@pytest.fixture
def waves(echo_elf: Path, tmp_path: Path) -> dict[str, Wave]:
    """(cycle, level) by name, of a board that sees a card and answers 'Z'."""
    path = tmp_path / "wave.vcd"
    with Avr(echo_elf, vcd=path) as avr:
        avr.edges([(0, BEAM_A, 1), (0, SOUND, 0), (3 * MS + 7, BEAM_A, 0), (4 * MS + 1, BEAM_A, 1)])
        avr.run(MS)
        avr.write(b"Z")
        while avr.cycle < 20 * MS:
            avr.run(20 * MS)
    return read(path.read_text())


def read(text: str) -> dict[str, Wave]:
    header, _, body = text.partition("$enddefinitions $end\n")
    assert "$timescale 100 ps $end" in header
    names: dict[str, list[str]] = {}
    for code, name in re.findall(r"\$var wire 1 (\S) (\S+) \$end", header):
        names.setdefault(code, []).append(name)
    waves: dict[str, Wave] = {name: [] for group in names.values() for name in group}
    time = -1
    for line in body.splitlines():
        if line.startswith("#"):
            assert int(line[1:]) > time or int(line[1:]) == time
            time = int(line[1:])
            assert time % UNITS_PER_CYCLE == 0
        else:
            for name in names[line[1]]:
                waves[name].append((time // UNITS_PER_CYCLE, line[0]))
    return waves


def bytes_on(wave: Wave, byte_cycles: int = 1360) -> bytes:
    """Decodes 8N1."""
    times, levels = [cycle for cycle, _ in wave], [level for _, level in wave]
    data, at = b"", -1
    for cycle, level in wave:
        if level == "0" and cycle >= at:
            middle = [cycle + byte_cycles * (2 * bit + 1) // 20 for bit in range(10)]
            bits = [levels[bisect_right(times, when) - 1] == "1" for when in middle]
            assert not bits[0]
            assert bits[9]
            data += bytes([sum(bit << i for i, bit in enumerate(bits[1:9]))])
            at = cycle + byte_cycles * 19 // 20
    return data


def test_every_pin_is_there_by_both_names(waves: dict[str, Wave]) -> None:
    pins = [f"D{n}" for n in range(14)] + [f"A{n}" for n in range(6)]
    assert set(pins) < set(waves)
    for pin, signal in {"D8": "beam_a", "D2": "beam_b", "D3": "roller", "A2": "launch", "A5": "power", "D13": "sound"}.items():
        assert waves[pin] == waves[signal]


def test_a_card_is_two_edges_at_their_very_cycles(waves: dict[str, Wave]) -> None:
    assert waves["D8"] == [(0, "1"), (3 * MS + 7, "0"), (4 * MS + 1, "1")]


def test_both_lines_can_be_decoded(waves: dict[str, Wave]) -> None:
    assert bytes_on(waves["rx"]) == b"Z"
    assert bytes_on(waves["tx"]) == b"Z\0A\0a\0"


def test_an_output_that_nobody_drives_is_low(waves: dict[str, Wave]) -> None:
    assert waves["D5"] == [(0, "0")]
