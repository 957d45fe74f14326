# SPDX-License-Identifier: Apache-2.0
"""From an open rig to a closed run in the store: connect, plan, make every trial, be safe, say how it ended.

Whatever happens in between, the outputs are switched off and read back, and the run is closed with the reason.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.campaigns.shared import Campaign, CampaignRun, Progress
from controller.signals import StopFlag
from controller.store.records import raw_sha256
from controller.store.store import Store
from controller.verdict import Exit, exit_of
from controller.versions import versions
from rig.board import Board, Stretch
from rig.errors import RigError, StopAskedError
from rig.launcher import Driver, Happening
from rig.rig import Rig
from rig.wire.messages import Boot, Launcher, Wiring

Plan = Callable[[Launcher, Mapping[str, int]], Campaign]
"""From the machine that a board is set up for, and the board's settings, to what to do with it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `status` as stored, the exit code it asks for, one line of `cause` where there is one.

    stretches: of the board's ticks, for the twin's truth.
    """

    run_id: int
    status: str
    exit_code: Exit
    cause: str
    safe: bool
    stretches: tuple[Stretch, ...]


def firmware_facts(boot: Boot, image: bytes | None) -> dict[str, Any]:
    """What BOOT says of the firmware, and the SHA-256 of its flash image where the image is at hand."""
    return {
        "version": f"{boot.version_major}.{boot.version_minor}.{boot.version_patch}",
        "build_id": f"{boot.build_id:08x}",
        "sha256": hashlib.sha256(image).hexdigest() if image is not None else None,
        "protocol_hash": f"{boot.protocol_hash:08x}",
        "board_uuid": boot.uuid.hex(),
        "boot_count": boot.boot_count,
        "launcher": Launcher(boot.launcher).name,
    }


def conduct(
    rig: Rig,
    store: Store,
    plan: Plan,
    *,
    kind: str,
    dut: str,
    stop: StopFlag,
    drive: Wiring = Wiring.button,
    on_progress: Callable[[Progress], None],
    on_safe: Callable[[bool], None] = lambda safe: None,
    on_notice: Callable[[str], None] = lambda text: None,
    on_planned: Callable[[Campaign], None] = lambda campaign: None,
) -> Outcome:
    """Run what `plan` makes of the machine on `rig` into a new run of `store`; `on_planned` is told what that is.

    Once the board was heard, this ends in the safe state, which `on_safe` is told, and with the run closed, whatever happens; the
    outcome tells how. Raised is only what comes before there is a run (a `RigError`, `StopAskedError`, and what `plan` raises),
    what concerns the store itself, and what the functions named `on_...` raise.
    """
    stop.panic = rig.panic
    told: list[Happening] = []
    tell: list[Callable[[Happening], None]] = [told.append]
    heard: list[Driver] = []
    try:
        launcher = Driver(
            rig.link,
            drive=drive,
            on_happening=lambda happening: tell[0](happening),
            stop_asked=stop,
            nonce=rig.nonce,
            new_uuid=rig.new_uuid,
            on_heard=heard.append,
        )
    except BaseException:
        for one in heard:  # a board of ours, in whatever state it was left
            on_safe(_be_safe(one, stop))
        raise
    boot_count = launcher.board.boot.boot_count
    status, code, cause = "crashed", Exit.rig_fault, "the run was cut short"
    run_id, before, running = None, {}, None
    failed: Exception | None = None
    try:
        before = launcher.asked(Board.counters)
        settings = launcher.asked(Board.settings)
        campaign = plan(launcher.kind, settings)
        rig.operator.meet(launcher.kind)
        on_planned(campaign)
        run_id = store.create_run(
            kind=kind,
            dut=dut,
            rig_url=rig.url,
            launcher=launcher.kind.name,
            drive=drive.name,
            seed=rig.seed,
            firmware=firmware_facts(launcher.board.boot, rig.image),
            versions=versions(),
            settings=campaign.described() | settings | {"wiring": int(drive)},
        )
        rig.link.held_for(f"run {run_id}")
        running = CampaignRun(
            *(campaign, rig, launcher, store, run_id), on_progress=on_progress, on_notice=on_notice, stop_asked=stop
        )
        for happening in told:
            running.note(happening)
        tell[0] = running.note
        launcher.prepare()
        running.run()
        status, code, cause = "complete", Exit.passed, ""
    except StopAskedError:
        status, code, cause = "aborted by operator", Exit.aborted, f"stopped by {stop.by}"
        failed = StopAskedError(cause)
    except RigError as error:
        status, code, cause, failed = "aborted by rule", Exit(error.exit_code), str(error), error
    except BaseException as error:
        cause = traceback.format_exception_only(error)[-1].strip()
        raise
    finally:
        late: list[Happening] = []
        tell[0] = late.append  # kept for later: a store that refuses must not come between the rig and its safe state
        safe = _be_safe(launcher, stop)
        try:
            on_safe(safe)  # said before anything else can fail
        finally:
            if running is not None and run_id is not None:
                for happening in late:
                    running.note(happening)
                data = store.load(run_id)
                if status == "complete":
                    code = exit_of(data)
                store.end_run(
                    run_id,
                    status,
                    counters=_counters(launcher, before if launcher.board.boot.boot_count == boot_count else {}, safe),
                    raw_sha256=raw_sha256(data.trials),
                    safe_state="confirmed" if safe else "not confirmed",
                    note=cause,
                )
    if run_id is None and failed is not None:  # nothing was made yet, and the outputs are off
        raise failed
    assert run_id is not None
    return Outcome(run_id, status, code, cause, safe, tuple(launcher.board.stretches))


def _be_safe(launcher: Driver, stop: StopFlag) -> bool:
    safe = launcher.safe_state()
    if safe:
        stop.safe()
    return safe


def _counters(launcher: Driver, before: Mapping[str, int], safe: bool) -> dict[str, int]:
    """Losses of this run, only the host's own when the board does not answer any more, and the round trip.

    A board that was reset counts from then on, and `before` is empty.
    """
    try:
        after = launcher.board.counters() if safe else launcher.board.own_counters()
    except RigError:
        after = launcher.board.own_counters()
    losses = {name: value - before.get(name, 0) for name, value in after.items()}
    return losses | {"round_trip_us": launcher.board.round_trip_us}
