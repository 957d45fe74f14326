# SPDX-License-Identifier: Apache-2.0
"""A serial port carried over TCP, as ser2net does it: bare bytes (`socket://`), or RFC 2217 by pyserial's own server side."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import serial
from serial import rfc2217


class PtySerial(serial.Serial):
    """A pseudo-terminal, which has no modem lines to set or read."""

    cts = dsr = ri = cd = False

    def _update_rts_state(self) -> None:
        pass

    def _update_dtr_state(self) -> None:
        pass


class _Peer:
    """One connection: opens the port, carries bytes both ways until either side ends."""

    def __init__(self, path: str, peer: socket.socket, is_2217: bool) -> None:
        self._peer = peer
        with PtySerial(path, baudrate=115200, timeout=0) as port:
            manager = rfc2217.PortManager(port, self) if is_2217 else None
            out = (lambda data: b"".join(manager.escape(data))) if manager else bytes
            into = (lambda data: b"".join(manager.filter(data))) if manager else bytes
            while True:
                ready, _, _ = select.select([peer, port], [], [])
                if port in ready:
                    self.write(out(os.read(port.fileno(), 4096)))
                if peer in ready:
                    data = peer.recv(4096)
                    if not data:
                        return
                    port.write(into(data))

    def write(self, data: bytes) -> None:
        """Also what the manager answers by itself."""
        self._peer.sendall(data)


@contextmanager
def bridged(path: str, scheme: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """A server in front of the port `path` that serves one after another.

    Yields its URL, with `scheme` socket or rfc2217, and a function that ends the connection.
    """
    server = socket.create_server(("127.0.0.1", 0))
    peers: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer, _ = server.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                peers.append(peer)
                with suppress(OSError), peer:
                    _Peer(path, peer, scheme == "rfc2217")

    def hang_up() -> None:
        for peer in peers:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.getsockname()[1]}", hang_up
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        while thread.is_alive():
            hang_up()
            thread.join(0.05)
        server.close()
