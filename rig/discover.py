# SPDX-License-Identifier: Apache-2.0
"""Find boards: open a port, listen for BOOT, write nothing. A board is known by its UUID and not by the name of its port.

What is not a board of ours is told apart, since each has another remedy: silence, noise, another protocol, a board that
resets again and again, a port that somebody holds or that the user may not open.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rig.errors import BadRigError, NotOurBoardError, ProtocolMismatchError, ResetLoopError, RigError, StopAskedError
from rig.links.base import Link
from rig.links.faults import PREFIX
from rig.links.faulty import FaultyLink
from rig.links.serial import SerialLink
from rig.links.serial import ports as ports_of_this_machine
from rig.wire.messages import PROTOCOL_HASH, Boot, ResetFlag
from rig.wire.session import Session

DISCOVERY_S = 3.0  # how long a port is listened to
DAMAGED_S = 6.0  # more, when damaged frames came: on a bad line one BOOT in three survives
LOOK_S = 0.25  # how often a wait looks whether the end was asked for
LOOP_S = 10.0  # a board that resets for ever does so several times in this; a bootloader takes up to 2 s of each
SAMPLE = 16  # bytes of noise that are shown
UUID_DIGITS = 32

RESET_REMEDIES = {
    ResetFlag.watchdog: "burn the current Optiboot, since an old bootloader loops after a watchdog reset",
    ResetFlag.brown_out: "feed it from a stronger supply",
    ResetFlag.external: "end whatever opens the port again and again, and look at the reset line",
    ResetFlag.power_on: "look at the USB cable and the supply, which lose contact",
}
"""What to do about a board that resets again and again, by the cause that it tells; most bootloaders hide the cause."""


def flash_with(port: str = "") -> str:
    """What puts the right firmware on the board at `port`; empty is the twin, which nobody can flash there."""
    if not port:
        return "leave elf= away, or build the firmware: ./dev firmware"
    if "://" in port:
        return "flash it on the machine where it is plugged in, with: launchrig flash --port PORT"
    return f"flash it with: launchrig flash --port {port}"


def ours(boot: Boot, port: str = "") -> Boot:
    """`boot`, when it speaks this host's protocol. Raises `ProtocolMismatchError` that names both and the command that flashes."""
    if boot.protocol_hash == PROTOCOL_HASH:
        return boot
    version = f"{boot.version_major}.{boot.version_minor}.{boot.version_patch}"
    raise ProtocolMismatchError(
        f"{_at(port)}the board speaks protocol {boot.protocol_hash:08x} (firmware {version}), this host {PROTOCOL_HASH:08x}; "
        + flash_with(port)
    )


class BootWatch:
    """Tells a board that resets again and again from one that was reset once; to be fed with every BOOT."""

    def __init__(self, most: int = 1, within_s: float = LOOP_S, port: str = "") -> None:
        """More than `most` resets within `within_s` seconds are a loop; one comes of opening the port."""
        self._most = most
        self._within_s = within_s
        self._port = port
        self._count: int | None = None
        self._resets: deque[float] = deque()

    def note(self, boot: Boot, now: float) -> None:
        """Take a BOOT that was heard at `now`, in seconds. Raises `ResetLoopError` with the remedy when it was one too many."""
        before, self._count = self._count, boot.boot_count
        if before in (None, boot.boot_count):
            return
        self._resets.append(now)
        while self._resets[0] < now - self._within_s:
            self._resets.popleft()
        if len(self._resets) > self._most:
            raise ResetLoopError(
                f"{_at(self._port)}the board resets again and again: {len(self._resets)} times within "
                f"{now - self._resets[0]:.1f} s, boot {boot.boot_count} now, {_cause(boot)}"
            )

    def reopened(self) -> None:
        """The port was opened again, which resets the board once more and is no fault of it."""
        self._count = None

    def settled(self) -> None:
        """The board has done its work meanwhile: what was counted is forgotten."""
        self._resets.clear()


