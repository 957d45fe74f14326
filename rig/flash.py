# SPDX-License-Identifier: Apache-2.0
"""Programs a board: avrdude writes and verifies, then the board itself says what it now runs.

An application that is cut short must not move anything. So the first page is written twice: at the beginning with an
endless loop, which leaves every output off, and at the end, once all else is verified, with what belongs there.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from intelhex import IntelHex

from rig import avrdude
from rig.avrdude import Outcome
from rig.errors import BadRigError, NotOurBoardError, ProtocolMismatchError, RigError
from rig.image import BadImageError, Image
from rig.links.base import Link
from rig.links.lockfile import PortLock
from rig.wire import codec
from rig.wire.frame import Framer
from rig.wire.messages import BAUD, PROTOCOL_HASH, Boot

PAGE_BYTES = 128
HOLD_STILL = bytes.fromhex("f894ffcf")  # cli; rjmp to itself
BOOT_S = 6.0  # the bootloader's second, a self-check, and patience
LOOK_S = 0.25
PORT = re.compile(r"/[^?]+|COM[0-9]+", re.IGNORECASE)

Say = Callable[[str], None]
OpenLink = Callable[[str, int], Link]


@dataclass(frozen=True, slots=True)
class Loader:
    """A bootloader by its rate in bit/s; the application ends below `section`."""

    baud: int
    section: int
    name: str


TRIES = 5
LOADERS = (Loader(115_200, 0x7E00, "Optiboot"), Loader(57_600, 0x7800, "an old bootloader"))


class FlashError(RigError):
    """The board could not be programmed."""


class FlashInterruptedError(FlashError):
    """The user ended the programming."""

    exit_code = 4


def flash_command(port: str) -> str:
    """The command that puts the right firmware on the board at `port`, for the errors of others."""
    return f"launchrig flash --port {port}"


# ---------------------------------------------------------------------- what an image or a board says


@dataclass(slots=True)
class Heard:
    """What came from firmware: bytes, the last BOOT that could be read, and the protocol of the last BOOT at all."""

    count: int = 0
    boot: Boot | None = None
    protocol: int | None = None

    @property
    def ours(self) -> Boot | None:
        """The BOOT, if it is of this host's protocol."""
        return self.boot if self.protocol == PROTOCOL_HASH else None

    def __str__(self) -> str:
        if self.protocol is not None:
            return f"firmware of protocol {self.protocol:08x}, where this launchrig has {PROTOCOL_HASH:08x}"
        return f"{self.count} bytes and no BOOT among them" if self.count else "nothing"


class Listener:
    """Makes `heard` of a stream of bytes. Every protocol's BOOT begins with its hash, whatever comes behind it."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._framer = Framer()

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        self.heard.count += len(data)
        for frame in self._framer.feed(data):
            if frame is None or frame.type != Boot.TYPE or len(frame.payload) < 4:
                continue
            self.heard.protocol = int.from_bytes(frame.payload[:4], "little")
            try:
                message = codec.unpack(Boot, frame.payload)
            except codec.MalformedPayloadError:
                continue
            if isinstance(message, Boot):
                self.heard.boot = message


def refuse_foreign(image: Image, heard: Heard, mend: str) -> None:
    """Raise `BadImageError`, `mend` at its end, when what the image says in the simulator is not what firmware of ours says."""
    boot = heard.ours
    if boot is None:
        raise BadImageError(
            f"{image.path}: is not the firmware of this launchrig: in the simulator it says {heard}; nothing was written; {mend}"
        )
    if boot.build_id != image.build_id:
        raise BadImageError(
            f"{image.path}: calls itself build {boot.build_id:08x}, and its check sum is {image.build_id:08x}: it was altered; "
            f"nothing was written; {mend}"
        )


# ---------------------------------------------------------------------- programming


def demand_local(port: str) -> None:
    """Raise `BadRigError` when `port` is another thing than the name of a serial port of this machine."""
    if not PORT.fullmatch(port) or not port.isprintable():
        raise BadRigError(f"{port!r}: a board is flashed over a serial port of this machine, such as /dev/ttyACM0 or COM3")


def flash(port: str, image: Image, baud: int, say: Say, open_link: OpenLink, log: Path) -> Boot:
    """Write `image` to the board at `port`, verify it, and wait for the BOOT that proves it. Returns that BOOT.

    `baud` (bit/s) is the rate at which the image will talk. avrdude's own words go to `log`, if it can be written.
    Raises `FlashError` and other `RigError`s, each with what is on the board now and the way back.
    """
    demand_local(port)
    program = avrdude.find()
    link = open_link(port, BAUD)  # says what is wrong with the port, who holds it, and so on
    link.held_for("flash")
    link.close()
    lock = PortLock()  # while avrdude has the port, nobody else may
    try:
        if before := lock.take(port, "flash"):
            raise FlashError(f"{port}: taken by {before} at this moment; end it and try again")
        say(f"{port}: writing {len(image.data)} bytes of {image.path.name}")
        loader = _program(program, port, image, say, log)
    finally:
        lock.release()
    say(f"{port}: written and verified; waiting for it to start")
    heard = _listen(open_link(port, baud))
    return _proven(port, image, heard, loader)


def _program(program: str, port: str, image: Image, say: Say, log: Path) -> Loader:
    """Write and verify with the first bootloader that answers; which one that was."""
    outcome: Outcome | None = None
    with tempfile.TemporaryDirectory(prefix="launchrig-") as where, ExitStack() as ending:
        kept, words = _log(log, say)
        ending.callback(_close, words)
        files = parts(image.data, Path(where))
        for loader in LOADERS:
            if outcome is not None:
                say(f"{port}: no answer at {outcome.baud} bit/s; trying {loader.baud}, the rate of {loader.name}")
            if len(image.data) > loader.section:
                raise BadImageError(f"{image.path}: reaches into {loader.name}, which begins at {loader.section:#06x}")
            # An application that started before avrdude was heard answers out of step; to open the port again resets it.
            for _ in range(TRIES):
                outcome = Outcome(loader.baud)
                try:
                    avrdude.run(avrdude.command(program, port, loader.baud, [path for path, _ in files]), outcome, words)
                except KeyboardInterrupt:
                    raise FlashInterruptedError(_left(port, outcome, len(files), "interrupted")) from None
                if outcome.answered or not outcome.garbled:
                    break
            assert outcome is not None
            if outcome.answered:
                break
    assert outcome is not None
    judge(port, outcome, [size for _, size in files], kept)
    return loader


def _log(log: Path, say: Say) -> tuple[Path | None, TextIO]:
    """`log` and what writes to it. A log that cannot be written keeps nobody from programming: None, then, and nowhere."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return log, log.open("w", encoding="utf-8")
    except OSError as error:
        say(f"{log}: cannot be written ({error.strerror}); avrdude's words are not kept")
        return None, Path(os.devnull).open("w", encoding="utf-8")


