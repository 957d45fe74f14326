# SPDX-License-Identifier: Apache-2.0
"""A person at the console is asked in plain words, and the board is served however long the answer takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from rig.errors import OperatorNeededError
from rig.launcher import Happening
from rig.open import open_rig
from rig.operator import WORK, ConsoleOperator, NoOperator, Operator, Sensor
from rig.requests import PressRequest
from rig.rig import Rig
from tests.twins import TAME, bench_of, launcher_on


def no_wait(seconds: float) -> None:
    """Time that nobody needs."""


class Person:
    """Answers in turn; an exception among the answers is raised."""

    def __init__(self, *answers: str | BaseException) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.told: list[str] = []
        self.operator = ConsoleOperator(self.ask, self.told.append)

    def ask(self, question: str) -> str:
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def twin() -> Iterator[Rig]:
    rig = open_rig(TAME)
    yield rig
    rig.close()


def test_a_first_load_names_the_cards_and_wants_only_enter() -> None:
    person = Person("")
    person.operator.load(83, no_wait)
    assert len(person.asked) == 1
    assert "83 cards" in person.asked[0]


def test_a_reload_counts_first_and_fills_then() -> None:
    person = Person("12", "")
    assert person.operator.reload(40, no_wait) == 12
    assert "How many were left" in person.asked[0]
    assert "40 cards" in person.asked[1]


def test_the_count_at_the_end_and_the_mouth_are_numbers() -> None:
    assert Person("7").operator.count_out(no_wait) == 7
    assert Person(" 2 \n").operator.clear_mouth(no_wait) == 2


def test_a_cleaned_roller_wants_only_enter() -> None:
    person = Person("done")
    person.operator.clean(no_wait)
    assert "Clean the roller" in person.asked[0]


@pytest.mark.parametrize("nonsense", ["", "twelve", "-3", "1.5", "1 2", "0x10", "²"])
def test_nonsense_is_asked_again_and_told_how_to_answer(nonsense: str) -> None:
    person = Person(nonsense, "5")
    assert person.operator.count_out(no_wait) == 5
    assert len(person.asked) == 2
    assert person.told == [f"{nonsense!r} is no number of cards; type for example 0 or 12"]


@pytest.mark.parametrize("sensor", WORK)
def test_a_worked_sensor_wants_only_enter_and_is_asked_for_by_what_to_do(sensor: Sensor) -> None:
    person = Person("")
    person.operator.work(sensor, no_wait)
    (asked,) = person.asked
    assert asked == f"{WORK[sensor]}, then press Enter. "


@pytest.mark.parametrize("ask", ["load", "reload", "count_out", "clear_mouth", "clean", "work"])
def test_a_console_that_is_closed_is_nobody(ask: str) -> None:
    operator = Person(EOFError()).operator
    first = {"load": [5], "reload": [5], "work": ["lid"]}.get(ask, [])
    with pytest.raises(OperatorNeededError, match=r"nobody answers: .+"):
        getattr(operator, ask)(*first, no_wait)


def test_whatever_else_goes_wrong_with_the_console_comes_through() -> None:
    with pytest.raises(UnicodeDecodeError):
        Person(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")).operator.count_out(no_wait)


def test_what_the_wait_raises_ends_the_question() -> None:
    never = threading.Event()

    def stopped(seconds: float) -> None:
        raise KeyboardInterrupt

    operator = ConsoleOperator(lambda question: str(never.wait()))
    with pytest.raises(KeyboardInterrupt):
        operator.load(83, stopped)
    never.set()


def test_the_board_is_served_while_a_person_thinks(twin: Rig) -> None:
    launcher = launcher_on(twin)
    launcher.prepare()
    began = twin.link.clock.now()
    thought = threading.Event()

    def think(question: str) -> str:
        thought.wait()
        return "3"

    def wait(seconds: float) -> None:
        launcher.idle(seconds)
        if twin.link.clock.now() - began > 1000.0:  # longer than the board's patience with a silent host
            thought.set()

    assert ConsoleOperator(think).count_out(wait) == 3
    assert twin.link.clock.now() - began > 1000.0
    status = launcher.board.status()
    assert (status.cause, status.outputs.bit_count()) == (0, 1), "toy power is still on"


# ---------------------------------------------------------------------- nobody


def test_nobody_says_that_the_hopper_is_loaded_and_does_not_count() -> None:
    loads: list[int] = []
    nobody = NoOperator(loads.append)
    nobody.load(83, no_wait)
    assert loads == [83]
    assert nobody.count_out(no_wait) is None


NEEDS: dict[str, Callable[[Operator], object]] = {
    "wants 20 cards": lambda operator: operator.reload(20, no_wait),
    "sticks in the mouth": lambda operator: operator.clear_mouth(no_wait),
    "wants cleaning": lambda operator: operator.clean(no_wait),
    "lid wants a hand": lambda operator: operator.work("lid", no_wait),
}


@pytest.mark.parametrize("says", NEEDS)
def test_what_needs_hands_and_has_none_says_how_to_get_them(says: str) -> None:
    with pytest.raises(OperatorNeededError, match=f"{says}.*--operator console"):
        NEEDS[says](NoOperator())


# ---------------------------------------------------------------------- the twin's own hands


@pytest.mark.parametrize("sensor", WORK)
def test_a_sensor_that_is_worked_shows_it_to_the_firmware_and_is_at_rest_again(sensor: Sensor, twin: Rig) -> None:
    happenings: list[Happening] = []
    launcher = launcher_on(twin, happenings=happenings)
    launcher.idle(0.2)
    at_rest = dict(launcher.levels)
    twin.operator.work(sensor, launcher.idle)
    launcher.idle(0.2)
    seen = [each.data["level"] for each in happenings if each.kind == sensor]
    assert seen == [1 - at_rest[sensor], at_rest[sensor]]
    assert launcher.levels == at_rest


def test_a_card_held_into_a_beam_is_hidden_by_one_that_stands_there() -> None:
    rig = open_rig("twin:roller?seed=7&brain=iid&p_fire=1&jam=1&slip=0")
    rig.preload(20)
    launcher = launcher_on(rig)
    launcher.prepare()
    record = launcher.perform(PressRequest(number=1, burst=1, index=0, tick=0, hopper=20))
    assert record.verdict == "jam"
    bench = bench_of(rig)
    assert bench.plant.by_hand(bench.avr.cycle, "beam_a", True) == []
    assert bench.plant.by_hand(bench.avr.cycle, "interlock", True) != []
    rig.close()
