# SPDX-License-Identifier: Apache-2.0
"""From a rig's URL to a rig: `twin:roller?seed=7`, `/dev/ttyACM0`, `COM3`, `rfc2217://host:port`, `socket://host:port`."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import BadRigError
from rig.links.base import Link
from rig.operator import ConsoleOperator, NoOperator, Operator

TWIN = "twin:"
PORT = re.compile(r"/.+|COM\d+|(rfc2217|socket)://[^/:]+:\d+.*", re.IGNORECASE)
EXAMPLES = "twin:roller, twin:roller?seed=7, /dev/ttyACM0, COM3, rfc2217://host:port or socket://host:port"
OPERATORS = ("auto", "console", "none")

Truth = Callable[[Sequence[tuple[int, int | None]], float], dict[str, Any]]
"""From `(trial, actuation tick)` of every trial, and tick 0 in seconds of the link's clock, to what `truth.json` holds."""


@dataclass(slots=True)
class Rig:
    """A rig that is open.

    url: with the seed in force. launcher: the kind of machine. nonce: for each conversation. new_uuid: for a board that
    has none yet. truth: None for a rig that is no twin, and not to be called
    before everything measured is on disk. image: the flash image that runs, where that is known.
    """

    url: str
    launcher: str
    seed: int | None
    link: Link
    operator: Operator
    nonce: Callable[[], int]
    new_uuid: Callable[[], bytes]
    truth: Truth | None
    image: bytes | None

    def close(self) -> None:
        """Let go of the rig."""
        self.link.close()


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
            launcher="roller",
            seed=seed,
            link=SerialLink(url),
            operator=ConsoleOperator(),
            nonce=lambda: secrets.randbits(16),
            new_uuid=lambda: uuid.uuid4().bytes,
            truth=None,
            image=None,
        )
    if operator != "auto":
        rig.operator = ConsoleOperator() if operator == "console" else NoOperator()
    return rig
