# SPDX-License-Identifier: Apache-2.0
"""Which bytes are hit, and the URL that says how many."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from rig.errors import BadRigError
from rig.links.faults import KINDS, NAMES, TABLE, Direction, Faults, Kind, Strikes, another, parse_faulty_url
from rig.twin.url import NAMES as OF_A_TWIN

MANY = 250_000

Hits = dict[int, dict[Kind, float]]


def hits(strikes: Strikes, chunks: list[int]) -> Hits:
    """What strikes each byte, by its number, when they come in `chunks`."""
    found: Hits = {}
    place = 0
    for chunk in chunks:
        end = place + chunk
        while place < end:
            before, what = strikes.advance(end - place)
            place += before
            if what:
                found[place] = what
                place += 1
    return found


def of(faults: Faults, seed: int = 1, direction: Direction = "to_mcu", count: int = MANY) -> Hits:
    return hits(Strikes(faults, seed, direction), [count])


def by_kind(found: Hits, kind: Kind) -> dict[int, float]:
    return {place: what[kind] for place, what in found.items() if kind in what}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("probability", [0.2, 0.01, 0.0005])
def test_every_kind_strikes_as_often_as_asked(kind: Kind, probability: float) -> None:
    found = of(replace(Faults(), **{kind: probability}))
    spread = math.sqrt(MANY * probability * (1 - probability))
    assert abs(len(found) - MANY * probability) < 4 * spread
    assert all(list(what) == [kind] for what in found.values())


def test_one_hit_does_not_tell_the_next() -> None:
    places = sorted(of(Faults(corrupt=0.1)))
    gaps = Counter(after - before for before, after in pairwise(places))
    for gap in range(1, 30):  # geometric, as bytes that are judged one by one would have it
        expected = len(places) * 0.1 * 0.9 ** (gap - 1)
        assert abs(gaps[gap] - expected) < 5 * math.sqrt(expected)


def test_how_bytes_are_cut_does_not_change_which_are_hit() -> None:
    faults = Faults(corrupt=0.01, drop=0.02, duplicate=0.3, delay=0.001, cut=0.0002, reset=0.0001, unplug=0.0001)
    cutter = random.Random(5)
    chunks = [cutter.choice((0, 1, 2, 7, 60, 1000)) for _ in range(1000)]
    whole = of(faults, count=sum(chunks))
    assert hits(Strikes(faults, 1, "to_mcu"), chunks) == whole
    assert hits(Strikes(faults, 1, "to_mcu"), [1] * sum(chunks)) == whole
    assert {kind for what in whole.values() for kind in what} == set(KINDS)


def test_other_faults_do_not_change_which_bytes_a_fault_hits() -> None:
    alone = of(Faults(corrupt=0.01), count=100_000)
    among = of(Faults(corrupt=0.01, drop=0.05, delay=0.1), count=100_000)
    assert by_kind(among, "corrupt") == by_kind(alone, "corrupt")


def test_seeds_and_directions_hit_different_bytes() -> None:
    faults = Faults(corrupt=0.01)
    found = [of(faults, 1), of(faults, 2), of(faults, 1, "to_host")]
    assert found[0] == of(faults, 1)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        together = len(found[one].keys() & found[other].keys())
        assert together < 2 * MANY * 0.01**2  # by chance alone: half of that


def test_kinds_hit_independently_of_each_other() -> None:
    found = of(Faults(corrupt=0.05, drop=0.05))
    both = sum(len(what) == 2 for what in found.values())
    assert abs(both - MANY * 0.05**2) < 5 * math.sqrt(MANY * 0.05**2)


def test_always_is_every_byte_and_never_is_none() -> None:
    assert len(of(Faults(drop=1), count=1000)) == 1000
    assert of(Faults()) == {}
    assert of(Faults(drop=5e-324)) == {}


def test_faults_of_one_direction_leave_the_other_alone() -> None:
    faults = Faults(drop=0.1, direction="to_host")
    assert of(faults, 1, "to_mcu") == {}
    assert of(faults, 1, "to_host") == of(Faults(drop=0.1), 1, "to_host")


def test_a_changed_byte_is_any_of_the_others() -> None:
    draws = random.Random(1)
    for byte in (0, 0x55, 255):
        seen = Counter(another(byte, draws.random()) for _ in range(25_500))
        assert set(seen) == set(range(256)) - {byte}
        assert max(seen.values()) < 160  # 100 each; six standard deviations above
        assert another(byte, 0.0) != byte != another(byte, 1 - 2**-53)


# ---------------------------------------------------------------------- the table and the URL


def test_every_fault_has_a_unit_limits_and_a_meaning() -> None:
    assert [row.name for row in TABLE] == [field.name for field in fields(Faults)]
    for row in TABLE:
        assert row.doc[0].islower()
        assert row.unit or row.choices
    assert {row.name for row in TABLE} >= set(KINDS)


def test_without_a_word_nothing_goes_wrong() -> None:
    assert all(Faults().probability(kind, "to_host") == 0 for kind in KINDS)


def test_a_url_is_taken_apart_and_put_together_again() -> None:
    said = parse_faulty_url("faulty+twin:roller?seed=7&corrupt=0.01&jam=0.5&delay_ms=5&fault_seed=9&direction=to_mcu")
    assert said.inner == "twin:roller?seed=7&jam=0.5"
    assert said.faults == Faults(corrupt=0.01, delay_ms=5, direction="to_mcu")
    assert said.seed == 9
    whole = said.around(said.inner, 9)
    assert whole == "faulty+twin:roller?seed=7&jam=0.5&corrupt=0.01&delay_ms=5&direction=to_mcu&fault_seed=9"
    assert parse_faulty_url(whole) == said


@pytest.mark.parametrize("inner", ["/dev/ttyACM0", "COM3", "socket://host:7", "board:", "twin:roller", "/dev/ttyACM0?baud=9600"])
def test_what_is_no_fault_is_left_to_the_wrapped_rig(inner: str) -> None:
    mark = "&" if "?" in inner else "?"
    assert parse_faulty_url(f"faulty+{inner}").inner == inner
    said = parse_faulty_url(f"faulty+{inner}{mark}drop=0.5")
    assert (said.inner, said.faults, said.seed) == (inner, Faults(drop=0.5), None)
    assert parse_faulty_url(said.around(inner, 3)).inner == inner


def test_no_parameter_of_the_twin_is_taken_for_a_fault() -> None:
    for name in (*sorted(OF_A_TWIN), "baud"):
        assert name not in NAMES
        assert parse_faulty_url(f"faulty+twin:roller?{name}=1").inner == f"twin:roller?{name}=1"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("corrupt=2", "corrupt: 2 is not within 0 to 1$"),
        ("drop=-0.1", "drop: -0.1 is not within 0 to 1$"),
        ("duplicate=nan", "duplicate: 'nan' is not a number"),
        ("delay=inf", "delay: 'inf' is not a number"),
        ("cut=often", "cut: 'often' is not a number"),
        ("delay_ms=-1", "delay_ms: -1 is not within 0 to 10000 ms"),
        ("unplug_ms=1e9", "unplug_ms: 1e\\+09 is not within 0 to 600000 ms"),
        ("direction=to_mcuu", "direction: 'to_mcuu' is none of both, to_mcu, to_host; did you mean to_mcu"),
        ("fault_seed=-1", "fault_seed: '-1' is no whole number from 0"),
        ("corupt=0.1", "'corupt'; did you mean corrupt"),
        ("faultseed=1", "'faultseed'; did you mean fault_seed"),
        ("drop", "drop has no value in"),
        ("drop=", "drop has no value in"),
        ("drop=0.1&drop=0.2", "drop is given twice"),
    ],
)
def test_a_bad_fault_gives_one_line_that_says_what_is_wrong(query: str, says: str) -> None:
    with pytest.raises(BadRigError, match=says) as raised:
        parse_faulty_url(f"faulty+/dev/ttyACM0?{query}")
    assert "\n" not in str(raised.value)


def test_a_link_is_made_faulty_once() -> None:
    with pytest.raises(BadRigError, match="one faulty\\+ is enough"):
        parse_faulty_url("faulty+faulty+twin:roller")
