# SPDX-License-Identifier: Apache-2.0
"""The built firmware on the simulated AVR with bare hands on its pins: no plant, a host that does what a test says."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rig.twin.avr import CYCLE_HZ, Avr, Output
from rig.wire import codec
from rig.wire.frame import Frame, encode
from rig.wire.messages import PROTOCOL_HASH, Boot, Channel, Edges, GetStatus, Message, Power, Press, Ready, Reply, Result, Status
from rig.wire.session import Session

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware_arduino"
ELF = FIRMWARE / "build" / "firmware_arduino.ino.elf"

BEAM_A, BEAM_B, SOUND, INTERLOCK, LID = 8, 2, 13, 17, 18
ROLLER, LAUNCH, POWER = 3, 16, 19
MS = CYCLE_HZ // 1000
US = CYCLE_HZ // 1_000_000

AMessage = TypeVar("AMessage", bound=Message)


class Board:
    """A board with clear beams, lid and interlock closed; virtual time passes only in `run`, `wait` and `ask`."""

    def __init__(self, *, eeprom: bytes = b"", audit: bool | None = None) -> None:
        self.avr = Avr(ELF, eeprom=eeprom, audit=audit)
        for pin, level in ((BEAM_A, 1), (BEAM_B, 1), (SOUND, 0), (INTERLOCK, 0), (LID, 0)):
            self.avr.edge(0, pin, level)
        self.session = Session()
        self.boot: Boot | None = None
        self.received: list[Message] = []
        self.outputs: list[Output] = []
        self.resets: list[tuple[int, int]] = []
        self.mute = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.avr.close()

    @property
    def now(self) -> float:
        """Virtual seconds since power-on."""
        return self.avr.cycle / CYCLE_HZ

    def step(self, until: int) -> None:
        """One turn of the host: speak, then run to `until` or to whatever comes before."""
        if not self.mute:
            self.avr.write(self.session.output(self.now))
            until = min(until, int(min(self.session.deadline(), 1e9) * CYCLE_HZ) + 1)
        step = self.avr.run(max(until, self.avr.cycle + 1))
        assert not step.crashed
        assert not step.unmodelled
        self.outputs += step.outputs
        self.resets += step.resets
        self.received += self.session.receive(step.tx, self.now)

    def run(self, ms: float) -> None:
        """Let `ms` of virtual time pass."""
        until = self.avr.cycle + round(ms * MS)
        while self.avr.cycle < until:
            self.step(until)

    def wait(self, kind: type[AMessage], ms: float = 3000) -> AMessage:
        """The next message of `kind`, taken off the list together with everything before it."""
        until = self.avr.cycle + round(ms * MS)
        while True:
            for at, message in enumerate(self.received):
                if isinstance(message, kind):
                    del self.received[: at + 1]
                    return message
            assert self.avr.cycle < until, f"no {kind.__name__} within {ms} ms"
            self.step(until)

    def connect(self, nonce: int = 7) -> Boot:
        """Listen for BOOT, say HELLO, wait for READY and the levels."""
        self.boot = self.wait(Boot)
        self.session.begin(self.boot, PROTOCOL_HASH, nonce)
        self.wait(Ready)
        for _ in range(5):
            self.wait(Edges)
        self.session.renew_s = 0.08
        return self.boot

    def ask(self, command: Message, ms: float = 3000) -> Result:
        """Send a command and wait for its reply; what came before the reply stays on the list."""
        seq = self.session.send(command)
        until = self.avr.cycle + round(ms * MS)
        while True:
            for message in self.received:
                if isinstance(message, Reply) and message.command == seq:
                    self.received.remove(message)
                    return Result(message.result)
            assert self.avr.cycle < until, f"no reply to {command}"
            self.step(until)

    def status(self) -> Status:
        """The board's state, as it tells it."""
        assert self.ask(GetStatus()) is Result.ok
        return self.wait(Status)

    def power_on(self) -> None:
        """Toy power on, and settled."""
        assert self.ask(Power(1)) is Result.ok
        self.run(600)

    def raw(self, command: Message, *, session: int, seq: int = 0, ack: int = 0) -> bytes:
        """A command's frame with a header of the test's own."""
        return encode(Frame(command.TYPE, session, seq, ack, codec.pack(command)))

    def is_on(self, pin: int) -> bool:
        """Whether the pin was last seen energised."""
        return next((output.value > 0 for output in reversed(self.outputs) if output.pin == pin), False)

    def switched_off(self, pin: int) -> int:
        """Cycle at which the pin last went off."""
        return next(output.cycle for output in reversed(self.outputs) if output.pin == pin and output.value == 0)


def press(trial: int = 1, not_before: int = 0, drive: int = 0, run_ms: int = 0, duty: int = 0) -> Press:
    """A press of burst 1 with 50 cards in the hopper."""
    return Press(trial, 1, 0, drive, not_before, 50, run_ms, duty)


def edges_of(board: Board, channel: Channel) -> list[tuple[int, int]]:
    """Every edge received on a channel, as (tick, level)."""
    return [
        (message.tick - ((message.tick - (word >> 1)) & 0x7FFFFFFF), word & 1)
        for message in board.received
        if isinstance(message, Edges) and message.channel == channel
        for word in message.edges
    ]
