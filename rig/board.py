# SPDX-License-Identifier: Apache-2.0
"""One board: a link and a session, and what any firmware of ours can be asked regardless of the launcher.

There is no thread: whoever waits for the board serves the link meanwhile, so a host that hangs falls silent and
the firmware's lease does its work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from rig.discover import LOOK_S, BootWatch, listen, ours
from rig.errors import (
    ControllerResetError,
    LinkLostError,
    NotOurBoardError,
    PortBusyError,
    PortDeniedError,
    RigError,
    RigFaultError,
    StopAskedError,
)
from rig.links.base import Link
from rig.ticks import TickLine
from rig.wire.messages import (
    PROTOCOL_HASH,
    RENEW_MS,
    SETTINGS,
    STOP_SEND,
    TICK_HZ,
    Actuated,
    Boot,
    BootFlag,
    Cause,
    ClearFault,
    Counters,
    Edges,
    Fault,
    Get,
    GetCounters,
    GetStatus,
    Identify,
    Message,
    Powered,
    Ready,
    Reply,
    Result,
    Set,
    Status,
    TrialEnd,
    Value,
)
from rig.wire.session import Session

MOST_RESETS = 5  # within seconds and with no trial between them, before a board is said to reset for ever
RETRY_S = 0.5  # from one attempt to take a lost board again to the next
COMMAND_S = 2.0
IDLE_RENEW_S = 0.9  # below boot_after_ms, so that a served board never falls back to BOOT
TRIAL_RENEW_S = RENEW_MS / 1000


Ticked = Ready | Status | Actuated | Edges | TrialEnd | Powered | Fault
"""Messages that carry a tick."""


@dataclass(slots=True)
class Stretch:
    """Ticks from `first_tick` on, of one conversation; `epoch_s` is tick 0 on the link's clock, never too early."""

    first_tick: int
    epoch_s: float