def _cause(boot: Boot) -> str:
    told = [flag for flag in RESET_REMEDIES if boot.reset_cause & flag]
    if not told:
        return f"cause not told; {', or '.join(RESET_REMEDIES.values())}"
    names = " and ".join(str(flag.name).replace("_", "-") for flag in told)
    return f"cause {names}; {', and '.join(RESET_REMEDIES[flag] for flag in told)}"


def listen(
    link: Link,
    stop_asked: Callable[[], bool],
    seconds: float = DISCOVERY_S,
    *,
    session: Session | None = None,
    watch: BootWatch | None = None,
    linger_s: float = 0.0,
    port: str | None = None,
) -> Boot:
    """Listen, and only listen, for up to `seconds` of the link's clock until the board says who it is;
    on a line that brings damaged frames longer.

    `session` takes what is heard, so that nothing is lost to a conversation that follows. With `linger_s` the board is
    listened to that much longer, to see whether it resets again; `watch` is told every BOOT. `port` is named in messages
    (default: the link's path). Raises `NotOurBoardError`, `ProtocolMismatchError`, `ResetLoopError`, `StopAskedError`,
    and what the link raises.
    """
    clock, session = link.clock, session or Session()
    port = link.path if port is None else port
    watch = watch or BootWatch(port=port)
    malformed, bad = session.losses.malformed, session.losses.bad
    deadline = clock.now() + seconds
    heard, sample, damaged = 0, b"", False
    boot: Boot | None = None
    while (now := clock.now()) < deadline:
        if stop_asked():
            raise StopAskedError("stopped by the operator")
        data = link.read(min(deadline, now + LOOK_S))
        heard += len(data)
        sample = (sample + data)[:SAMPLE]
        for message in session.receive(data, clock.now()):
            if isinstance(message, Boot):
                watch.note(message, clock.now())
                if boot is None or boot.boot_count != message.boot_count:
                    deadline = clock.now() + linger_s  # one that was reset meanwhile is worth another look
                boot = message  # the newest: what was said before a reset may still have lain in the bridge
        if boot is None and clock.now() >= deadline and not damaged and session.losses.bad > bad:
            damaged = True
            deadline += DAMAGED_S
    if boot:
        return ours(boot, port)
    if session.losses.malformed > malformed:
        raise ProtocolMismatchError(
            f"{_at(port)}the board speaks another protocol than this host's {PROTOCOL_HASH:08x}: whole frames came, "
            f"and this host knows none of them; {flash_with(port)}"
        )
    listened = f"listened {seconds:.0f} s and"
    if isinstance(link, FaultyLink):
        came = f"{heard} bytes came, none of them a BOOT" if heard else "nothing came"
        raise NotOurBoardError(
            f"{_at(port)}no board is heard: {listened} {came}; the faults that were asked for may be why: try without {PREFIX}"
        )
    lead = f"{_at(port)}not a launchrig board: {listened}"
    if not heard:
        raise NotOurBoardError(f"{lead} it said nothing; {flash_with(port)}")
    raise NotOurBoardError(
        f"{lead} {heard} bytes came, none of them a BOOT ({repr(sample)[1:]}{'...' if heard > SAMPLE else ''}): "
        f"the wrong rate or another device; if it is the board, {flash_with(port)}"
    )


def _at(port: str) -> str:
    return f"{port}: " if port else ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found at a port: the board's BOOT, or why there is none that can be used."""

    port: str
    boot: Boot | None
    error: RigError | None

    @property
    def uuid(self) -> str:
        """The board's UUID in 32 hexadecimal digits; empty where no board of ours is."""
        return self.boot.uuid.hex() if self.boot else ""


