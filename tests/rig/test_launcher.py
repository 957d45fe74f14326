# SPDX-License-Identifier: Apache-2.0
"""What a launcher may do, when it may not, and what is kept when it was cut short: on the real firmware in the twin."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from rig.errors import ResetLoopError, RigFaultError, StopAskedError, TwinUnavailableError
from rig.launcher import Driver, Happening
from rig.open import open_rig
from rig.requests import PressRequest
from rig.rig import Rig
from rig.wire.messages import STOP_SEND, TICK_HZ, Power, Press, Result, Wiring
from tests.twins import INTERLOCK, LID, TAME, OtherLink, bench_of, driven, launcher_on

BEAM_A = 8
FIRST = PressRequest(number=1, burst=1, index=0, tick=0, hopper=20)
FIRST_DIRECT = PressRequest(number=1, burst=1, index=0, tick=0, hopper=20, run_ms=305)


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig(TAME)
    rig.preload(20)
    yield rig
    rig.close()


class Looking:
    """Called whenever the launcher asks whether to stop: does what it was given, once `when` holds."""

    def __init__(self) -> None:
        self.when: Callable[[], bool] = lambda: False
        self.then: Callable[[], object] = lambda: None
        self.answer = False

    def __call__(self) -> bool:
        if self.when():
            self.when = lambda: False
            self.then()
        return self.answer

    def stop(self) -> None:
        self.answer = True


def ready(
    rig: Rig, drive: Wiring = Wiring.button, *, happenings: list[Happening] | None = None, looking: Looking | None = None
) -> Driver:
    launcher = launcher_on(rig, drive, happenings=happenings, stop_asked=looking or (lambda: False))
    launcher.prepare()
    return launcher


# ---------------------------------------------------------------------- preparing


def test_connecting_switches_nothing_on(twin: Rig) -> None:
    launcher_on(twin)
    assert driven(bench_of(twin)) == set()


def test_button_drive_powers_the_toy_and_waits_until_it_has_settled(twin: Rig) -> None:
    happenings: list[Happening] = []
    launcher = ready(twin, happenings=happenings)
    (power,) = happenings
    assert (power.kind, power.data) == ("power", {"on": 1, "cause": "command"})
    assert power.tick is not None
    assert launcher.tick_now() - power.tick >= launcher.settings["settle_ms"] * TICK_HZ // 1000
    assert driven(bench_of(twin)) == {"A5"}
    assert launcher.settings["wiring"] == Wiring.button


def test_direct_drive_leaves_the_toy_without_power(twin: Rig) -> None:
    looking = Looking()
    seen: list[set[str]] = []
    launcher = ready(twin, Wiring.direct, looking=looking)
    assert driven(bench_of(twin)) == set()
    looking.when, looking.then = lambda: bench_of(twin).busy, lambda: seen.append(driven(bench_of(twin)))
    assert launcher.perform(FIRST_DIRECT).verdict == "ok"
    assert seen == [{"D3"}]
    assert driven(bench_of(twin)) == set()


def test_direct_drive_switches_off_a_toy_that_was_left_on(twin: Rig) -> None:
    ready(twin)
    assert driven(bench_of(twin)) == {"A5"}
    ready(twin, Wiring.direct)
    assert driven(bench_of(twin)) == set()


def test_everything_latched_is_cleared_and_told(twin: Rig) -> None:
    happenings: list[Happening] = []
    launcher = launcher_on(twin, happenings=happenings)
    avr = bench_of(twin).avr
    twin.link.write(bytes(STOP_SEND))
    avr.edge(avr.cycle + TICK_HZ // 100, INTERLOCK, 1)
    avr.edge(avr.cycle + TICK_HZ // 10, INTERLOCK, 0)
    launcher.idle(0.5)
    assert launcher.board.status().cause
    launcher.prepare()
    assert {h.data["cause"] for h in happenings if h.kind == "fault"} == {"stop_received", "interlock_open"}
    assert sorted(str(h.data["cause"]) for h in happenings if h.kind == "fault_cleared") == ["interlock_open", "stop_received"]
    assert [h.data["level"] for h in happenings if h.kind == "interlock"] == [0, 1]
    assert launcher.board.status().cause == 0
    assert launcher.perform(FIRST).verdict == "ok"


def test_an_open_interlock_is_named_by_its_pin_and_nothing_goes_on(twin: Rig) -> None:
    launcher = launcher_on(twin)
    bench_of(twin).avr.edge(0, INTERLOCK, 1)
    launcher.idle(0.1)
    with pytest.raises(RigFaultError, match=r"interlock loop \(A3\) is open"):
        launcher.prepare()
    assert driven(bench_of(twin)) == set()


# ---------------------------------------------------------------------- pressing


@pytest.mark.parametrize("drive", Wiring)
def test_a_press_is_observed_as_it_was(drive: Wiring, twin: Rig) -> None:
    launcher = ready(twin, drive)
    record = launcher.perform(FIRST if drive is Wiring.button else FIRST_DIRECT)
    assert twin.truth is not None
    (true,) = twin.truth([(1, record.tick)], launcher.board.stretches)["trials"]
    assert (record.verdict, record.mcu_verdict, record.drive, record.spoiled) == ("ok", "ok", drive.name, "")
    assert (record.cleared, record.sticking) == (true["cleared"], true["sticking"])
    assert record.cleared >= 2
    assert record.tick is not None
    assert all(tick >= record.tick for tick, _, _ in record.edges)
    assert record.pack_V is not None and record.pack_open_V is not None and record.peak_A is not None
    assert record.pack_V < record.pack_open_V
    assert record.peak_A > 0.15
    assert (record.run_ms, record.duty) == ((305, 255) if drive is Wiring.direct else (0, 0))


def test_a_commanded_run_of_nothing_is_no_run(twin: Rig) -> None:
    record = ready(twin, Wiring.direct).perform(PressRequest(1, 1, 0, 0, 20, run_ms=0))
    assert (record.verdict, record.accepted, record.roller_ms, record.cleared) == ("no_run", True, 0, 0)


def test_a_press_waits_for_its_moment(twin: Rig) -> None:
    launcher = ready(twin)
    due = launcher.tick_now() + 5 * TICK_HZ
    record = launcher.perform(PressRequest(1, 1, 0, due, 20))
    assert record.tick is not None
    assert 0 <= record.tick - due <= 2 * TICK_HZ // 1000 + 200


def test_a_moment_that_has_passed_is_now(twin: Rig) -> None:
    launcher = ready(twin)
    now = launcher.tick_now()
    record = launcher.perform(PressRequest(1, 1, 0, 1, 20))
    assert record.tick is not None
    assert 0 <= record.tick - now < TICK_HZ // 10


# what makes the moment wrong, and the reason that is told
def lid_open(launcher: Driver, rig: Rig) -> None:
    bench_of(rig).open_lid()


def beam_blocked(launcher: Driver, rig: Rig) -> None:
    bench_of(rig).avr.edge(0, BEAM_A, 0)


def power_off(launcher: Driver, rig: Rig) -> None:
    launcher.power(False)


def unsettled(launcher: Driver, rig: Rig) -> None:
    launcher.board.demand(Power(0))
    launcher.board.demand(Power(1))


def interlock_open(launcher: Driver, rig: Rig) -> None:
    bench_of(rig).avr.edge(0, INTERLOCK, 1)


def stopped(launcher: Driver, rig: Rig) -> None:
    rig.link.write(bytes(STOP_SEND))


def other_wiring(launcher: Driver, rig: Rig) -> None:
    launcher.board.set("wiring", Wiring.direct)


WRONG_MOMENTS: dict[Callable[[Driver, Rig], None], str] = {
    lid_open: "lid",
    beam_blocked: "beam_blocked",
    power_off: "power_off",
    interlock_open: "interlock",
    stopped: "fault_latched",
    other_wiring: "wrong_wiring",
}


@pytest.mark.parametrize("wrong", WRONG_MOMENTS, ids=lambda wrong: wrong.__name__)
def test_a_press_in_the_wrong_moment_is_rejected_and_actuates_nothing(wrong: Callable[[Driver, Rig], None], twin: Rig) -> None:
    launcher = ready(twin)
    wrong(launcher, twin)
    launcher.idle(0.1)
    record = launcher.perform(FIRST)
    assert (record.verdict, record.reason, record.mcu_verdict) == ("rejected", WRONG_MOMENTS[wrong], "rejected")
    assert (record.tick, record.accepted, record.edges, record.bins, record.spoiled) == (None, False, (), (), "")
    assert twin.truth is not None
    (true,) = twin.truth([(1, None)], launcher.board.stretches)["trials"]
    assert true["cause"] == "not actuated"


def test_a_press_before_the_supply_has_settled_is_rejected(twin: Rig) -> None:
    launcher = ready(twin)
    unsettled(launcher, twin)
    record = launcher.perform(FIRST)
    assert (record.verdict, record.reason) == ("rejected", "power_off")


def test_a_press_while_another_is_in_flight_is_refused_by_name(twin: Rig) -> None:
    launcher = ready(twin)
    later = launcher.tick_now() + TICK_HZ
    result, _ = launcher.board.command(Press(1, 1, 0, Wiring.button, later, 20, 0, 0))
    assert result is Result.ok
    with pytest.raises(RigFaultError, match="trial 2: the board answers busy"):
        launcher.perform(PressRequest(2, 1, 1, 0, 20))


# ---------------------------------------------------------------------- cut short


def actuated(rig: Rig) -> Callable[[], bool]:
    return lambda: "A2" in driven(bench_of(rig))


def test_a_reset_in_a_trial_keeps_what_was_seen_of_it_and_the_next_one_is_as_any(twin: Rig) -> None:
    looking = Looking()
    happenings: list[Happening] = []
    launcher = ready(twin, looking=looking, happenings=happenings)
    happenings.clear()
    off: list[set[str]] = []
    looking.when, looking.then = actuated(twin), lambda: (bench_of(twin).reset(), off.append(driven(bench_of(twin))))
    record = launcher.perform(FIRST)
    assert (record.number, record.verdict, record.reason, record.spoiled) == (1, "fault", "reset", "reset")
    assert record.tick is not None
    assert record.mcu_verdict == ""
    assert off == [set()]
    assert happenings == []  # the trial comes before the gap
    launcher.mend()
    lost, gap, power = happenings
    assert (lost.kind, lost.trial) == ("lost", 1)
    assert (gap.kind, gap.trial, gap.data["boot_before"], gap.data["boot_after"]) == ("gap", 1, 1, 2)
    assert gap.tick is not None and record.tick <= int(gap.data["lost_tick"]) < gap.tick
    assert (power.kind, power.data["on"]) == ("power", 1)
    after = launcher.perform(replace(FIRST, number=2))
    assert (after.verdict, after.spoiled) == ("ok", "")
    assert after.tick is not None and after.tick > gap.tick
    assert twin.truth is not None
    told = twin.truth([(1, record.tick), (2, after.tick)], launcher.board.stretches)["trials"]
    assert (told[1]["cleared"], told[1]["sticking"]) == (after.cleared, after.sticking)
    assert told[0]["cycle"] is not None and told[0]["cycle"] < told[1]["cycle"]


def test_a_board_that_vanishes_in_a_trial_keeps_what_was_seen_of_it(twin: Rig) -> None:
    looking = Looking()
    launcher = ready(twin, looking=looking)
    looking.when, looking.then = actuated(twin), lambda: os.kill(bench_of(twin).avr.pid, signal.SIGKILL)
    record = launcher.perform(FIRST)
    assert (record.verdict, record.spoiled) == ("fault", "link")
    with pytest.raises(TwinUnavailableError):
        launcher.mend()
    assert not launcher.safe_state()


def test_a_reset_between_trials_is_a_gap_and_no_trial(twin: Rig) -> None:
    happenings: list[Happening] = []
    launcher = ready(twin, happenings=happenings)
    happenings.clear()
    bench_of(twin).reset()
    due = twin.link.clock.now() + 3.0
    launcher.idle(3.0)
    assert twin.link.clock.now() >= due
    assert [h.kind for h in happenings] == ["lost", "gap", "power"]
    assert driven(bench_of(twin)) == {"A5"}


def test_a_board_that_is_lost_while_it_is_prepared_again_is_told_lost_each_time(twin: Rig) -> None:
    happenings: list[Happening] = []
    looking = Looking()
    launcher = ready(twin, looking=looking, happenings=happenings)
    happenings.clear()

    def reset_and_again_when_back() -> None:
        bench_of(twin).reset()
        looking.when = lambda: any(each.kind == "gap" for each in happenings)
        looking.then = bench_of(twin).reset

    looking.when, looking.then = (lambda: True), reset_and_again_when_back
    launcher.idle(5.0)
    told = [each for each in happenings if each.kind in ("lost", "gap")]
    assert [each.kind for each in told] == ["lost", "gap"] * (len(told) // 2)
    gaps = [each.data for each in told if each.kind == "gap"]
    assert len(gaps) == 2
    for before, after in pairwise(gaps):
        assert after["boot_before"] == before["boot_after"], "each gap tells of its own loss"
        assert after["lost_tick"] > before["lost_tick"]


def test_a_board_that_is_lost_again_and_again_is_given_up(twin: Rig) -> None:
    launcher = ready(twin, looking=(looking := Looking()))

    bench = bench_of(twin)
    due_s = 0.0

    def again() -> None:
        nonlocal due_s
        due_s = bench.clock.now() + 0.4  # time enough to say BOOT
        looking.when = lambda: bench.clock.now() >= due_s
        bench.reset()

    looking.when, looking.then = (lambda: True), again
    with pytest.raises(ResetLoopError, match="the board resets again and again: 6 times within"):
        launcher.idle(60.0)
    looking.when = lambda: False
    assert launcher.safe_state()


def test_the_end_asked_for_while_a_lost_board_is_waited_for_ends_the_waiting(twin: Rig) -> None:
    looking, bench = Looking(), bench_of(twin)
    twin.link = other = OtherLink(twin.link, into=lambda data: b"" if deaf else data)
    deaf = False
    launcher = ready(twin, looking=looking)

    def unplug() -> None:
        nonlocal deaf
        deaf = True
        asked_at = other.clock.now() + 20.0
        looking.when, looking.then = (lambda: other.clock.now() >= asked_at), looking.stop

    looking.when, looking.then = (lambda: "A2" in driven(bench)), unplug
    record = launcher.perform(FIRST)
    assert (record.number, record.verdict) == (1, "fault")
    with pytest.raises(StopAskedError):
        launcher.mend()


def test_an_interlock_that_opens_in_a_trial_ends_it_with_everything_off(twin: Rig) -> None:
    looking = Looking()
    happenings: list[Happening] = []
    launcher = ready(twin, looking=looking, happenings=happenings)
    looking.when, looking.then = actuated(twin), lambda: bench_of(twin).avr.edge(0, INTERLOCK, 1)
    record = launcher.perform(FIRST)
    assert (record.verdict, record.reason, record.mcu_verdict, record.spoiled) == ("aborted", "interlock", "aborted", "")
    assert driven(bench_of(twin)) == set()
    assert [(h.data["cause"], h.trial) for h in happenings if h.kind == "fault"] == [("interlock_open", 1)]


def test_the_lid_is_told_with_the_tick_of_its_edge(twin: Rig) -> None:
    happenings: list[Happening] = []
    launcher = ready(twin, happenings=happenings)
    happenings.clear()
    avr = bench_of(twin).avr
    cycles = [avr.cycle + TICK_HZ, avr.cycle + 2 * TICK_HZ]
    avr.edges([(cycle, LID, level) for cycle, level in zip(cycles, (1, 0), strict=True)])
    launcher.idle(3.0)
    assert [(h.kind, h.data, h.trial) for h in happenings] == [("lid", {"level": 0}, None), ("lid", {"level": 1}, None)]
    opened, closed = (h.tick for h in happenings)
    assert opened is not None and closed is not None
    assert abs((closed - opened) - TICK_HZ) <= 3 * TICK_HZ // 1000  # looked at every 2 ms


# ---------------------------------------------------------------------- asked to stop


def test_the_end_asked_for_before_the_board_has_spoken_makes_no_launcher(twin: Rig) -> None:
    with pytest.raises(StopAskedError):
        launcher_on(twin, stop_asked=lambda: True)


def test_the_end_asked_for_while_time_passes_ends_the_wait(twin: Rig) -> None:
    looking = Looking()
    launcher = ready(twin, looking=looking)
    until = twin.link.clock.now() + 2.0
    looking.when, looking.then = lambda: twin.link.clock.now() >= until, looking.stop
    with pytest.raises(StopAskedError):
        launcher.idle(600.0)
    assert twin.link.clock.now() < until + 2.0


def test_the_end_asked_for_before_a_press_is_due_makes_no_trial(twin: Rig) -> None:
    looking = Looking()
    launcher = ready(twin, looking=looking)
    looking.stop()
    with pytest.raises(StopAskedError):
        launcher.perform(PressRequest(1, 1, 0, launcher.tick_now() + 60 * TICK_HZ, 20))
    assert launcher.board.status().trial == 0


@pytest.mark.parametrize("drive", Wiring)
def test_the_end_asked_for_in_a_press_aborts_it(drive: Wiring, twin: Rig) -> None:
    looking = Looking()
    launcher = ready(twin, drive, looking=looking)
    looking.when, looking.then = lambda: bool(driven(bench_of(twin)) & {"A2", "D3"}), looking.stop
    record = launcher.perform(FIRST if drive is Wiring.button else FIRST_DIRECT)
    assert (record.verdict, record.reason, record.mcu_verdict, record.spoiled) == ("aborted", "abort", "aborted", "")
    assert record.tick is not None
    assert driven(bench_of(twin)) == ({"A5"} if drive is Wiring.button else set())


# ---------------------------------------------------------------------- the end


def test_the_safe_state_is_read_back_from_the_pins(twin: Rig) -> None:
    launcher = ready(twin)
    assert driven(bench_of(twin)) == {"A5"}
    assert launcher.safe_state()
    assert driven(bench_of(twin)) == set()


def test_the_safe_state_is_reached_in_the_middle_of_a_trial(twin: Rig) -> None:
    launcher = ready(twin, Wiring.direct)
    result, _ = launcher.board.command(Press(1, 1, 0, Wiring.direct, 0, 20, 2000, 255))
    assert result is Result.ok
    launcher.idle(0.1)
    assert driven(bench_of(twin)) == {"D3"}
    assert launcher.safe_state()
    assert driven(bench_of(twin)) == set()
