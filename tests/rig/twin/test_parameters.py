# SPDX-License-Identifier: Apache-2.0
"""The tables of the twins' parameters, and the URL that sets them."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from rig.errors import BadRigError
from rig.twin.blast.parameters import BlastParameters
from rig.twin.parameters import Row, rows_of
from rig.twin.roller.parameters import RollerParameters
from rig.twin.twins import TWINS
from rig.twin.url import parse_url

ROWS = [(name, row) for name, twin in TWINS.items() for row in rows_of(twin.parameters)]


def called(value: object) -> str:
    """A test's id."""
    return value.name if isinstance(value, Row) else str(value)


@pytest.mark.parametrize("name", TWINS)
def test_every_parameter_has_unit_source_tag_and_meaning(name):
    parameters = TWINS[name].parameters
    assert [row.name for row in rows_of(parameters)] == [field.name for field in fields(parameters)]
    for row in rows_of(parameters):
        assert row.tag in ("PUB", "MEAS", "DER", "SUG", "UNV")
        assert row.source and row.doc and row.doc[0].islower()
        assert (row.minimum is None) == bool(row.choices)
        assert row.unit or row.choices


@pytest.mark.parametrize("name", TWINS)
def test_the_defaults_are_within_their_limits_and_can_be_written_as_json(name):
    parameters = TWINS[name].parameters()
    assert json.loads(json.dumps(parameters.to_dict(), allow_nan=False))["jam"] == parameters.jam
    assert list(parameters.to_dict()) == [row.name for row in rows_of(type(parameters))]


@pytest.mark.parametrize("name", TWINS)
def test_the_example_of_a_twin_is_a_url(name):
    assert parse_url(f"twin:{name}?{TWINS[name].example}").parameters != TWINS[name].parameters()


@pytest.mark.parametrize(("name", "row"), [each for each in ROWS if not each[1].choices], ids=called)
@pytest.mark.parametrize("side", ["minimum", "maximum"])
def test_a_value_beyond_its_limits_is_named(name, row, side):
    limit = getattr(row, side)
    beyond = limit - 1 if side == "minimum" else limit + 1
    text = f"{beyond:.0f}:1" if row.kind == "runs" else f"{beyond:.0f}" if row.kind in ("whole", "positions") else repr(beyond)
    with pytest.raises(BadRigError, match=rf"^{row.name}: .* is not within"):
        parse_url(f"twin:{name}?{row.name}={text}")


def test_a_url_sets_seed_firmware_and_parameters():
    parts = parse_url("twin:roller?seed=7&brain=sequence&double_feed=0&jam=0.01&beam=blind&elf=/tmp/a%20b+c.elf")
    assert (parts.launcher, parts.seed, parts.elf) == ("roller", 7, Path("/tmp/a b+c.elf"))
    assert parts.parameters == replace(RollerParameters(), brain="sequence", double_feed=0, jam=0.01, beam="blind")


def test_a_bare_url_is_all_defaults():
    parts = parse_url("twin:roller")
    assert (parts.seed, parts.elf, parts.parameters) == (None, None, RollerParameters())


def test_a_url_sets_the_blaster():
    parts = parse_url("twin:blast?slots=6&brain=creeping&creeping=0.1,0.9&partial=0&seed=3")
    assert (parts.launcher, parts.seed) == ("blast", 3)
    assert parts.parameters == replace(BlastParameters(), slots=6, brain="creeping", creeping=(0.1, 0.9), partial=0)


def test_lists_are_read():
    parameters = parse_url("twin:roller?hazard=0.1,1&run_ms=125:1,333:2.5&sequence=1,4&sequence_length=5").parameters
    assert parameters.hazard == (0.1, 1.0)
    assert parameters.run_ms == ((125, 1.0), (333, 2.5))
    assert (parameters.sequence, parameters.sequence_length) == ((1, 4), 5)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("twin:blaster", "'twin:blaster' is no twin: there are twin:roller and twin:blast; did you mean blast"),
        ("twin:blast?slots=7", "slots: 7 is not within 1 to 6 slots"),
        ("twin:blast?slots=0", "slots: 0 is not within 1 to 6 slots"),
        ("twin:blast?slots=2.5", "slots: '2.5' is not a whole number"),
        ("twin:blast?partail=0", "twin:blast has no parameter 'partail'; did you mean partial"),
        ("twin:blast?hazard=1", "twin:blast has no parameter 'hazard'"),
        ("twin:blast?xyzzy=1", "launchrig twin twin:blast --list shows all"),
        ("twin:blast?creeping=", "creeping has no value in"),
        ("twin:blast?brain=iid", "brain: 'iid' is none of hidden_slot, constant, creeping"),
        ("twin:roller?partial=0", "twin:roller has no parameter 'partial'"),
        ("roller", "'roller' is no twin"),
        ("twin:", "'twin:' is no twin"),
        ("twin:roller?jamm=1", "no parameter 'jamm'; did you mean jam"),
        ("twin:roller?doublefeed=0", "did you mean double_feed"),
        ("twin:roller?xyzzy=1", "launchrig twin twin:roller --list shows all"),
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
