# SPDX-License-Identifier: Apache-2.0
"""A real port through pyserial: `/dev/ttyACM0`, `COM3`, `rfc2217://host:port`, `socket://host:port`.

The only module that imports pyserial.
"""

from __future__ import annotations

import errno
from typing import Any

import serial

from rig.clock import Clock, WallClock
from rig.errors import BadRigError, LinkLostError, NotOurBoardError, PortBusyError, PortDeniedError
from rig.wire.messages import BAUD


class SerialLink:
    """A link over a serial port, opened for this process alone where the driver can do that."""

    def __init__(self, url: str, baud: int = BAUD) -> None:
        """Open `url` at `baud` (8N1). Raises a `RigError` that says what is wrong with the port."""
        self.clock: Clock = WallClock()
        self.url = url
        options: dict[str, Any] = {} if "://" in url else {"exclusive": True}
        try:
            self._port = serial.serial_for_url(url, baudrate=baud, timeout=0, write_timeout=2, **options)
        except ValueError as error:
            raise BadRigError(f"{url}: not a port that can be opened: {error}") from error
        except serial.SerialException as error:
            raise _named(url, error) from error

    def write(self, data: bytes) -> None:
        """Send all of `data`. Raises `LinkLostError` when the port is gone."""
        try:
            self._port.write(data)
        except (serial.SerialException, OSError) as error:
            raise LinkLostError(f"{self.url}: the port vanished while writing ({error})") from error

    def read(self, deadline: float) -> bytes:
        """Bytes that have arrived, waiting for the first until `deadline`; b"" when none came."""
        try:
            self._port.timeout = max(0.0, deadline - self.clock.now())
            first: bytes = self._port.read(1)
            return first + self._port.read(self._port.in_waiting) if first else b""
        except (serial.SerialException, OSError, TypeError) as error:
            # pyserial raises TypeError when another thread or a hang-up closed the descriptor under it
            raise LinkLostError(f"{self.url}: the port vanished while reading ({error})") from error

    def close(self) -> None:
        """Close the port."""
        self._port.close()


def _named(url: str, error: serial.SerialException) -> Exception:
    """The typed error behind pyserial's one, with the remedy in its text."""
    text = str(error)
    code = getattr(error, "errno", None)
    if code in (errno.EACCES, errno.EPERM) or "Permission denied" in text:
        return PortDeniedError(
            f"{url}: permission denied; add yourself to the group that owns it: sudo usermod -aG dialout $USER, then log in again"
        )
    if code in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EBUSY) or "exclusively lock" in text:
        return PortBusyError(f"{url}: another program has the port open; close it (fuser {url} names it)")
    if code == errno.ENOTTY or "(25," in text:
        return BadRigError(f"{url}: is no serial port; name one such as /dev/ttyACM0")
    if code == errno.ENOENT or "No such file" in text:
        return NotOurBoardError(f"{url}: no such port; plug the board in, or name another with --rig")
    return NotOurBoardError(f"{url}: cannot be opened: {text}")
