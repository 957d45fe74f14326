# SPDX-License-Identifier: Apache-2.0
"""What a launcher can be asked to do: press, stop, be safe. Knows trials and edges, no campaign and no store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rig.board import COMMAND_S, IDLE_RENEW_S, TRIAL_RENEW_S, Board
from rig.errors import ControllerResetError, LinkLostError, RigError, RigFaultError, StopAskedError
from rig.links.base import Link
from rig.trial import TrialRecord
from rig.verdict import ENDED_FROM_OUTSIDE, Edge, current_uA, driven, judge, pack_uV
from rig.wire.messages import (
    Abort,
    Actuated,
    Cause,
    Channel,
    Edges,
    Fault,
    Message,
    Power,
    Powered,
    Press,
    Reason,
    Result,
    Samples,
    TrialEnd,
    Verdict,
    Wiring,
)

# A press is sent this long before its moment: enough for a few retransmissions, little enough that nothing changes meanwhile.
AHEAD_S = 0.150


@dataclass(frozen=True, slots=True)
class PressRequest:
    """One press to make.

    tick: earliest MCU tick of actuation, 0 = at once. hopper: cards believed inside. run_ms, duty (of 255): for `direct`.
    """

    number: int
    burst: int
    index: int
    tick: int
    hopper: int
    run_ms: int = 0
    duty: int = 255


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that the board reported between or beside trials: power, lid, interlock, fault, stray edges."""

    kind: str
    tick: int | None
    trial: int | None
    data: dict[str, int | str]


class TrialLostError(RigError):
    """The link or the board went away in mid-trial. `cause` says how, `record` is what was observed, as a `fault`."""

    def __init__(self, cause: RigError, record: TrialRecord) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.record = record


