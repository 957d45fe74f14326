# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rig.errors import LinkLostError
from rig.twin.avr import CYCLE_HZ, Avr
from rig.twin.bench import TwinBench, TwinOperator

MS = CYCLE_HZ // 1000
BEAM_A, LID, LAUNCH, POWER = 8, 18, 16, 19


@dataclass(slots=True)
class Script:
    """A plan."""

    edges: list[tuple[int, int, int]] = field(default_factory=list)
    analog: dict[int, list[tuple[int, float]]] = field(default_factory=dict)


class ScriptedPlant:
    """Passes one card 20 to 30 ms after each launch, and a second one 10 ms later unless power goes off before."""

    def __init__(self) -> None:
        self.outputs: list[tuple[int, str, float]] = []
        self.hands: list[tuple[str, int]] = []
        self.cards = 5
        self.rest = 0

    def start(self, cycle: int) -> Script:
        return Script([(cycle, BEAM_A, 1), (cycle, LID, 0)], {0: [(cycle, 0.5)], 1: [(cycle, 2.0)]})

    def output(self, cycle: int, signal: str, value: float) -> Script | None:
        self.outputs.append((cycle, signal, value))
        if signal == "launch" and value:
            at = [cycle + ms * MS for ms in (20, 30, 40, 50)]
            self.rest = at[-1]
            return Script([(when, BEAM_A, i & 1) for i, when in enumerate(at)], {0: [(cycle, 0.5), (at[-1], 1.0)]})
        if signal == "power" and not value:
            self.rest = cycle
            return Script([(cycle + MS, BEAM_A, 1)])
        return None

    def idle_after(self) -> int:
        return self.rest

    def open_lid(self, cycle: int) -> Script:
        self.hands.append(("open", cycle))
        return Script([(cycle, LID, 1)])

    def close_lid(self, cycle: int) -> Script:
        self.hands.append(("close", cycle))
        return Script([(cycle, LID, 0)])

    def take_out(self, cycle: int) -> tuple[int, Script | None]:
        self.hands.append(("take out", cycle))
        cards, self.cards = self.cards, 0
        return cards, None

    def load(self, cycle: int, cards: int) -> None:
        self.hands.append(("load", cycle))
        self.cards += cards

    def clear_mouth(self, cycle: int) -> tuple[int, Script]:
        self.hands.append(("clear", cycle))
        return 1, Script([(cycle, BEAM_A, 1)])

    def clean(self, cycle: int) -> None:
        self.hands.append(("clean", cycle))


@pytest.fixture
def bench(echo: Avr) -> TwinBench:
    return TwinBench(ScriptedPlant(), echo)


def plant_of(bench: TwinBench) -> ScriptedPlant:
    assert isinstance(bench.plant, ScriptedPlant)
    return bench.plant


def heard(bench: TwinBench, until: int) -> bytes:
    data = b""
    while bench.avr.cycle < until:
        data += bench.read(until)
    return data


def test_a_read_returns_a_frame_or_nothing_at_its_limit(bench: TwinBench) -> None:
    assert bench.read(MS) == b""
    assert bench.avr.cycle == MS
    bench.write(b"x")
    assert bench.read(100 * MS) == b"x\0"
    assert bench.avr.cycle < 3 * MS


def test_outputs_reach_the_plant_and_its_plans_the_firmware(bench: TwinBench) -> None:
    bench.read(MS)
    bench.write(b"l")
    assert heard(bench, 100 * MS).replace(b"\0", b"") == b"lAaAa"
    (down, signal, on), (up, _, off) = plant_of(bench).outputs
    assert (signal, on, off) == ("launch", 1.0, 0.0)
    assert abs(up - down - 10 * MS) < 100


def test_an_edge_happens_at_the_very_cycle_that_the_plant_planned(bench: TwinBench) -> None:
    # The board's Timer1 runs from a fixed cycle on, so captures and planned cycles differ by one constant.
    bench.read(MS)
    bench.write(b"l")
    heard(bench, 60 * MS)
    captured = int.from_bytes(bench.avr.peek(0x86, 2), "little")
    timer, now = int.from_bytes(bench.avr.peek(0x84, 2), "little"), bench.avr.cycle
    assert timer <= 0xFFFF
    planned = plant_of(bench).outputs[0][0] + 50 * MS
    bench.write(b"l")
    heard(bench, now + 60 * MS)
    again = int.from_bytes(bench.avr.peek(0x86, 2), "little")
    planned_again = plant_of(bench).outputs[2][0] + 50 * MS
    assert (again - captured) % 65536 == (planned_again - planned) % 65536


def test_a_new_plan_replaces_the_rest_of_the_old_one(bench: TwinBench) -> None:
    bench.write(b"p")
    heard(bench, 5 * MS)
    bench.write(b"l")
    heard(bench, 5 * MS + 35 * MS)
    bench.write(b"q")
    assert b"A" not in heard(bench, 200 * MS)
    assert [signal for _, signal, _ in plant_of(bench).outputs] == ["power", "launch", "launch", "power"]


def test_the_clock_is_virtual_and_keeps_what_was_sent_meanwhile(bench: TwinBench) -> None:
    assert bench.clock.now() == 0
    bench.write(b"y")
    bench.clock.sleep(20.0)
    assert bench.clock.now() == 20.0
    assert bench.read(1 << 60) == b"y\0"
    assert bench.clock.now() == 20.0


def test_it_is_busy_while_anything_moves_or_is_on(bench: TwinBench) -> None:
    assert not bench.busy
    bench.write(b"p")
    heard(bench, 5 * MS)
    assert not bench.busy  # toy power alone moves nothing
    bench.write(b"l")
    heard(bench, 10 * MS)
    assert bench.busy
    heard(bench, 40 * MS)
    assert bench.busy
    heard(bench, 100 * MS)
    assert not bench.busy


def test_a_reset_of_the_chip_switches_the_plant_off(bench: TwinBench) -> None:
    bench.write(b"p")
    heard(bench, 5 * MS)
    bench.reset()
    heard(bench, 6 * MS)
    assert plant_of(bench).outputs[-1] == (5 * MS, "power", 0.0)


def test_a_firmware_that_stops_is_a_crash(bench: TwinBench) -> None:
    bench.read(MS)
    bench.avr.poke_flash(0, bytes.fromhex("f8948895fdcf"))  # cli; sleep; again
    bench.reset()
    bench.avr.poke(0x53, b"\1")
    assert bench.read(100 * MS) == b""
    assert bench.crashed
    assert bench.avr.cycle < 100 * MS
    with pytest.raises(LinkLostError, match="has crashed"):
        bench.clock.sleep(1.0)


def test_the_operator_reloads_in_twenty_seconds_of_virtual_time(bench: TwinBench) -> None:
    operator = TwinOperator(bench)
    assert operator.reload(83, bench.clock.sleep) == 5
    assert plant_of(bench).cards == 83
    s = CYCLE_HZ
    assert plant_of(bench).hands == [("open", 0), ("take out", 10 * s), ("load", 10 * s), ("close", 20 * s)]


def test_the_operator_clears_the_mouth_and_cleans(bench: TwinBench) -> None:
    operator = TwinOperator(bench)
    assert operator.clear_mouth(bench.clock.sleep) == 1
    operator.clean(bench.clock.sleep)
    assert [what for what, _ in plant_of(bench).hands] == ["clear", "clean"]
    assert bench.clock.now() == 25.0


def test_closing_twice_does_no_harm(bench: TwinBench) -> None:
    bench.close()
    bench.close()
