# SPDX-License-Identifier: Apache-2.0
"""From a rig's URL to a rig: `twin:roller?seed=7`, `/dev/ttyACM0`, `COM3`, `rfc2217://host:port`, `socket://host:port`."""

from __future__ import annotations

import re
import secrets
import uuid
from pathlib import Path

from rig.errors import BadRigError
from rig.operator import ConsoleOperator, NoOperator
from rig.rig import Rig

TWIN = "twin:"
PORT = re.compile(r"/.+|COM\d+|(rfc2217|socket)://[^/:]+:\d+.*", re.IGNORECASE)
EXAMPLES = "twin:roller, twin:roller?seed=7, /dev/ttyACM0, COM3, rfc2217://host:port or socket://host:port"
OPERATORS = ("auto", "console", "none")


def open_rig(url: str, *, seed: int | None = None, operator: str = "auto", vcd: Path | None = None) -> Rig:
    """Open the rig that `url` names.

    `seed` sets the twin's seed; given here and in the URL, the two must be equal. `operator` is `auto` (the twin's own
    in the twin, the console elsewhere), `console` or `none`. `vcd` is a file for the twin's waveforms.
    Raises a `RigError` whose text says what is wrong with the URL or the rig.
    """
    if operator not in OPERATORS:
        raise BadRigError(f"--operator: {operator!r} is none of {', '.join(OPERATORS)}")
    if url.startswith(TWIN):
        from rig.twin.rig import open_twin  # the twin is loaded only where it is used

        rig = open_twin(url, seed=seed, vcd=vcd)
    else:
        if not PORT.fullmatch(url):
            raise BadRigError(f"{url!r} names no rig; write for example {EXAMPLES}")
        if vcd:
            raise BadRigError(f"--vcd: only the twin can write waveforms, and {url} is no twin")
        from rig.links.serial import SerialLink

        rig = Rig(
            url=url,
            seed=seed,
            link=SerialLink(url),
            operator=ConsoleOperator(),
            nonce=lambda: secrets.randbits(16),
            new_uuid=lambda: uuid.uuid4().bytes,
            brain="hazard",
            preload=lambda cards: None,
            truth=None,
            image=None,
        )
    if operator != "auto":
        rig.operator = ConsoleOperator() if operator == "console" else NoOperator(rig.preload)
    return rig
