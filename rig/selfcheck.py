# SPDX-License-Identifier: Apache-2.0
"""What a board can be found out to be and to see, with nothing energised: for `launchrig doctor`.

Measures and judges nothing: what a figure means is told where it is shown.
"""

from __future__ import annotations

import io
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rig import avrdude
from rig.board import IDLE_RENEW_S, TRIAL_RENEW_S, Board
from rig.discover import DISCOVERY_S, LOOK_S, listen
from rig.errors import ControllerResetError, LinkLostError, ResetLoopError, RigError, RigFaultError, StopAskedError
from rig.flash import LOADERS
from rig.links.base import Link
from rig.rig import Rig
from rig.verdict import current_uA, pack_uV
from rig.wire import codec
from rig.wire.frame import Frame, encode
from rig.wire.messages import (
    BAUD,
    Channel,
    Echo,
    Echoed,
    Edges,
    Message,
    Power,
    Press,
    Reason,
    Reply,
    Reset,
    Samples,
    TrialEnd,
    Wiring,
)

BITS_PER_BYTE = 10  # 8N1
TRIAL = 0x7FFFFFFF  # number of a trial that samples and drives nothing; no run counts so far
TRIAL_S = 10.0
AT_ONCE = 2  # echoes that are asked for and not yet answered: traffic both ways, within the board's rings
PROGRESS_S = 1.0  # a link that brings nothing for this long has failed a test


@dataclass(slots=True)
class Heard:
    """What the board said beside its answers, since it was last cleared; `edges` are (channel, level)."""

    edges: list[tuple[str, int]] = field(default_factory=list)
    echoed: list[bytes] = field(default_factory=list)
    bins: list[int] = field(default_factory=list)
    end: TrialEnd | None = None

    def take(self, message: Message) -> None:
        """Keep what `message` tells."""
        match message:
            case Edges():
                self.edges += [(Channel(message.channel).name, word & 1) for word in message.edges]
            case Echoed():
                self.echoed.append(message.data)
            case Samples():
                self.bins.extend(message.bins)
            case TrialEnd():
                self.end = message
            case _:
                pass

    def clear(self) -> None:
        """Forget everything."""
        self.edges.clear()
        self.echoed.clear()
        self.bins.clear()
        self.end = None


@dataclass(frozen=True, slots=True)
class Pack:
    """The pack with nothing driven: mean voltage in volts, mean reading of the current sensor in amperes; both None when
    the board refused to sample, for `reason`."""

    pack_V: float | None
    offset_A: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Echoes:
    """Frames echoed: `sent` and `returned` count them, `wrong` those that came back other than they went.

    seconds: of the link's clock. losses: of the host, by name, those above zero.
    """

    sent: int
    returned: int
    wrong: int
    seconds: float
    losses: dict[str, int]


def baud_of(url: str) -> int:
    """The rate in bit/s that a rig's URL names, or the one that firmware is built for unless told otherwise."""
    said = re.search(r"[?&]baud=(\d+)", url)
    return int(said.group(1)) if said else BAUD


