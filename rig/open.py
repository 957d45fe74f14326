# SPDX-License-Identifier: Apache-2.0
"""From a rig's URL to a rig: `twin:roller?seed=7`, `/dev/ttyACM0`, `board:`, `socket://host:port`, `faulty+` before any."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable
from pathlib import Path

from rig.errors import BadRigError
from rig.links.faults import PREFIX, parse_faulty_url
from rig.links.faulty import FaultyLink
from rig.operator import ConsoleOperator, NoOperator
from rig.rig import Rig
from rig.wire.messages import BAUD

TWIN = "twin:"
BOARD = "board:"
PORT = re.compile(r"/.+|COM[0-9]+|(?:rfc2217|socket)://[^/:]+:([0-9]+).*", re.IGNORECASE)
MOST_TCP_PORT = 65535
BAUDS = range(300, 2_000_001)  # bit/s; the upper end is the fastest that a board at 16 MHz has
EXAMPLES = (
    "twin:roller, twin:roller?seed=7, board:, board:UUID, /dev/ttyACM0, COM3, /dev/ttyACM0?baud=500000, rfc2217://host:port, "
    "socket://host:port or, with faults on the link, faulty+twin:roller?corrupt=0.01"
)
OPERATORS = ("auto", "console", "none")
FAULT_SEED_BITS = 31


def open_rig(url: str, *, seed: int | None = None, operator: str = "auto", vcd: Path | None = None) -> Rig:
    """Open the rig that `url` names.

    `seed` sets the twin's seed; given here and in the URL, the two must be equal. `operator` is `auto` (the twin's own
    in the twin, the console elsewhere), `console` or `none`. `vcd` is a file for the twin's waveforms.
    Raises a `RigError` whose text says what is wrong with the URL or the rig.
    """
    if operator not in OPERATORS:
        raise BadRigError(f"--operator: {operator!r} is none of {', '.join(OPERATORS)}")
    rig = _faulty(url, seed, vcd) if url.startswith(PREFIX) else _sound(url, seed, vcd)
    if operator != "auto":
        rig.operator = ConsoleOperator() if operator == "console" else NoOperator(rig.preload)
    return rig


def _faulty(url: str, seed: int | None, vcd: Path | None) -> Rig:
    """The rig behind `faulty+`, its link wrapped; its URL has the seed of the faults, too."""
    said = parse_faulty_url(url)
    if not said.inner.partition("?")[0]:
        raise _no_rig(url)
    rig = _sound(said.inner, seed, vcd)
    known = (said.seed, rig.seed)
    fault_seed = next((each for each in known if each is not None), secrets.randbits(FAULT_SEED_BITS))
    rig.link = FaultyLink(rig.link, said.faults, fault_seed)
    rig.url = said.around(rig.url, fault_seed)
    return rig


def _sound(url: str, seed: int | None, vcd: Path | None) -> Rig:
    """The rig that `url` names, as it is."""
    if url.startswith(TWIN):
        from rig.twin.rig import open_twin  # the twin is loaded only where it is used

        return open_twin(url, seed=seed, vcd=vcd)
    port, baud = _port_and_baud(url)
    if vcd:
        raise BadRigError(f"--vcd: only the twin can write waveforms, and {url} is no twin")
    from rig.links.serial import SerialLink

    return Rig(
        url=url,
        seed=seed,
        link=SerialLink(port, baud, find=_finder(port)),
        operator=ConsoleOperator(),
        nonce=lambda: secrets.randbits(16),
        new_uuid=lambda: uuid.uuid4().bytes,
        brain="hazard",
        preload=lambda cards: None,
        truth=None,
        image=None,
    )


def _finder(port: str) -> Callable[[], str] | None:
    """How the port of `board:UUID` is found whenever it is opened; None for a port that is named itself."""
    if not port.startswith(BOARD):
        return None

    from rig.discover import BoardFinder

    return BoardFinder(port[len(BOARD) :])


def _no_rig(url: str) -> BadRigError:
    return BadRigError(f"{url!r} names no rig; write for example {EXAMPLES}")


def _port_and_baud(url: str) -> tuple[str, int]:
    """The port that `url` names without `baud=N`, and that rate in bit/s. Raises `BadRigError` for anything else."""
    port, _, query = url.partition("?")
    named = PORT.fullmatch(port)
    # what cannot be printed is in no port's name, and is not to reach the terminal with an error
    if not (named or port.startswith(BOARD)) or not url.isprintable():
        raise _no_rig(url)
    if named and named[1] and int(named[1]) > MOST_TCP_PORT:
        raise BadRigError(f"{url}: a network port is a number from 0 to {MOST_TCP_PORT}, and {named[1]} is none")
    parts = [part for part in query.split("&") if part]
    bauds = [part for part in parts if part.partition("=")[0] == "baud"]
    rest = [part for part in parts if part not in bauds]
    if len(bauds) > 1:
        raise BadRigError(f"baud is given twice in {url!r}")
    if rest and "://" not in port:  # pyserial knows what may stand behind a network address
        raise BadRigError(f"{rest[0].partition('=')[0]}: a port has no such parameter, only baud, as in {port}?baud={BAUD}")
    text = bauds[0].partition("=")[2] if bauds else str(BAUD)
    if not (text.isascii() and text.isdecimal() and int(text) in BAUDS):
        raise BadRigError(f"baud: {text!r} is no whole number from {BAUDS[0]} to {BAUDS[-1]} bit/s")
    return "?".join(filter(None, (port, "&".join(rest)))), int(text)
