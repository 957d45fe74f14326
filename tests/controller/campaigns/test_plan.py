# SPDX-License-Identifier: Apache-2.0
"""What was asked for meets the machine that is on the bench: defaults of that machine, and what does not fit it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from controller.campaigns.blast import BlastCampaign
from controller.campaigns.by_hand import HandCampaign
from controller.campaigns.plan import Wanted, planned
from controller.campaigns.roller import RollerCampaign
from controller.errors import RefusedError
from rig.errors import RefusedRequestError
from rig.open import open_rig
from rig.rig import Rig
from rig.wire.messages import Launcher, Wiring

DEMO = Wanted("demo", 100, 3.0)
SLOTS = {"slots": 4}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    opened = open_rig("twin:roller?seed=7&brain=sequence")
    yield opened
    opened.close()


def test_a_roller_has_its_usual_fill_and_bursts(rig: Rig) -> None:
    assert planned(DEMO, Launcher.roller, SLOTS, rig) == RollerCampaign(100, 3.0, 83, Wiring.button, (1, 2, 4))
    assert planned(replace(DEMO, command="press"), Launcher.roller, SLOTS, rig) == RollerCampaign(100, 3.0, 83, Wiring.button, (1,))


def test_in_direct_drive_the_rigs_brain_and_seed_decide_unless_another_is_asked_for(rig: Rig) -> None:
    direct = RollerCampaign(100, 3.0, 20, Wiring.direct, (2,), decision="sequence", decision_seed=7)
    wanted = replace(DEMO, drive="direct", fill=20, bursts=(2,))
    assert planned(wanted, Launcher.roller, SLOTS, rig) == direct
    assert planned(replace(wanted, brain="iid"), Launcher.roller, SLOTS, rig) == replace(direct, decision="iid")


def test_a_blaster_has_a_card_for_each_slot_and_the_rigs_seed_for_its_order(rig: Rig) -> None:
    assert planned(DEMO, Launcher.blast, SLOTS, rig) == BlastCampaign(100, 3.0, 4, (1,), 4, "random", 7)
    wanted = replace(DEMO, fill=3, bursts=(0,), order="fixed:3,1", slots=4)
    assert planned(wanted, Launcher.blast, SLOTS, rig) == BlastCampaign(100, 3.0, 3, (0,), 4, "fixed:3,1", 7)


def test_without_a_seed_of_the_rig_the_order_has_one_of_its_own(rig: Rig) -> None:
    unseeded = replace(rig, seed=None)
    seeds = {planned(DEMO, Launcher.blast, SLOTS, unseeded).order_seed for _ in range(3)}
    assert len(seeds) == 3


@pytest.mark.parametrize(
    ("into", "until_blast", "fill", "trials"),
    [((), False, None, 1), ((), True, None, 4), ((), True, 2, 2), ((3, 1), False, None, 2), ((1, 2, 3, 4, 1), True, None, 4)],
)
def test_inserts_by_hand_are_as_many_as_were_named_or_can_be(
    rig: Rig, into: tuple[int, ...], until_blast: bool, fill: int | None, trials: int
) -> None:
    wanted = Wanted("insert", 1, 3.0, into=into, until_blast=until_blast, fill=fill)
    assert planned(wanted, Launcher.blast, SLOTS, rig) == HandCampaign(trials, 3.0, fill or 4, into, until_blast)


REFUSED = [
    (Launcher.roller, replace(DEMO, order="random"), "--order: a roller launcher has no slots"),
    (Launcher.roller, replace(DEMO, slots=4), "--slots: a roller launcher has no slots"),
    (Launcher.roller, Wanted("insert", 1, 3.0), "insert: the board is set up for a roller launcher; .* launchrig press$"),
    (Launcher.roller, Wanted("reset", 1, 3.0), "reset: the board is set up for a roller launcher; .* launchrig press$"),
    (Launcher.blast, Wanted("press", 1, 3.0), "press: the board is set up for a blaster; .* launchrig insert or launchrig reset$"),
    (Launcher.blast, Wanted("press", 1, 3.0, drive="direct"), "launchrig insert"),
    (Launcher.blast, replace(DEMO, drive="direct"), "--drive direct: a blaster has no roller"),
    (Launcher.blast, replace(DEMO, brain="iid"), "--brain: it is the blaster's toy that decides"),
    (Launcher.blast, replace(DEMO, fill=5), "--fill 5: a loader holds one card a slot, 4 here"),
    (Launcher.blast, replace(DEMO, slots=6), "--slots 6: the bench has 4 slots wired, not 6"),
    (Launcher.blast, replace(DEMO, order="fixed:6"), "there is no slot 6; this bench has slots 1 to 4"),
    (Launcher.blast, Wanted("insert", 2, 3.0, into=(1, 5)), "slot 5: this bench has slots 1 to 4"),
    (Launcher.blast, Wanted("insert", 1, 3.0, fill=6), "--fill 6: a loader holds one card a slot, 4 here"),
]


@pytest.mark.parametrize(("launcher", "wanted", "says"), REFUSED, ids=[says[:30] for _, _, says in REFUSED])
def test_what_does_not_fit_the_machine_is_refused_in_one_line(rig: Rig, launcher: Launcher, wanted: Wanted, says: str) -> None:
    with pytest.raises((RefusedError, RefusedRequestError), match=says) as refused:
        planned(wanted, launcher, SLOTS, rig)
    assert "\n" not in str(refused.value)
