# SPDX-License-Identifier: Apache-2.0
"""Every parameter of the blaster does something, and what is a guess is called one."""

from __future__ import annotations

from functools import cache

import pytest

from rig.errors import BadRigError
from rig.twin.blast.parameters import BlastParameters
from rig.twin.parameters import rows_of
from rig.twin.url import parse_url
from tests.rig.twin.blast.watched import Blaster, S
from tests.rig.twin.watcher import MS

TABLE = rows_of(BlastParameters)

# Another value for every row, with what else must be set for it to matter.
OTHER = {
    "brain": ("constant", ()),
    "slots": ("5", ()),
    "p_blast": ("0.9", ("brain=constant",)),
    "creeping": ("0.9,1", ("brain=creeping",)),
    "boot_ms": ("400", ()),
    "release_delay_ms": ("100", ()),
    "let_go_ms": ("30", ()),
    "pack_aging": ("3", ("used_mAh=1000",)),
    "pack_mAh": ("200", ()),
    "used_mAh": ("1500", ()),
    "cell_V": ("1.4", ()),
    "latch_V": ("4.6", ()),
    "latch_fault_growth": ("2", ("used_mAh=2000",)),
    "shingle_mm": ("9", ("double_feed=1", "overlap=0")),
    "overlap": ("1", ("double_feed=1",)),
    "partial": ("0.5", ()),
    "double_feed": ("0.5", ()),
    "jam": ("0.5", ()),
    "beam": ("blind", ()),
}


@cache
def history(*query: str) -> tuple[object, ...]:
    """All that a blaster does in a session that touches everything."""
    said = parse_url("twin:blast?" + "&".join(query)).parameters.to_dict()
    blaster = Blaster(4, **said)
    for i in range(60):
        if blaster.plant.ahead.mouth is not None:
            blaster.clear_mouth()
        free = [slot for slot in blaster.waiting if slot not in blaster.inside]
        if i % 17 == 7:
            blaster.now += 200 * S
        if i % 23 == 11:
            blaster.output("power", 0)
            blaster.output("power", 1, 10)
            blaster.now += 250 * MS
        if free:
            blaster.insert(free[i % len(free)], hold_ms=12 if i % 19 == 5 else 40)
        else:
            blaster.reset(hold_ms=25 if i % 3 else 120)
        if not blaster.waiting:
            blaster.reload()
    return blaster.truth, blaster.plans


def test_what_nobody_has_verified_is_called_unverified() -> None:
    verified = {row.name for row in TABLE if row.tag != "UNV"}
    assert verified == {
        *("sleep_s", "cell_V", "pack_ohm", "pack_mAh", "used_mAh", "card_mm"),
        *("beam_a_mm", "beam_b_mm", "beam_us", "beam"),
    }


def test_a_rule_without_a_hazard_is_refused() -> None:
    with pytest.raises(BadRigError, match="creeping has no hazard"):
        BlastParameters(creeping=())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_parameter_changes_what_the_plant_does(row) -> None:
    value, context = OTHER.get(row.name) or (repr((row.minimum + row.maximum) / 2), ())
    assert history(f"{row.name}={value}", *context) != history(*context)
