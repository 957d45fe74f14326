# SPDX-License-Identifier: Apache-2.0
"""The table of the twin's parameters, and the URL that sets them."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest

from rig.errors import BadRigError
from rig.twin.parameters import TABLE, RollerParameters, parse_url
from tests.rig.twin.observer import MS, loaded, reload

# Another value for every row, with what else must be set for it to matter.
OTHER = {
    "brain": ("iid", ()),
    "p_fire": ("0.9", ("brain=iid",)),
    "hazard": ("0.9,1", ()),
    "sequence": ("1,2,3", ("brain=sequence",)),
    "sequence_length": ("3", ("brain=sequence",)),
    "run_ms": ("125:1,333:2", ()),
    "debounce_ms": ("40", ()),
    "beam": ("blind", ()),
    "cell_V": ("1.4", ()),
    "pack_aging": ("3", ("used_mAh=2000",)),
    "pack_mAh": ("2000", ()),
    "slip": ("0.5", ()),
    "slip_growth": ("0.01", ()),
    "slip_mm": ("600", ("slip=0.5",)),
    "double_feed": ("0.5", ()),
    "shingle_mm": ("9", ("double_feed=1",)),
    "overlap": ("1", ("double_feed=1",)),
    "stick": ("1", ()),
    "jam": ("0.2", ()),
    "wedge_ms": ("300", ("jam=0.2",)),
    "wedge_mA": ("520", ("jam=0.2",)),
    "jam_hold_ms": ("1500", ("jam=0.2",)),
    "card_mm": ("86", ()),
    "beam_a_mm": ("12", ()),
    "beam_b_mm": ("15", ()),
    "grip_mm": ("40", ()),
    "throw_mm_s": ("590", ("used_mAh=3000",)),
    "start_mm_s": ("900", ("used_mAh=7000",)),
    "gap_min_mm": ("20", ()),
    "inertia_gcm2": ("0.6", ()),
    "gear": ("8", ()),
    "boot_ms": ("400", ()),
    "lockout_ms": ("600", ()),
    "card_load_mNm": ("0.1", ()),
}


@cache
def history(*query: str) -> tuple[object, ...]:
    """All that a plant does in a session that touches everything."""
    observer, at = loaded(parse_url("twin:roller?" + "&".join(query)).parameters, 4, 60)
    for i in range(40):
        observer.press(at, hold_ms=30 if i % 7 == 3 else 120)
        observer.press(at + (250 + 20 * i) * MS)  # the first come too early
        at += 9000 * MS
        _, plan = observer.plant.clear_mouth(at - 1000 * MS)
        observer.take(at - 1000 * MS, plan)
        if i % 9 == 8:
            reload(observer, at, 60)
            observer.press(at + 300 * MS)
            at += 6000 * MS
            observer.take(at, observer.plant.output(at, "power", 0.0))
            observer.take(at + MS, observer.plant.output(at + MS, "power", 1.0))
            observer.press(at + 250 * MS)
            at += 9000 * MS
    return observer.plant.truth(), observer.plans


def test_every_parameter_has_unit_source_tag_and_meaning():
    assert [row.name for row in TABLE] == [field.name for field in fields(RollerParameters)]
    for row in TABLE:
        assert row.tag in ("PUB", "MEAS", "DER", "SUG", "UNV")
        assert row.source and row.doc and row.doc[0].islower()
        assert (row.minimum is None) == bool(row.choices)
        assert row.unit or row.choices


def test_what_nobody_has_verified_is_called_unverified():
    tags = {row.name: row.tag for row in TABLE}
    for name in (
        "brain",
        "p_fire",
        "hazard",
        "sequence",
        "run_ms",
        "gear",
        "stick",
        "sound_delay_ms",
        "debounce_ms",
        "gap_min_mm",
    ):
        assert tags[name] == "UNV"


def test_the_defaults_are_within_their_limits_and_can_be_written_as_json():
    parameters = RollerParameters()
    assert json.loads(json.dumps(parameters.to_dict(), allow_nan=False))["jam"] == parameters.jam
    assert list(parameters.to_dict()) == [row.name for row in TABLE]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_parameter_changes_what_the_plant_does(row):
    value, context = OTHER.get(row.name) or (repr((row.minimum + row.maximum) / 2), ())
    assert history(f"{row.name}={value}", *context) != history(*context)


@pytest.mark.parametrize("row", [row for row in TABLE if not row.choices], ids=lambda row: row.name)
@pytest.mark.parametrize("side", ["minimum", "maximum"])
def test_a_value_beyond_its_limits_is_named(row, side):
    limit = getattr(row, side)
    beyond = limit - 1 if side == "minimum" else limit + 1
    text = f"{beyond:.0f}:1" if row.kind == "runs" else f"{beyond:.0f}" if row.kind in ("whole", "positions") else repr(beyond)
    with pytest.raises(BadRigError, match=rf"^{row.name}: .* is not within"):
        parse_url(f"twin:roller?{row.name}={text}")


def test_a_url_sets_seed_firmware_and_parameters():
    parts = parse_url("twin:roller?seed=7&brain=sequence&double_feed=0&jam=0.01&beam=blind&elf=/tmp/a%20b+c.elf")
    assert (parts.launcher, parts.seed, parts.elf) == ("roller", 7, Path("/tmp/a b+c.elf"))
    assert parts.parameters == replace(RollerParameters(), brain="sequence", double_feed=0, jam=0.01, beam="blind")


def test_a_bare_url_is_all_defaults():
    parts = parse_url("twin:roller")
    assert (parts.seed, parts.elf, parts.parameters) == (None, None, RollerParameters())


def test_lists_are_read():
    parameters = parse_url("twin:roller?hazard=0.1,1&run_ms=125:1,333:2.5&sequence=1,4&sequence_length=5").parameters
    assert parameters.hazard == (0.1, 1.0)
    assert parameters.run_ms == ((125, 1.0), (333, 2.5))
    assert (parameters.sequence, parameters.sequence_length) == ((1, 4), 5)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("twin:blast", "'twin:blast' is no twin: this version has twin:roller"),
        ("roller", "'roller' is no twin"),
        ("twin:", "'twin:' is no twin"),
        ("twin:roller?jamm=1", "no parameter 'jamm'; did you mean jam"),
        ("twin:roller?doublefeed=0", "did you mean double_feed"),
        ("twin:roller?xyzzy=1", "launchrig twin --list"),
        ("twin:roller?jam", "jam has no value in"),
        ("twin:roller?jam=", "jam has no value in"),
        ("twin:roller?jam=0.1&jam=0.2", "jam is given twice"),
        ("twin:roller?jam=often", "jam: 'often' is not a number"),
        ("twin:roller?jam=nan", "jam: 'nan' is not a number"),
        ("twin:roller?jam=inf", "jam: 'inf' is not a number"),
        ("twin:roller?jam=2", "jam: 2 is not within 0 to 1$"),
        ("twin:roller?gear=20", "gear: 20 is not within 6 to 14$"),
        ("twin:roller?cell_V=3", "cell_V: 3 is not within 1.2 to 1.65 V"),
        ("twin:roller?hazard=0.5,1.5", "hazard: 1.5 is not within 0 to 1"),
        ("twin:roller?hazard=0.5;1", "hazard: '0.5;1' is not numbers with commas"),
        ("twin:roller?run_ms=145", "run_ms: '145' is not ms:weight pairs"),
        ("twin:roller?run_ms=145:0", "run_ms: the weights are all zero"),
        ("twin:roller?run_ms=145:-1,225:2", "run_ms: a weight is negative"),
        ("twin:roller?sequence_length=2.5", "sequence_length: '2.5' is not a whole number"),
        ("twin:roller?brain=hazzard", "brain: 'hazzard' is none of iid, hazard, sequence; did you mean hazard"),
        ("twin:roller?beam=off", "beam: 'off' is none of ok, blind"),
        ("twin:roller?seed=-1", "seed: '-1' is no whole number"),
        ("twin:roller?seed=1.5", "seed: '1.5' is no whole number"),
        ("twin:roller?seed=18446744073709551616", "no whole number from 0 to"),
        ("twin:roller?gap_min_mm=50", "gap_min_mm is larger than gap_max_mm"),
        ("twin:roller?sound_delay_ms=10", "sound_delay_ms must be longer than debounce_ms"),
        ("twin:roller?debounce_ms=40&motor_delay_ms=30", "motor_delay_ms must be longer than debounce_ms"),
        ("twin:roller?grip_mm=22", "grip_mm must be at least 5 mm more than beam_a_mm"),
    ],
)
def test_a_bad_url_gives_one_line_that_says_what_is_wrong(url, says):
    with pytest.raises(BadRigError, match=says) as raised:
        parse_url(url)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2