def find_boards(
    ports: Sequence[str] | None = None,
    *,
    seconds: float = DISCOVERY_S,
    linger_s: float = 0.0,
    stop_asked: Callable[[], bool] = lambda: False,
) -> list[Found]:
    """Listen at all `ports` at the same time (default: the serial ports of this machine), in their order.

    Takes `seconds` at most, and `linger_s` more where a board speaks. To open a port resets a board that hangs on it, and may
    reset a stranger; nothing is written. Raises `StopAskedError`.
    """
    names = [port.device for port in ports_of_this_machine()] if ports is None else list(ports)
    if not names:
        return []
    over = threading.Event()  # whatever ends this also ends the listeners, which nobody else could interrupt

    def look(port: str) -> Found:
        try:
            link = SerialLink(port)
            try:
                link.held_for("looking for boards")
                heard = listen(link, lambda: over.is_set() or stop_asked(), seconds, linger_s=linger_s)
                return Found(port, heard, None)
            finally:
                link.close()
        except RigError as error:
            return Found(port, None, error)

    with ThreadPoolExecutor(max_workers=len(names)) as listeners:
        try:
            return list(listeners.map(look, names))
        finally:
            over.set()


class BoardFinder:
    """The port of one board, looked for whenever it is asked for: after a replug it may have another name.

    A port where something else was found is not opened again before it was gone, since that would reset whatever is there.
    """

    def __init__(self, prefix: str, *, stop_asked: Callable[[], bool] = lambda: False) -> None:
        """`prefix`: how the board's UUID begins, in hexadecimal digits, dashes allowed; empty means the only board there is.

        Raises `BadRigError` for anything else.
        """
        self.prefix = prefix.replace("-", "").lower()
        if len(self.prefix) > UUID_DIGITS or set(self.prefix) - set("0123456789abcdef"):
            raise BadRigError(f"board:{prefix} names no board; write the first digits of its UUID, such as board:3f2a")
        self._stop_asked = stop_asked
        self._strangers: dict[str, Found] = {}

    def __call__(self, ports: Sequence[str] | None = None) -> str:
        """The port among `ports` (default: this machine's).

        Raises `NotOurBoardError` when it is at none of them, which says what each is, `BadRigError` when several fit.
        """
        names = [port.device for port in ports_of_this_machine()] if ports is None else list(ports)
        known = {name: self._strangers[name] for name in names if name in self._strangers}
        unknown = [name for name in names if name not in known]
        found = known | {each.port: each for each in find_boards(unknown, stop_asked=self._stop_asked)}
        fitting = [each for each in found.values() if each.boot and each.uuid.startswith(self.prefix)]
        self._strangers = {
            name: each
            for name, each in found.items()
            if each not in fitting and (each.boot or isinstance(each.error, (NotOurBoardError, ProtocolMismatchError)))
        }
        if len(fitting) == 1:
            return fitting[0].port
        if fitting:
            raise BadRigError(f"{len(fitting)} boards fit: {self._list(fitting)}; write more of the UUID after board:")
        which = f"whose UUID begins with {self.prefix}" if self.prefix else "of ours"
        if not found:
            raise NotOurBoardError(f"no board {which}: this machine has no serial port; plug the board in")
        where = "1 port" if len(found) == 1 else f"{len(found)} ports"
        raise NotOurBoardError(f"no board {which} at {where}: {self._list(found.values())}; see: launchrig doctor")

    @staticmethod
    def _list(found: Iterable[Found]) -> str:
        return ", ".join(f"{each.port} ({each.uuid or _briefly(each)})" for each in found)


def _briefly(found: Found) -> str:
    """Why a port is not it, without the port's name in front and the remedy behind."""
    return str(found.error).removeprefix(f"{found.port}: ").partition(";")[0]


def port_of(prefix: str, ports: Sequence[str] | None = None, *, stop_asked: Callable[[], bool] = lambda: False) -> str:
    """The port, among `ports` or this machine's, of the one board whose UUID begins with `prefix`; raises as `BoardFinder` does."""
    return BoardFinder(prefix, stop_asked=stop_asked)(ports)