class _Watch:
    """Collects what the board reports of one trial."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.actuated: int | None = None
        self.edges: list[Edge] = []
        self.bins: list[int] = []
        self.end: TrialEnd | None = None
        self.gap = False


class RollerLauncher:
    """A roller launcher on a board. Construction only connects; `prepare` switches the toy's supply as the wiring needs it."""

    def __init__(
        self,
        link: Link,
        *,
        drive: Wiring,
        on_happening: Callable[[Happening], None],
        nonce: Callable[[], int],
        new_uuid: Callable[[], bytes],
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        """Connect to the board.

        `on_happening` is told what happens beside trials; `stop_asked` is looked at while time passes. Raises a `RigError`.
        """
        self._on_happening = on_happening
        self._stop_asked = stop_asked
        self._watch: _Watch | None = None
        self.levels: dict[str, int] = {}
        self.drive = drive
        self.settings: dict[str, int] = {}
        self.board = Board(link, self._take, nonce=nonce, new_uuid=new_uuid, stop_asked=stop_asked)

    def prepare(self) -> None:
        """Clear what is latched (and tell it), set the wiring, switch the toy on for `button` and off for `direct`.

        Raises a `RigError`; whoever calls this brings the rig to its safe state whatever comes of it.
        """
        board = self.board
        status = board.status()
        if not status.inputs >> Channel.interlock & 1:
            raise RigFaultError("the interlock loop (A3) is open: put the catch bin in its place and release the emergency stop")
        while status.cause:
            cause = Cause(status.cause)
            board.clear_fault(cause)
            self._tell("fault_cleared", status.tick, {"cause": cause.name})
            status = board.status()
        board.set("wiring", self.drive)
        self.settings = board.settings()
        self.power(self.drive is Wiring.button)

    def power(self, on: bool) -> None:
        """Switch the toy's supply and wait until it has settled."""
        self.board.demand(Power(int(on)))
        if on:
            self.idle(self.settings["settle_ms"] / 1000 + 0.05)

    def idle(self, seconds: float) -> None:
        """Let `seconds` of the rig's clock pass while the link is served. Raises `StopAskedError` when the end was asked for."""
        self._idle_until(self.board.link.clock.now() + seconds)

    def _idle_until(self, moment: float) -> None:
        clock = self.board.link.clock
        while clock.now() < moment:
            if self._stop_asked():
                raise StopAskedError("stopped by the operator")
            self.board.serve(moment)

    def tick_now(self) -> int:
        """The MCU tick now, to within a frame's delay."""
        return self.board.tick_at(self.board.link.clock.now())

    # ------------------------------------------------------------------ a press

    def press(self, request: PressRequest) -> TrialRecord:
        """Make one press and watch it to its end.

        Returns everything observed of it, judged. A trial that the link or the board spoiled comes back as `fault`.
        Raises `TrialLostError`, which carries what was observed until then, when the board falls silent or was reset.
        """
        board = self.board
        if request.tick:
            self._idle_until(board.moment_of(request.tick) - AHEAD_S)
        self._watch = watch = _Watch(request.number)
        board.session.renew_s = TRIAL_RENEW_S
        try:
            self._make(request, watch)
        except (LinkLostError, ControllerResetError) as error:
            lost = "reset" if isinstance(error, ControllerResetError) else "link"
            raise TrialLostError(error, self._record(request, watch, lost)) from error
        finally:
            self._watch = None
            board.session.renew_s = IDLE_RENEW_S
        return self._record(request, watch)

    def _make(self, request: PressRequest, watch: _Watch) -> None:
        """Command the press and serve the link until TRIAL_END; an operator who wants to stop aborts it."""
        board, clock = self.board, self.board.link.clock
        result, _ = board.command(
            Press(
                trial=request.number,
                burst=request.burst,
                index=request.index,
                drive=self.drive,
                not_before=request.tick,
                hopper=request.hopper,
                run_ms=request.run_ms,
                duty=request.duty,
            )
        )
        if result is not Result.ok:
            raise RigFaultError(f"trial {request.number}: the board answers {result.name} to PRESS")
        wait_s = max(0.0, board.moment_of(request.tick) - clock.now()) if request.tick else 0.0
        limit_s = wait_s + (self.settings["observe_max_ms"] + self.settings["press_hold_ms"] + request.run_ms) / 1000
        deadline = clock.now() + limit_s + COMMAND_S
        aborting = False
        while watch.end is None:
            if self._stop_asked() and not aborting:
                board.session.send(Abort())
                aborting = True
            if clock.now() >= deadline:
                raise LinkLostError(f"trial {request.number}: no TRIAL_END within {limit_s + COMMAND_S:.1f} s")
            board.serve(deadline)

    def _record(self, request: PressRequest, watch: _Watch, lost: str = "") -> TrialRecord:
        """The trial as observed; `lost` names what cut the observation short."""
        edges, bins, end = tuple(sorted(watch.edges)), tuple(watch.bins), watch.end
        reason = Reason(end.reason) if end else Reason.none
        judged = judge(
            drive=self.drive,
            actuated_tick=watch.actuated,
            edges=edges,
            bins=bins,
            hopper=request.hopper,
            settings=self.settings,
            reason=reason,
        )
        # A trial that was cut short may end before the board has looked at its last sound.
        accepted = end.accepted if end and reason in ENDED_FROM_OUTSIDE else judged.accepted
        agree = end and (end.verdict, end.accepted, end.cleared, end.sticking, end.roller_ms) == (
            judged.verdict,
            accepted,
            judged.cleared,
            judged.sticking,
            judged.roller_ms,
        )
        spoiled = lost or ("samples_missing" if watch.gap else "" if agree else "verdicts_differ")
        marks = driven(bins, self.drive, self.settings["roller_on_mA"])
        loaded = [pack_uV(sample) for sample, mark in zip(bins, marks, strict=True) if mark]
        # In the bin after a driven one the voltage may have been sampled before the drive went off.
        unloaded = [pack_uV(each) for each, *near in zip(bins, marks, (False, *marks), strict=False) if not any(near)]
        return TrialRecord(
            number=request.number,
            kind="press",
            drive=self.drive.name,
            burst=request.burst,
            burst_index=request.index,
            tick=watch.actuated,
            verdict=Verdict.fault.name if spoiled else judged.verdict.name,
            reason=spoiled or reason.name,
            mcu_verdict=Verdict(end.verdict).name if end else "",
            accepted=bool(accepted),
            cleared=judged.cleared,
            sticking=judged.sticking,
            roller_ms=judged.roller_ms,
            hopper=request.hopper,
            run_ms=request.run_ms,
            duty=request.duty if self.drive is Wiring.direct else 0,
            pack_V=min(loaded) / 1e6 if loaded else None,
            pack_open_V=unloaded[0] / 1e6 if unloaded else None,
            peak_A=max(map(current_uA, bins)) / 1e6 if bins else None,
            edges=edges,
            bins=bins,
            spoiled=spoiled,
        )

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
                self._tell("power", message.tick, {"on": message.on, "cause": cause})
            case Fault():
                self._tell("fault", message.tick, {"cause": Cause(message.cause).name, "output": message.output}, message.trial)
            case _:
                pass  # of a trial that is over, or READY

    def _take_edges(self, message: Edges, watch: _Watch | None) -> None:
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
        """Every output off, toy power included, read back from the pins. Returns whether that is confirmed; never raises."""
        try:
            result, _ = self.board.command(Power(0))
            status = self.board.status()
            if result is Result.ok and not status.outputs:
                return True
            return not self.board.stop().outputs
        except (RigError, OSError):
            try:
                return not self.board.stop().outputs
            except (RigError, OSError):
                return False
