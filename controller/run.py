# SPDX-License-Identifier: Apache-2.0
"""From an open rig to a closed run in the store: connect, press, be safe, say how it ended.

Whatever happens in between, the outputs are switched off and read back, and the run is closed with the reason.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from controller.campaign import Campaign, CampaignRun, Progress, describe
from controller.decide import DecisionSource
from controller.signals import StopFlag
from controller.store.records import raw_sha256
from controller.store.store import Store
from controller.versions import versions
from rig.errors import OperatorNeededError, RigError, StopAskedError
from rig.launcher import Happening, RollerLauncher
from rig.rig import Rig
from rig.wire.messages import STOP_SEND, Boot, Launcher

EXIT_PASS, EXIT_INCONCLUSIVE, EXIT_ABORTED, EXIT_RIG = 0, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `status` as stored, the exit code it asks for, one line of `cause` where there is one.

    epoch_s: tick 0 on the link's clock, for the twin's truth.
    """

    run_id: int
    status: str
    exit_code: int
    cause: str
    safe: bool
    epoch_s: float


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
    campaign: Campaign,
    *,
    kind: str,
    dut: str,
    decider: DecisionSource | None,
    stop: StopFlag,
    on_progress: Callable[[Progress], None],
) -> Outcome:
    """Run `campaign` on `rig` into a new run of `store`.

    Ends in an `Outcome` whatever the launcher or the rig does; only what concerns the store itself, or happens before
    the board has answered, is raised.
    """
    stop.panic = lambda: rig.link.write(bytes(STOP_SEND))
    early: list[Happening] = []
    tell: list[Callable[[Happening], None]] = [early.append]
    launcher = RollerLauncher(
        rig.link,
        drive=campaign.drive,
        on_happening=lambda happening: tell[0](happening),
        stop_asked=stop,
        nonce=rig.nonce,
        new_uuid=rig.new_uuid,
    )
    run_id = store.create_run(
        kind=kind,
        dut=dut,
        rig_url=rig.url,
        launcher=rig.launcher,
        drive=campaign.drive.name,
        seed=rig.seed,
        firmware=firmware_facts(launcher.board.boot, rig.image),
        versions=versions(),
        settings=describe(campaign) | launcher.settings,
    )
    running = CampaignRun(campaign, rig, store, run_id, decider=decider, on_progress=on_progress, stop_asked=stop)
    for happening in early:
        running.note(happening)
    tell[0] = running.note
    status, exit_code, cause = "crashed", EXIT_RIG, "the run was cut short"
    try:
        running.run(launcher)
        status, exit_code, cause = "complete", EXIT_PASS, ""
    except StopAskedError:
        status, exit_code, cause = "aborted by operator", EXIT_ABORTED, f"stopped by {stop.by}"
    except OperatorNeededError as error:
        status, exit_code, cause = "aborted by rule", EXIT_INCONCLUSIVE, str(error)
    except RigError as error:
        status, exit_code, cause = "aborted by rule", EXIT_RIG, str(error)
    except BaseException as error:
        cause = traceback.format_exception_only(error)[-1].strip()
        raise
    finally:
        safe = launcher.safe_state()
        counters = _counters(launcher) if safe else {}
        tell[0] = lambda happening: None
        store.end_run(
            run_id,
            status,
            counters=counters,
            raw_sha256=raw_sha256(store.load(run_id).trials),
            safe_state="confirmed" if safe else "not confirmed",
            note=cause,
        )
    return Outcome(run_id, status, exit_code, cause, safe, launcher.board.epoch_s)


def _counters(launcher: RollerLauncher) -> dict[str, int]:
    try:
        return launcher.board.counters()
    except RigError:  # the link died after the outputs were confirmed off: the run still closes
        return {}
