# SPDX-License-Identifier: Apache-2.0
"""avrdude: the one place that knows its command line and its words.

Its exit code alone is not trusted: what it says to have written and verified is counted.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from rig.errors import RigError

PART = "m328p"
SIGNATURE = "1e950f"
ATTEMPTS = 2  # to get an answer; avrdude would make ten of five seconds each. It resets the board before every one
LOOK_S = 0.25
SILENT_S = 60.0  # the longest silence of a working avrdude is while it writes, 15 s at the old rate
END_S = 5.0  # that avrdude is given to end when asked
INSTALL = "apt-get install -y avrdude"

_ATTEMPT = re.compile(r"attempt (\d+) of")
_SIGNATURE = re.compile(
    r"[Dd]evice signature = (?:0x)?([0-9a-fA-F]{2}) ?([0-9a-fA-F]{2}) ?([0-9a-fA-F]{2})(?: \(probably (.+?)\))?"
)
_READY = re.compile(r"device initialized")
_WRITING = re.compile(r"writing .*\bflash\b")
_VERIFIED = re.compile(r"(\d+) bytes? of flash.* verified")
_MISMATCH = re.compile(r"(?:verification|verify) (?:error|mismatch)|content mismatch|first mismatch", re.IGNORECASE)
_TROUBLE = re.compile(r"avrdude.*?(?:error|warning|OS error)?: (.*)")
_OUT_OF_STEP = re.compile(r"not in sync: resp=0x(?!00)|initialization failed")  # 0x00 is silence
_HARMLESS = re.compile(r"TIOCM")  # a pseudo-terminal has no DTR line


class AvrdudeMissingError(RigError):
    """avrdude is not installed."""


def find() -> str:
    """The program's path. Raises `AvrdudeMissingError` with the command that installs it."""
    path = shutil.which("avrdude")
    if path is None:
        raise AvrdudeMissingError(f"avrdude is not installed, and it is what programs the board; run: {INSTALL}")
    return path


def command(program: str, port: str, baud: int, files: Sequence[Path]) -> list[str]:
    """The command that writes and verifies `files` one after the other, in one session and with no chip erase (-D)."""
    writes = [word for each in files for word in ("-U", f"flash:w:{each}:i")]
    return [program, "-q", "-p", PART, "-c", "arduino", "-b", str(baud), "-D", "-P", port, *writes]


@dataclass(slots=True)
class Outcome:
    """What one call of avrdude at `baud` bit/s came to.

    `signature` is the part's, six hex digits, None when nobody answered; `name` is what avrdude takes the part for; `begun` counts
    the files whose writing began, `verified` the bytes verified, file by file. `garbled`: something answered out of step.
    """

    baud: int
    code: int | None = None
    signature: str | None = None
    name: str = ""
    begun: int = 0
    verified: list[int] = field(default_factory=list)
    mismatch: bool = False
    attempts: int = 0
    garbled: bool = False
    ready: bool = False
    trouble: str = ""

    @property
    def answered(self) -> bool:
        """Whether a bootloader was there: only then avrdude asks for the signature."""
        return self.ready or self.signature is not None

    def take(self, line: str) -> None:
        """Learn from one line of avrdude's."""
        if found := _ATTEMPT.search(line):
            self.attempts = int(found[1])
        self.garbled = self.garbled or _OUT_OF_STEP.search(line) is not None
        self.ready = self.ready or _READY.search(line) is not None
        if found := _SIGNATURE.search(line):
            self.signature, self.name = "".join(found.group(1, 2, 3)).lower(), found[4] or ""
        if found := _VERIFIED.search(line):
            self.verified.append(int(found[1]))
        self.begun += bool(_WRITING.search(line))
        self.mismatch = self.mismatch or bool(_MISMATCH.search(line))
        if ("error" in line or "warning" in line) and not _HARMLESS.search(line) and (found := _TROUBLE.match(line)):
            self.trouble = found[1].strip()


def run(words: Sequence[str], outcome: Outcome, log: TextIO) -> None:
    """Run avrdude, fill `outcome` and `log` as it speaks, so that they are true even if this is interrupted.

    It runs in a session of its own: a signal reaches this process, which ends avrdude before it passes the signal on. So it does
    when the port vanishes, which avrdude may not notice for ever.
    """
    port = Path(words[words.index("-P") + 1])
    began_with_port = port.exists()  # COM3 is no file
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stderr
            for line in _lines(process.stderr.fileno(), lambda: began_with_port and not port.exists()):
                outcome.take(line)
                with suppress(OSError):  # a full disk must not leave a board half written
                    log.write(line + "\n")
                    log.flush()
                if outcome.attempts >= ATTEMPTS and not outcome.answered:
                    break
            else:
                process.wait()
        except TimeoutError as error:
            outcome.trouble = str(error)
        finally:
            outcome.code = end(process)


def _lines(descriptor: int, vanished: Callable[[], bool]) -> Iterator[str]:
    """Lines as they come, to the end. Raises `TimeoutError` when the port has vanished, or nothing comes for very long."""
    rest, silent_since = b"", time.monotonic()
    while True:
        if select.select([descriptor], [], [], LOOK_S)[0]:
            data = os.read(descriptor, 4096)
            *whole, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace").rstrip() for line in whole)
            if not data:
                return
            silent_since = time.monotonic()
        elif vanished():
            raise TimeoutError("the port vanished")
        elif time.monotonic() > silent_since + SILENT_S:
            raise TimeoutError(f"no word for {SILENT_S:.0f} s")


def end(process: subprocess.Popen[bytes]) -> int:
    """End `process` if it has not ended; its exit code, negative for a signal."""
    process.terminate()
    try:
        return process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