class Bench:
    """A board under examination. Construction only connects; nothing here energises anything."""

    def __init__(self, rig: Rig, stop_asked: Callable[[], bool]) -> None:
        """Connect. Raises a `RigError` (`ResetLoopError` for a board that resets for ever), or `StopAskedError`."""
        self.rig = rig
        self.link: Link = rig.link
        self.baud = baud_of(rig.url)
        self.heard = Heard()
        self._stop_asked = stop_asked
        try:
            self.board = self.connect()
        except (ControllerResetError, LinkLostError) as error:
            raise self.restarting(error) from error

    def connect(self) -> Board:
        """Listen for BOOT and open a conversation on the link as it stands."""
        self.board = Board(
            self.link, self.heard.take, nonce=self.rig.nonce, new_uuid=self.rig.new_uuid, stop_asked=self._stop_asked
        )
        return self.board

    def restarting(self, error: RigError) -> RigError:
        """`error`, or a `ResetLoopError` when the board, left alone for a while, begins anew again and again."""
        try:
            listen(self.link, self._stop_asked, linger_s=DISCOVERY_S)
        except ResetLoopError as loop:
            return loop
        except RigError:
            pass
        return error

    # ------------------------------------------------------------------ time

    def serve(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Serve the link until `until` holds, at most for `seconds` of its clock."""
        clock = self.link.clock
        deadline = clock.now() + seconds
        while clock.now() < deadline and not until():
            if self._stop_asked():
                raise StopAskedError("stopped by the operator")
            self.board.serve(min(deadline, clock.now() + LOOK_S))

    def listen_for_edges(self, seconds: float) -> dict[str, int]:
        """Edges by channel within `seconds`, the levels that a new conversation begins with left out."""
        self.serve(0.1)
        self.heard.clear()
        self.serve(seconds)
        return dict(Counter(channel for channel, _ in self.heard.edges))

    # ------------------------------------------------------------------ measurements

    def round_trip_us(self, count: int) -> int:
        """Median round trip of an empty command, in microseconds of the link's clock."""
        times = []
        for _ in range(count):
            began = self.link.clock.now()
            self.board.demand(Echo(b""))
            times.append(self.link.clock.now() - began)
        return round(statistics.median(times) * 1e6)

    def pack(self) -> Pack:
        """Sample the pack in a trial that drives nothing, on a board set up for a roller launcher: no other has such a trial.

        It needs wiring `direct`; one that is set otherwise is set back, at two writes of two bytes of EEPROM.
        """
        board = self.board
        before = board.settings()["wiring"]
        if before != Wiring.direct:
            board.set("wiring", Wiring.direct)
        try:
            return self._sample()
        finally:
            if before != Wiring.direct:
                board.set("wiring", before)

    def _sample(self) -> Pack:
        heard = self.heard
        end = self.trial(Press(TRIAL, 0, 0, Wiring.direct, 0, 0, 0, 255))
        if not heard.bins:
            return Pack(None, None, Reason(end.reason).name)
        return Pack(statistics.fmean(map(pack_uV, heard.bins)) / 1e6, statistics.fmean(map(current_uA, heard.bins)) / 1e6, "none")

    def trial(self, command: Press | Reset) -> TrialEnd:
        """Have `command` made and watch it to its end; its samples are in `heard.bins`. Raises a `RigError`."""
        board, heard = self.board, self.heard
        heard.clear()
        board.session.renew_s = TRIAL_RENEW_S
        try:
            board.demand(command)
            self.serve(TRIAL_S, lambda: heard.end is not None)
        finally:
            board.session.renew_s = IDLE_RENEW_S
        if heard.end is None:
            raise RigFaultError(f"a trial did not end within {TRIAL_S:.0f} s; flash the board again")
        return heard.end

    def echo(self, frames: Sequence[bytes], at_once: int = AT_ONCE) -> Echoes:
        """Have `frames` echoed, `at_once` unanswered at a time; gives up when the link brings nothing any more."""
        session, heard, clock = self.board.session, self.heard, self.link.clock
        before, began = self.board.own_counters(), clock.now()
        heard.clear()
        sent = 0
        while len(heard.echoed) < len(frames):
            for frame in frames[sent : len(heard.echoed) + at_once]:
                session.send(Echo(frame))
                sent += 1
            had = len(heard.echoed)
            self.serve(PROGRESS_S, lambda had=had: len(heard.echoed) > had)  # type: ignore[misc]
            if len(heard.echoed) == had:
                break
        else:
            self.serve(PROGRESS_S, lambda: session.idle)
        wrong = sum(sent != got for sent, got in zip(frames, heard.echoed, strict=False))
        losses = {name: n - before[name] for name, n in self.board.own_counters().items() if n > before[name]}
        return Echoes(len(frames), len(heard.echoed), wrong, clock.now() - began, losses)

    # ------------------------------------------------------------------ the end

    def safe_state(self) -> bool:
        """Every output off, toy power included, read back from the pins. Returns whether that is confirmed; never raises."""
        try:
            self.board.command(Power(0))
            if not self.board.status().outputs:
                return True
        except (RigError, OSError):
            pass
        try:
            return not self.board.stop().outputs
        except (RigError, OSError):
            return False


@dataclass(frozen=True, slots=True)
class Bootloader:
    """A bootloader that answers: its rate in bit/s, what it is called, and the signature of its part, six hex digits."""

    baud: int
    name: str
    signature: str


def bootloader_at(port: str, stop_asked: Callable[[], bool]) -> Bootloader | None:
    """The bootloader that answers at the serial port `port`, if one does; this resets the board and writes nothing.

    Takes up to half a minute. Raises `AvrdudeMissingError`, and `StopAskedError` between two attempts.
    """
    program = avrdude.find()
    for loader in LOADERS:
        if stop_asked():
            raise StopAskedError("stopped by the operator")
        outcome = avrdude.Outcome(loader.baud)
        avrdude.run(avrdude.command(program, port, loader.baud, []), outcome, io.StringIO())
        if outcome.answered:
            return Bootloader(loader.baud, loader.name, outcome.signature or "")
    return None


def wire_us(baud: int = BAUD) -> int:
    """How long an empty command and its answers take on the wire alone, in microseconds."""
    answers = (Echo(b""), Echoed(b""), Reply(0, 0))
    size = sum(len(encode(Frame(each.TYPE, 0, 0, 0, codec.pack(each)))) for each in answers)
    return round(size * BITS_PER_BYTE * 1e6 / baud)