def _close(words: TextIO) -> None:
    with suppress(OSError):  # a full disk
        words.close()


def parts(data: bytes, where: Path) -> list[tuple[Path, int]]:
    """The hex files to write one after the other, and their sizes in bytes: the loop, all but the first page, the first page."""
    pieces = [(0, data)]
    if len(data) > PAGE_BYTES:
        pieces = [(0, HOLD_STILL), (PAGE_BYTES, data[PAGE_BYTES:]), (0, data[:PAGE_BYTES])]
    files = []
    for number, (start, piece) in enumerate(pieces):
        image = IntelHex()
        image.puts(start, piece)
        path = where / f"{number}.hex"
        image.write_hex_file(str(path))
        files.append((path, len(piece)))
    return files


def judge(port: str, outcome: Outcome, sizes: Sequence[int], log: Path | None) -> None:
    """Raise the `FlashError` that `outcome` amounts to, unless all of `sizes` bytes were verified."""
    if outcome.code == 0 and outcome.verified == list(sizes) and outcome.signature == avrdude.SIGNATURE:
        return
    words = f"; avrdude's words are in {log}" if log else ""
    if not outcome.answered:
        raise FlashError(
            f"{port}: no bootloader answers ({outcome.trouble or 'not a word'}); nothing was written; is it the right port, is "
            f"the board held in reset, has it a bootloader at all? Press its reset button and run: {flash_command(port)}{words}"
        )
    if outcome.signature not in (None, avrdude.SIGNATURE):
        raise FlashError(
            f"{port}: the chip there is {outcome.name or 'another part'} (signature {outcome.signature}) and no ATmega328P "
            f"({avrdude.SIGNATURE}); nothing was written; take an Arduino Uno{words}"
        )
    if outcome.mismatch:
        raise FlashError(_left(port, outcome, len(sizes), "what was read back differs from what was written") + words)
    why = outcome.trouble or (f"signal {-outcome.code}" if outcome.code and outcome.code < 0 else f"code {outcome.code}")
    raise FlashError(_left(port, outcome, len(sizes), f"avrdude ended early ({why})") + words)


def _left(port: str, outcome: Outcome, files: int, why: str) -> str:
    """What is on the board after a programming that did not end, and the way back."""
    if not outcome.begun:
        return f"{port}: {why}; nothing was written and the board is as it was; run: {flash_command(port)}"
    held = " and holds still" if files > 1 else ""
    return (
        f"{port}: {why} while writing: the board's application is incomplete{held}, its bootloader is intact; "
        f"plug the board in again if its port is gone, and finish it with: {flash_command(port)}"
    )


# ---------------------------------------------------------------------- proof


def _listen(link: Link) -> Heard:
    """What the board says within `BOOT_S`, up to the first BOOT."""
    listener, clock = Listener(), link.clock
    deadline = clock.now() + BOOT_S
    try:
        while clock.now() < deadline and listener.heard.protocol is None:
            listener.feed(link.read(min(deadline, clock.now() + LOOK_S)))
    finally:
        link.close()
    return listener.heard


def _proven(port: str, image: Image, heard: Heard, loader: Loader) -> Boot:
    """The board's BOOT, if it proves that `image` runs."""
    wrote = f"{port}: {image.path.name} was written and verified"
    if heard.protocol is None:
        raise NotOurBoardError(
            f"{wrote}, and within {BOOT_S:.0f} s the board said {heard}; firmware of this launchrig says BOOT: press reset and try "
            f"launchrig doctor, or write the right firmware with: {flash_command(port)}"
        )
    boot = heard.ours
    if boot is None:
        raise ProtocolMismatchError(f"{wrote}; the board runs {heard}; write the right firmware with: {flash_command(port)}")
    if boot.build_id != image.build_id:
        raise FlashError(
            f"{wrote}, yet the board says that it runs build {boot.build_id:08x} and not {image.build_id:08x} (by {loader.name}); "
            f"again: {flash_command(port)}"
        )
    return boot
