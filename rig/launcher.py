# SPDX-License-Identifier: Apache-2.0
"""What a launcher can be asked to do: make a trial, stop, be safe. Knows trials and edges, no campaign and no store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from rig.awake import SURELY_ASLEEP_S, ToyState, expected
from rig.board import COMMAND_S, IDLE_RENEW_S, TRIAL_RENEW_S, Board
from rig.errors import ControllerResetError, LinkLostError, RefusedRequestError, RigError, RigFaultError, StopAskedError
from rig.links.base import Link
from rig.observed import Watch, record_of
from rig.requests import Request
from rig.slots import EMPTY, Slots
from rig.trial import TrialRecord
from rig.wire.messages import (
    TICK_HZ,
    Abort,
    Actuated,
    Cause,
    Channel,
    Edges,
    Fault,
    Launcher,
    Message,
    Power,
    Powered,
    Result,
    Samples,
    Status,
    TrialEnd,
    Verdict,
    Wiring,
)
from rig.wire.messages import Slots as SlotsMessage

# A trial is sent this long before its moment: enough for a few retransmissions, little enough that nothing changes meanwhile.
AHEAD_S = 0.150

PATIENCE_S = 300.0
"""How long a board that is gone is waited for: time to find the cable and put it back."""

LAST_PATIENCE_S = 5.0
"""How long a lost board is waited for when all that is wanted of it is to know that its outputs are off."""

BY_LINE = (Cause.lease_lapsed, Cause.stop_received, Cause.silence)
"""Latched faults that a bad line brings about, and that nothing else has to be mended for."""

ARTICLE = {Launcher.roller: "a roller launcher", Launcher.blast: "a blaster"}
"""What errors call each machine."""

PREPARATIONS = 3
"""A lease that lapses just then latches another fault between the clearing of one and what comes after it."""

MOST_RECOVERIES = 5
"""Losses in a row, with no trial observed between them, after which the rig is broken."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that the board reported between or beside trials: power, lid, interlock, fault, stray edges."""

    kind: str
    tick: int | None
    trial: int | None
    data: dict[str, int | str]


