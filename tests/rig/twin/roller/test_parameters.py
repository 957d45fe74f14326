# SPDX-License-Identifier: Apache-2.0
"""Every parameter of the roller launcher does something, and what is a guess is called one."""

from __future__ import annotations

from functools import cache

import pytest

from rig.twin.parameters import rows_of
from rig.twin.roller.parameters import RollerParameters
from rig.twin.url import parse_url
from tests.rig.twin.observer import loaded, reload
from tests.rig.twin.watcher import MS

TABLE = rows_of(RollerParameters)

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


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_parameter_changes_what_the_plant_does(row):
    value, context = OTHER.get(row.name) or (repr((row.minimum + row.maximum) / 2), ())
    assert history(f"{row.name}={value}", *context) != history(*context)
