# SPDX-License-Identifier: Apache-2.0
"""What only a person can do at the bench: reload the hopper, clear the mouth, clean the roller, work a sensor.

An operator lets time pass through the `wait` that it is given, so that the link stays served meanwhile.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Literal, Protocol

from rig.errors import OperatorNeededError

Wait = Callable[[float], None]
"""Lets that many seconds of the rig's clock pass while the link is served."""


MOST_CARDS = 1000

Sensor = Literal["beam_a", "beam_b", "lid", "interlock"]
"""What a person can work so that its sensor shows it."""

WORK: dict[Sensor, str] = {
    "beam_a": "Pass a card by hand through beam A, the one at the mouth",
    "beam_b": "Pass a card by hand through beam B, the one downstream",
    "lid": "Open the lid and close it until it snaps",
    "interlock": "Take the catch bin out and put it back, or press the emergency stop and release it",
}


class Operator(Protocol):
    """Whoever stands at the bench."""

    def load(self, cards: int, wait: Wait) -> None:
        """Before the first press: the hopper empty but for `cards`, the lid closed."""
        ...

    def reload(self, cards: int, wait: Wait) -> int:
        """Open the lid, take out what is left, put `cards` in, close the lid. Returns how many cards were left."""
        ...

    def count_out(self, wait: Wait) -> int | None:
        """After the last press: take out what is left. Returns how many cards that was, None when nobody counts."""
        ...

    def clear_mouth(self, wait: Wait) -> int:
        """Pull out whatever sticks in the mouth. Returns how many cards that was."""
        ...

    def clean(self, wait: Wait) -> None:
        """Clean the roller."""
        ...

    def work(self, sensor: Sensor, wait: Wait) -> None:
        """Work `sensor` once: a card through a beam and out of it, the lid or the interlock open and closed again."""
        ...


class NoOperator:
    """Nobody is there: the hopper is taken to be loaded, and whatever needs a person after that ends the run."""

    def __init__(self, loaded: Callable[[int], None] = lambda cards: None) -> None:
        """`loaded` makes true, in the twin, what is said of the hopper."""
        self._loaded = loaded

    def load(self, cards: int, wait: Wait) -> None:
        """Nothing to do: `cards` are said to be in the hopper."""
        self._loaded(cards)

    def count_out(self, wait: Wait) -> int | None:
        """None: nobody counts."""
        return None

    def reload(self, cards: int, wait: Wait) -> int:
        """Always raises `OperatorNeededError`."""
        raise OperatorNeededError(f"the hopper wants {cards} cards and nobody is there; run with --operator console")

    def clear_mouth(self, wait: Wait) -> int:
        """Always raises `OperatorNeededError`."""
        raise OperatorNeededError("a card sticks in the mouth and nobody is there; run with --operator console")

    def clean(self, wait: Wait) -> None:
        """Always raises `OperatorNeededError`."""
        raise OperatorNeededError("the roller wants cleaning and nobody is there; run with --operator console")

    def work(self, sensor: Sensor, wait: Wait) -> None:
        """Always raises `OperatorNeededError`."""
        raise OperatorNeededError(f"{sensor} wants a hand and nobody is there; run with --operator console")


class ConsoleOperator:
    """A person at the terminal, asked in words; answers are numbers of cards."""

    def __init__(self, ask: Callable[[str], str] = input, tell: Callable[[str], None] = print) -> None:
        self._ask = ask
        self._tell = tell

    def _answer(self, question: str, wait: Wait) -> str:
        """Ask in a thread and serve the link meanwhile: a person is slow and the board must not think the host dead."""
        answers: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._ask(question))
            except BaseException as error:
                answers.put(error)

        threading.Thread(target=ask, daemon=True).start()
        while answers.empty():
            wait(0.1)
        answer = answers.get()
        if isinstance(answer, (EOFError, RuntimeError, OSError)):  # no terminal, or one that went away
            raise OperatorNeededError(f"nobody answers: {question.strip()}") from answer
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _number(self, question: str, wait: Wait) -> int:
        while True:
            answer = self._answer(question, wait).strip()
            if answer.isdecimal() and int(answer) <= MOST_CARDS:
                return int(answer)
            self._tell(f"{answer!r} is no number of cards; type for example 0 or 12")

    def load(self, cards: int, wait: Wait) -> None:
        """Ask for the first load."""
        self._answer(f"Empty the hopper, put in {cards} cards, close the lid until it snaps, then press Enter. ", wait)

    def reload(self, cards: int, wait: Wait) -> int:
        """Ask how many cards were left, then for the reload."""
        left = self._number("Open the lid and take out all cards. How many were left? ", wait)
        self._answer(f"Put in {cards} cards, close the lid until it snaps, then press Enter. ", wait)
        return left

    def count_out(self, wait: Wait) -> int | None:
        """Ask how many cards were left at the end."""
        return self._number("Open the lid and take out all cards. How many were left? ", wait)

    def clear_mouth(self, wait: Wait) -> int:
        """Ask for the mouth to be cleared."""
        return self._number("Pull out every card that sticks in the mouth. How many were there? ", wait)

    def clean(self, wait: Wait) -> None:
        """Ask for the roller to be cleaned."""
        self._answer("Clean the roller, then press Enter. ", wait)

    def work(self, sensor: Sensor, wait: Wait) -> None:
        """Ask for the sensor to be worked."""
        self._answer(f"{WORK[sensor]}, then press Enter. ", wait)