class Board:
    """A board that has said BOOT and answered HELLO.

    `on_event` gets every event that is not the answer to a command, in order.
    """

    def __init__(
        self,
        link: Link,
        on_event: Callable[[Message], None],
        *,
        nonce: Callable[[], int],
        new_uuid: Callable[[], bytes],
        stop_asked: Callable[[], bool],
        on_heard: Callable[[Board], None] = lambda board: None,
    ) -> None:
        """Listen for BOOT, open the conversation, name a board that has no name yet. Nothing is energised.

        `on_heard` gets this board as soon as it has said BOOT, so that it can be stopped whatever fails after that.
        Raises a `RigError`, or `StopAskedError` when the end is asked for meanwhile.
        """
        self.link = link
        self.session = Session()
        self.boots = BootWatch(most=MOST_RESETS, port=link.path)
        self._on_event = on_event
        self._nonce = nonce
        self.stop_asked = stop_asked
        self._answers: list[Message] = []
        self.stretches: list[Stretch] = []
        self._hello_s = 0.0
        self._line = TickLine()
        self._life: int | None = None  # boot count that the line of ticks belongs to
        self.boot: Boot = self._discover()
        on_heard(self)
        self._open()
        if self.boot.flags & BootFlag.uuid_blank:
            uuid = new_uuid()
            self.demand(Identify(uuid))
            self.boot = replace(self.boot, uuid=uuid)

    # ------------------------------------------------------------------ conversation

    def _discover(self) -> Boot:
        """Listen, and only listen, until the board says who it is."""
        return listen(self.link, self.stop_asked, session=self.session, watch=self.boots)

    def _open(self) -> None:
        clock = self.link.clock
        self._hello_s = clock.now()
        for _ in range(2):  # a nonce that happens to be the one before is taken for a repetition and not answered
            self.session.begin(self.boot, PROTOCOL_HASH, self._nonce())
            deadline = clock.now() + COMMAND_S / 2
            while not self.session.open and clock.now() < deadline:
                self.serve(deadline)
            if self.session.open:
                self.session.renew_s = IDLE_RENEW_S
                return
        raise LinkLostError(
            f"the board says BOOT but does not answer HELLO within {COMMAND_S:.0f} s; check the line from the host to D0"
        )

    def reconnect(self, cause: RigError, patience_s: float) -> None:
        """Take a board again that was lost or reset, as `cause` says: its port, BOOT, HELLO. Nothing is energised.

        Tries until `patience_s` of the link's clock are over. Raises a `RigError` when the same board is not back by then, at
        once when it cannot come back (another protocol, a simulator that died), and `StopAskedError` when the end is
        asked for meanwhile. The ticks of `on_event` and of every answer go on where they stood (`rig.ticks`).
        """
        clock = self.link.clock
        deadline = clock.now() + patience_s
        uuid, error = self.boot.uuid, cause
        while True:
            try:
                if not isinstance(error, ControllerResetError):
                    self.link.reopen()
                    self.boots.reopened()
                boot = self._discover()
                if boot.uuid != uuid:
                    raise NotOurBoardError(f"board {boot.uuid.hex()} answers where {uuid.hex()} was; put that one back")
                self.boot = boot
                self._open()
                return
            except (LinkLostError, NotOurBoardError, PortBusyError, PortDeniedError, ControllerResetError) as again:
                error = again
            if clock.now() >= deadline:
                raise LinkLostError(f"{cause}; it did not come back within {patience_s:.0f} s: {error}") from error
            self._rest(RETRY_S)

    def _rest(self, seconds: float) -> None:
        clock = self.link.clock
        until = clock.now() + seconds
        while (left := until - clock.now()) > 0:
            if self.stop_asked():
                raise StopAskedError("stopped by the operator")
            clock.sleep(min(left, LOOK_S))

    def serve(self, deadline: float) -> None:
        """One turn: write what is due, wait for bytes until `deadline` (or until something is due), take what came."""
        link, session = self.link, self.session
        out = session.output(link.clock.now())
        if out:
            link.write(out)
        data = link.read(min(deadline, session.deadline()))
        if data:
            for message in session.receive(data, link.clock.now()):
                self._take(message)

    def _take(self, message: Message) -> None:
        if isinstance(message, Boot):
            self._check_boot(message)
            return
        if isinstance(message, Ready):
            if self._life not in (None, self.boot.boot_count):
                self._line.restart(message.tick, self.tick_at(self.link.clock.now()))
            self._life = self.boot.boot_count
        if isinstance(message, Ticked):
            message = self._on_line(message)
        if isinstance(message, (Reply, Value, Status, Counters)):
            self._answers.append(message)
            return
        if isinstance(message, Ready):
            self.stretches.append(Stretch(message.tick, self.link.clock.now() - message.tick / TICK_HZ))
        self._on_event(message)

    def _on_line(self, message: Ticked) -> Ticked:
        """`message` with the line's ticks in place of the board's, those of its edges included."""
        tick = self._line.of(message.tick)
        shift = tick - message.tick
        if not shift:
            return message
        if isinstance(message, Edges):
            return replace(message, tick=tick, edges=tuple((word + 2 * shift) & 0xFFFFFFFF for word in message.edges))
        return replace(message, tick=tick)

    def _check_boot(self, boot: Boot) -> None:
        """A BOOT in use is a reset when it is fresh or counts on; before READY the newest one is the board's word.

        Opening a port resets a board, and what it said before may still lie in the bridge.
        """
        self.boots.note(boot, self.link.clock.now())
        if not self.session.open:
            if boot.boot_count != self.boot.boot_count:
                self.boot = ours(boot, self.link.path)
                self.session.begin(self.boot, PROTOCOL_HASH, self._nonce())
        elif boot.boot_count != self.boot.boot_count or (boot.flags & BootFlag.fresh and not self._opened_just_now()):
            raise ControllerResetError(
                f"the board was reset in use (boot {self.boot.boot_count} to {boot.boot_count}, "
                f"cause bits {boot.reset_cause:#04x}); check its supply, and that nothing else opens the port"
            )

    def _opened_just_now(self) -> bool:
        """Whether a BOOT may still come that was said before HELLO was heard."""
        return self.link.clock.now() < self._hello_s + COMMAND_S

    @property
    def last_tick(self) -> int:
        """The latest tick that the board has told."""
        return self._line.last

    def raw_tick(self, tick: int) -> int:
        """`tick` as the board counts it, for a command that names a moment."""
        return self._line.raw(tick)

    def note_tick(self, tick: int) -> None:
        """Learn where MCU ticks lie on the link's clock: the smallest delay ever seen is the truest."""
        stretch = self.stretches[-1]
        stretch.epoch_s = min(stretch.epoch_s, self.link.clock.now() - tick / TICK_HZ)

    @property
    def epoch_s(self) -> float:
        """The link's clock at tick 0, in seconds, to within a frame's delay and never too early."""
        return self.stretches[-1].epoch_s

    def moment_of(self, tick: int) -> float:
        """The link's clock at MCU `tick`, to within a frame's delay; for scheduling, never for results."""
        return self.epoch_s + tick / TICK_HZ

    def tick_at(self, moment: float) -> int:
        """The MCU tick at `moment` of the link's clock, to within a frame's delay."""
        return max(0, round((moment - self.epoch_s) * TICK_HZ))

    # ------------------------------------------------------------------ commands

    def command(self, message: Message) -> tuple[Result, list[Message]]:
        """Send a reliable command and wait for its REPLY.

        Returns the result and the answers (VALUE, STATUS, COUNTERS) that came with it. Raises `LinkLostError` when
        none comes within 2 s of the link's clock.
        """
        self._answers.clear()
        seq = self.session.send(message)
        deadline = self.link.clock.now() + COMMAND_S
        while True:
            for answer in self._answers:
                if isinstance(answer, Reply) and answer.command == seq:
                    return Result(answer.result), [a for a in self._answers if not isinstance(a, Reply)]
            if self.link.clock.now() >= deadline:
                raise LinkLostError(f"no answer to {type(message).__name__} within {COMMAND_S:.0f} s; check the cable")
            self.serve(deadline)

    def demand(self, message: Message) -> list[Message]:
        """A command that must succeed; raises `RigFaultError` with the board's reason otherwise."""
        result, answers = self.command(message)
        if result is not Result.ok:
            raise RigFaultError(f"the board answers {result.name} to {message}")
        return answers

    def set(self, name: str, value: int) -> None:
        """Write the setting `name`, in its unit. Raises `RigFaultError` when the board refuses the value."""
        setting = SETTINGS[name]
        if not setting.min <= value <= setting.max:
            raise RigFaultError(f"{name}: {value} {setting.unit} is outside {setting.min} to {setting.max}")
        self.demand(Set(setting.key, value))

    def settings(self) -> dict[str, int]:
        """Every setting as the board holds it, in its unit."""
        values = {}
        for name, setting in SETTINGS.items():
            (value,) = (a for a in self.demand(Get(setting.key)) if isinstance(a, Value))
            values[name] = value.value
        return values

    def status(self) -> Status:
        """The board's state now, outputs read back from the pins."""
        (status,) = (a for a in self.demand(GetStatus()) if isinstance(a, Status))
        return status

    def counters(self) -> dict[str, int]:
        """Every counter of loss: the board's by name, the host's as `host_...`."""
        (counters,) = (a for a in self.demand(GetCounters()) if isinstance(a, Counters))
        return asdict(counters) | self.own_counters()

    def own_counters(self) -> dict[str, int]:
        """The host's own losses, as `host_...`."""
        return {f"host_{name}": value for name, value in asdict(self.session.losses).items()}

    @property
    def round_trip_us(self) -> int:
        """Smoothed round trip of a command, in microseconds of the link's clock; 0 before the first."""
        return round((self.session.round_trip.smoothed_s or 0.0) * 1e6)

    def clear_fault(self, cause: Cause) -> None:
        """Clear the latched fault `cause`; raises `RigFaultError` when its reason still stands."""
        self.demand(ClearFault(cause))

    def stop(self) -> Status:
        """STOP: every output off at once; repeated until the board's status says so."""
        for _ in range(5):
            self.link.write(bytes(STOP_SEND))
            try:
                status = self.status()
            except LinkLostError:
                continue
            if status.cause and not status.outputs:
                return status
        raise LinkLostError("STOP was sent and not confirmed: NOT CONFIRMED SAFE; cut the power by hand")