class Driver:
    """A launcher on a board. Construction only connects; `prepare` switches the toy's supply as the wiring needs it.

    What tells one kind of launcher from the other is in the requests that are made of it. `kind` is the machine that the
    board is set up for; `books` are those of a blaster's slots, kept with every trial.
    """

    def __init__(
        self,
        link: Link,
        *,
        drive: Wiring,
        on_happening: Callable[[Happening], None],
        nonce: Callable[[], int],
        new_uuid: Callable[[], bytes],
        stop_asked: Callable[[], bool] = lambda: False,
        patience_s: float = PATIENCE_S,
        on_heard: Callable[[Driver], None] = lambda launcher: None,
    ) -> None:
        """Connect to the board.

        `on_heard` gets this launcher as soon as a board of ours has spoken: from then on it can be brought to its safe state.
        `on_happening` is told what happens beside trials; `stop_asked` is looked at while time passes. A board that is lost
        or reset later is waited for, `patience_s` seconds of the link's clock, and prepared again. Raises a `RigError`.
        """
        self._on_happening = on_happening
        self._stop_asked = stop_asked
        self._patience_s = patience_s
        self._recoveries = 0  # since the last trial that was observed to its end
        self._lost: tuple[RigError, int] | None = None  # in this trial, and not yet taken again
        self._latched: list[Fault] = []  # told since the board was prepared
        self._watch: Watch | None = None
        self.levels: dict[str, int] = {}
        self.drive = drive
        self.settings: dict[str, int] = {}
        self.books = EMPTY
        self._active_tick: int | None = None  # of the toy's last activity: what it took, or its power-on

        def heard(board: Board) -> None:
            self.board = board
            on_heard(self)

        self.board = Board(link, self._take, nonce=nonce, new_uuid=new_uuid, stop_asked=stop_asked, on_heard=heard)

    @property
    def kind(self) -> Launcher:
        """The machine that the board is set up for, as its BOOT says."""
        return Launcher(self.board.boot.launcher)

    def prepare(self) -> None:
        """Clear what is latched (and tell it), set the wiring, switch the toy on for `button` and off for `direct`.

        Raises a `RigError`; whoever calls this brings the rig to its safe state whatever comes of it.
        """
        self._holding(self._prepare)

    def asked(self, ask: Callable[[Board], T]) -> T:
        """What `ask` finds out of the board; when that is lost meanwhile it is taken again, prepared, and asked again."""
        while True:
            self._take_lost()
            try:
                return ask(self.board)
            except (LinkLostError, ControllerResetError) as error:
                self._recover(error)

    def _holding(self, step: Callable[[], None]) -> None:
        """Take `step`; when the board is lost, or was in the last trial, take it again and be content: it stands prepared."""
        if self._take_lost():
            return
        try:
            step()
        except (LinkLostError, ControllerResetError) as error:
            self._recover(error)

    def _prepare(self) -> None:
        board, wants_power = self.board, self.drive is Wiring.button
        for _ in range(PREPARATIONS):
            occupied = self._clear_faults().occupied
            board.set("wiring", self.drive)
            self.settings = board.settings()
            if occupied or self.books.occupied:
                self._tell_books()
            result, _ = board.command(Power(int(wants_power)))
            if result is Result.ok:
                return self._settle(wants_power)
        raise RigFaultError(f"the board answers {result.name} to POWER although nothing is latched; see its interlock loop (A3)")

    def _clear_faults(self) -> Status:
        """Clear whatever is latched, and tell it. Returns the status that has nothing latched."""
        board = self.board
        self._latched.clear()
        status = board.status()
        if not status.inputs >> Channel.interlock & 1:
            raise RigFaultError("the interlock loop (A3) is open: put the catch bin in its place and release the emergency stop")
        while status.cause:
            cause = Cause(status.cause)
            board.clear_fault(cause)
            self._tell("fault_cleared", status.tick, {"cause": cause.name})
            status = board.status()
        return status

    def _take_lost(self) -> bool:
        """Take a board again that was lost in the last trial. Whether there was one."""
        lost, self._lost = self._lost, None
        if lost:
            self._recover(*lost)
        return lost is not None

    def _recover(self, cause: RigError, trial: int = 0) -> None:
        """Take a board again that was lost in `trial` (0: between trials) and prepare it as it was; tells the `gap`.

        Raises a `RigError` when the board does not come back, or goes again and again.
        """
        board = self.board
        clock = board.link.clock
        give_up = clock.now() + self._patience_s
        error, gap = cause, self._lose(cause, trial)
        while True:
            self._recoveries += 1
            if self._recoveries > MOST_RECOVERIES:
                raise RigFaultError(f"lost {MOST_RECOVERIES} times in a row, with no trial between them: {error}") from error
            self.levels.clear()
            board.session.renew_s = IDLE_RENEW_S
            back = False
            try:
                board.reconnect(error, max(0.0, give_up - clock.now()))
                back = True
                self._tell("gap", board.stretches[-1].first_tick, gap(), trial)
                self._prepare()
                return
            except (LinkLostError, ControllerResetError) as again:
                error = again
                if back:
                    gap = self._lose(again, trial)  # what was told to be back is gone again
                if clock.now() >= give_up:
                    raise

    def _lose(self, cause: RigError, trial: int) -> Callable[[], dict[str, int | str]]:
        """Tell that the board is lost; what comes back tells of the gap, once the board is there again."""
        board, clock = self.board, self.board.link.clock
        self._active_tick = None  # what the toy did meanwhile, nobody saw
        began, last_tick, boot_count = clock.now(), board.last_tick, board.boot.boot_count
        self._on_happening(Happening("lost", None, trial or None, {"cause": str(cause)}))
        return lambda: {
            "cause": str(cause),
            "lost_tick": last_tick,
            "ms": round((clock.now() - began) * 1000),
            "boot_before": boot_count,
            "boot_after": board.boot.boot_count,
        }

    def power(self, on: bool) -> None:
        """Switch the toy's supply and wait until it has settled."""
        self._holding(lambda: self._power(on))

    def _power(self, on: bool) -> None:
        self.board.demand(Power(int(on)))
        self._settle(on)

    def _settle(self, on: bool) -> None:
        if on:
            self._serve_until(self.board.link.clock.now() + self.settings["settle_ms"] / 1000 + 0.05)

    def idle(self, seconds: float) -> None:
        """Let `seconds` of the rig's clock pass while the link is served. Raises `StopAskedError` when the end was asked for."""
        self._idle_until(self.board.link.clock.now() + seconds)

    def wait_for(self, tick: int) -> None:
        """Let time pass until a trial that is due at `tick` has to be commanded. Raises `StopAskedError`."""
        self._idle_until(self.board.moment_of(tick) - AHEAD_S)

    def _idle_until(self, moment: float) -> None:
        while self.board.link.clock.now() < moment:
            self._holding(lambda: self._serve_until(moment))

    def _serve_until(self, moment: float) -> None:
        clock = self.board.link.clock
        while clock.now() < moment:
            if self._stop_asked():
                raise StopAskedError("stopped by the operator")
            self.board.serve(moment)

    def look(self) -> None:
        """Learn the level of every input from the board itself: edges may have been lost."""
        inputs = self.asked(Board.status).inputs
        self.levels = {channel.name: inputs >> channel & 1 for channel in Channel}

    @property
    def asleep_tick(self) -> int | None:
        """The tick from which on the toy certainly sleeps if it is let be; None when it is not known since when it has been."""
        return None if self._active_tick is None else self._active_tick + round(SURELY_ASLEEP_S * TICK_HZ)

    def toy_at(self, tick: int | None) -> ToyState:
        """Whether the blaster's toy is awake at `tick` if it is let be until then, as far as time tells."""
        known = None if self._active_tick is None or tick is None else (tick - self._active_tick) / TICK_HZ
        return expected(known)

    def keep_books(self, books: Slots) -> None:
        """A person has changed what is in the slots or waits there: from now on `books` hold, on the board as well."""
        changed = (books.occupied, books.cards) != (self.books.occupied, self.books.cards)
        self.books = books
        if changed:
            self._holding(self._tell_books)

    def _tell_books(self) -> None:
        self.board.demand(SlotsMessage(self.books.occupied, self.books.cards))

    def tick_now(self) -> int:
        """The MCU tick now, to within a frame's delay."""
        return self.board.tick_at(self.board.link.clock.now())

    # ------------------------------------------------------------------ a trial

    def perform(self, request: Request) -> TrialRecord:
        """Make one trial and watch it to its end.

        Returns everything observed of it, judged. A trial that the link or the board spoiled comes back as `fault`. A board
        that was lost in it is taken again by what comes next, so that the trial can be put in its place before the gap.
        Raises `RefusedRequestError`, and nothing moves, for what this bench cannot do as it stands.
        """
        board = self.board
        if request.launcher is not self.kind:
            raise RefusedRequestError(
                f"the board is set up for {ARTICLE[self.kind]}, and {request.kind} is for {ARTICLE[request.launcher]}; "
                f"launchrig bench tells and sets what is on the bench"
            )
        request.check(self.books, self.settings["slots"])
        if request.tick:
            self.wait_for(request.tick)
        self._watch = watch = Watch(request.number)
        board.session.renew_s = TRIAL_RENEW_S
        try:
            self._make(request, watch)
        except (LinkLostError, ControllerResetError) as error:
            self._lost = (error, request.number)
            lost = "reset" if isinstance(error, ControllerResetError) else "link"
            return self._booked(request, watch, lost)
        finally:
            self._watch = None
            board.session.renew_s = IDLE_RENEW_S
        if watch.end and watch.end.verdict != Verdict.aborted:
            self._recoveries = 0
            board.boots.settled()
        return self._booked(request, watch)

    def _booked(self, request: Request, watch: Watch, lost: str = "") -> TrialRecord:
        """The record of a trial, its cards booked and its activity noted."""
        before = self.toy_at(watch.actuated)
        record = record_of(request, watch, self.drive, self.settings, lost, books=self.books, before=before)
        if record.tick is not None:
            self.books = request.booked(self.books).after(record)
            if record.accepted:
                self._active_tick = record.tick
        return record

    def mend(self) -> None:
        """Take a board again that was lost in the last trial; prepare it again when a bad line, or a person at the bench
        between trials, has made it latch a fault.

        Raises a `RigError` for any other fault, and when it comes again and again.
        """
        self._take_lost()
        for fault in self._latched:
            cause = Cause(fault.cause)
            if not (cause in BY_LINE or (cause is Cause.interlock_open and not fault.trial)):
                raise RigFaultError(f"the board has latched {cause.name} and everything is off; docs/faults.md says what to do")
        if self._latched:
            self._recoveries += 1
            if self._recoveries > MOST_RECOVERIES:
                raise RigFaultError(f"the board has latched {Cause(self._latched[0].cause).name} {MOST_RECOVERIES} times in a row")
            self.prepare()

    def _make(self, request: Request, watch: Watch) -> None:
        """Command the trial and serve the link until TRIAL_END; an operator who wants to stop aborts it."""
        board, clock = self.board, self.board.link.clock
        command = request.message(self.drive, board.raw_tick(request.tick) if request.tick else 0)
        result, _ = board.command(command)
        if result is not Result.ok:
            raise RigFaultError(f"trial {request.number}: the board answers {result.name} to {type(command).__name__.upper()}")
        wait_s = max(0.0, board.moment_of(request.tick) - clock.now()) if request.tick else 0.0
        limit_s = wait_s + request.longest_ms(self.settings) / 1000
        deadline = clock.now() + limit_s + COMMAND_S
        aborting = False
        while watch.end is None:
            if self._stop_asked() and not aborting:
                board.session.send(Abort())
                aborting = True
            if clock.now() >= deadline:
                raise LinkLostError(f"trial {request.number}: no TRIAL_END within {limit_s + COMMAND_S:.1f} s")
            board.serve(deadline)

    # ------------------------------------------------------------------ events

    def _take(self, message: Message) -> None:
        watch = self._watch
        match message:
            case Edges():
                self._take_edges(message, watch)
            case Actuated() if watch and message.trial == watch.number:
                watch.actuated = message.tick
                self.board.note_tick(message.tick)
            case Samples() if watch and message.trial == watch.number:
                watch.gap |= message.first != len(watch.bins)
                watch.bins.extend(message.bins)
            case TrialEnd() if watch and message.trial == watch.number:
                watch.end = message
                self.board.note_tick(message.tick)
            case Powered():
                cause = "command" if message.cause == 0 else "fault"
                self._active_tick = message.tick if message.on else None
                self._tell("power", message.tick, {"on": message.on, "cause": cause})
            case Fault():
                self._latched.append(message)
                self._tell("fault", message.tick, {"cause": Cause(message.cause).name, "output": message.output}, message.trial)
            case _:
                pass  # of a trial that is over, or READY

    def _take_edges(self, message: Edges, watch: Watch | None) -> None:
        name = Channel(message.channel).name
        for word in message.edges:
            tick = message.tick - ((message.tick - (word >> 1)) & 0x7FFFFFFF)
            level = word & 1
            first = name not in self.levels
            self.levels[name] = level
            if watch and message.trial == watch.number:
                watch.edges.append((tick, name, level))
            if not first and (name in ("lid", "interlock") or not message.trial):
                self._tell(name, tick, {"level": level}, message.trial)

    def _tell(self, kind: str, tick: int, data: dict[str, int | str], trial: int = 0) -> None:
        self._on_happening(Happening(kind, tick, trial or None, data))

    # ------------------------------------------------------------------ the end

    def safe_state(self) -> bool:
        """Every output off, toy power included, read back from the pins. Returns whether that is confirmed; never raises.

        Each way is tried when the one before did not succeed: the command, STOP, and to take the board again.
        """
        self.board.stop_asked = lambda: False  # this is what was asked for
        self.board.boots.settled()
        for way in (self._power_off, self._stop, self._take_again):
            with suppress(Exception):  # whatever goes wrong with one way, the next one is tried
                if way():
                    return True
        return False

    def _power_off(self) -> bool:
        return self.board.command(Power(0))[0] is Result.ok and not self.board.status().outputs

    def _stop(self) -> bool:
        return not self.board.stop().outputs

    def _take_again(self) -> bool:
        self.board.reconnect(LinkLostError("the board does not answer"), LAST_PATIENCE_S)
        return not self.board.status().outputs
