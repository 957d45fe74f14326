# SPDX-License-Identifier: Apache-2.0
"""A real port through pyserial: `/dev/ttyACM0`, `COM3`, `rfc2217://host:port`, `socket://host:port`.

The only module that imports pyserial.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import serial
from serial.tools import list_ports

from rig.clock import Clock, WallClock
from rig.errors import BadRigError, LinkLostError
from rig.links.lockfile import PortLock, who_has_open
from rig.links.lockfile import holder_of as locked_by
from rig.links.trouble import busy, is_no_port, no_port, why_not_opened
from rig.wire.messages import BAUD

CHUNK = 4096  # bytes taken at once
LOOK_S = 0.5  # longest wait in one piece
POLL_S = 0.001  # how often a port is looked at that the system cannot wait for
WRITE_S = 2.0  # a port that takes nothing for so long is lost


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port of this machine. `vid` and `pid` are the USB numbers; None where it is no USB port or does not say."""

    device: str
    description: str
    vid: int | None
    pid: int | None
    serial_number: str | None


def ports() -> list[Port]:
    """The serial ports of this machine, by name."""
    found = [Port(each.device, each.description, each.vid, each.pid, each.serial_number) for each in list_ports.comports()]
    return sorted(found, key=lambda port: port.device)


class SerialLink:
    """A link over a serial port, held for this process alone.

    url: what the user calls the port. path: where it was opened last. low_latency: True when the driver took the wish to pass
    bytes on at once, False when it refused it, None where there is no such wish (a network, another system).
    """

    def __init__(self, url: str, baud: int = BAUD, *, find: Callable[[], str] | None = None) -> None:
        """Open `url` at `baud` (8N1). Raises a `RigError` that says what is wrong with the port.

        `find` is asked for the path at every opening, for a board that may come back under another name; what it raises
        passes through.
        """
        self.clock: Clock = WallClock()
        self.url = url
        self.path = ""
        self.low_latency: bool | None = None
        self._baud = baud
        self._find = find or (lambda: url)
        self._what = ""
        self._lock = PortLock()
        self._port: Any = None  # pyserial's classes share no base that is typed
        self._open()

    @property
    def name(self) -> str:
        """The port as messages name it."""
        return self.url if self.path in ("", self.url) else f"{self.url} ({self.path})"

    def write(self, data: bytes) -> None:
        """Send all of `data`. Raises `LinkLostError` when the port is gone."""
        port = self._taken()
        try:
            port.write(data)
        except (serial.SerialException, OSError, TypeError) as error:
            raise self._lost("writing", error) from error

    def read(self, deadline: float) -> bytes:
        """Bytes that have arrived, waiting for the first until `deadline`; b"" when none came.

        Raises `LinkLostError` when the port is gone.
        """
        port = self._taken()
        try:
            while True:
                data: bytes = port.read(CHUNK)
                if data:
                    while len(data) < CHUNK and port.in_waiting:  # some give byte after byte
                        data += port.read(CHUNK)
                    return data
                left = deadline - self.clock.now()
                if left <= 0:
                    return b""
                self._wait(port, min(left, LOOK_S))
        except (serial.SerialException, OSError, TypeError) as error:
            # pyserial raises TypeError when another thread or a hang-up closed the descriptor under it
            raise self._lost("reading", error) from error

    def reopen(self) -> None:
        """Let go of the port and take it again, at the rate that it was made with: a board resets when its port is opened.

        Raises a `RigError` while it cannot be opened; to try again does no harm.
        """
        self._let_go()
        self._open()

    def set_baud(self, baud: int) -> None:
        """Change this side of the line to `baud` bit/s; what has arrived and is not read is lost.

        Raises `LinkLostError` when the port is gone, `BadRigError` when it cannot run at that rate.
        """
        port = self._taken()
        try:
            port.baudrate = baud
            port.reset_input_buffer()
        except (ValueError, NotImplementedError) as error:
            raise BadRigError(f"{self.name}: cannot run at {baud} bit/s ({error})") from error
        except (serial.SerialException, OSError, TypeError) as error:
            raise self._lost("its rate was set", error) from error

    def held_for(self, what: str) -> None:
        """Say in the lock file what the port is held for, such as `run 12`."""
        self._what = what
        self._lock.say(what)

    def close(self) -> None:
        """Close the port; closing twice does no harm."""
        self._let_go()

    # ------------------------------------------------------------------ taking hold and letting go

    def _open(self) -> None:
        self.path = path = self._find()
        local = "://" not in path and os.name == "posix"
        if local:
            self._refuse_held(path)
        # rfc2217:// knows no time-out for writing and refuses to be given one
        options: dict[str, Any] = {} if "://" in path else {"write_timeout": WRITE_S}
        if local:
            options["exclusive"] = True
        try:
            port = serial.serial_for_url(path, baudrate=self._baud, timeout=0, **options)
        except ValueError as error:
            raise BadRigError(f"{self.name}: not a port that can be opened: {error}") from error
        except (serial.SerialException, OSError) as error:
            raise why_not_opened(self.name, path, error) from error
        self._port = port
        if local:
            before = self._lock.take(path, self._what)
            if before:
                self._let_go()
                raise busy(self.name, path, before)
            _shut_out_others(port, path, True)
        self.low_latency = _hurry(port)

    def _refuse_held(self, path: str) -> None:
        """Look before touching: to open a port resets the board, which another program may be using.

        What is no port comes first: half of the machine has /dev/null open, and nobody is to be ended for that.
        """
        if is_no_port(path):
            raise no_port(self.name)
        holder = locked_by(path)
        if holder and holder.pid == os.getpid():
            return  # whether by this link or by another, the descriptor's lock tells
        holder = holder or who_has_open(path)
        if holder:
            raise busy(self.name, path, holder)

    def _let_go(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            with suppress(serial.SerialException, OSError, TypeError):
                _shut_out_others(port, self.path, False)
                port.close()
        self._lock.release()

    def _taken(self) -> Any:
        if self._port is None:
            raise LinkLostError(f"{self.name}: the port is closed; open it again")
        return self._port

    def _lost(self, doing: str, error: Exception) -> LinkLostError:
        """The far side is gone. The descriptor is closed at once: while one is left, the kernel keeps the port's name taken."""
        self._let_go()
        if isinstance(error, serial.SerialTimeoutException):
            said = f"the port takes nothing for {WRITE_S:.0f} s"
        else:
            said = f"the port vanished while {doing}"
        return LinkLostError(f"{self.name}: {said}; plug the board in again and look at its cable")

    @staticmethod
    def _wait(port: Any, seconds: float) -> None:
        try:
            descriptor = port.fileno()
        except (AttributeError, OSError):  # a COM port, or rfc2217://, which reads in a thread of its own
            WallClock().sleep(min(seconds, POLL_S))
        else:
            select.select([descriptor], [], [], seconds)


def _shut_out_others(port: Any, path: str, wanted: bool) -> None:
    """Refuse programs that look at no lock, or no longer: the kernel remembers it while anybody has the port open.

    Not on a pseudo-terminal, which its other end keeps open, so that it would refuse for ever once we are killed.
    """
    if "://" not in path and os.name == "posix" and not path.startswith("/dev/pts/"):
        import fcntl
        import termios

        with suppress(OSError):
            fcntl.ioctl(port.fileno(), termios.TIOCEXCL if wanted else termios.TIOCNXCL)


def _hurry(port: Any) -> bool | None:
    """Ask the driver to pass bytes on at once; what came of it, as in `SerialLink.low_latency`."""
    try:
        port.set_low_latency_mode(True)
    except (AttributeError, NotImplementedError):
        return None
    except (ValueError, OSError):
        return False
    return True
