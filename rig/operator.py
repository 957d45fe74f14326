# SPDX-License-Identifier: Apache-2.0
"""What only a person can do at the bench: fill hopper or loader, clear the mouth, clean the roller, work a sensor.

An operator lets time pass through the `wait` that it is given, so that the link stays served meanwhile.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from rig.errors import OperatorNeededError
from rig.wire.messages import Launcher

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


@dataclass(frozen=True, slots=True)
class Hands:
    """What a person is asked to do at one kind of machine, in words; `{cards}` stands for the number of cards.

    load: before the first trial. take_out: what is left, and counted. refill: after that. place: what errors call it.
    """

    load: str
    take_out: str
    refill: str
    place: str


HANDS: dict[Launcher, Hands] = {
    Launcher.roller: Hands(
        load="Empty the hopper, put in {cards} cards, close the lid until it snaps",
        take_out="Open the lid and take out all cards",
        refill="Put in {cards} cards, close the lid until it snaps",
        place="the hopper",
    ),
    Launcher.blast: Hands(
        load="Empty the slots and the loader, and lay one card each into the loaders of slots 1 to {cards}",
        take_out="Take every card out of the loader, the slots and the mouth",
        refill="Lay one card each into the loaders of slots 1 to {cards}",
        place="the loader",
    ),
}


class Operator(Protocol):
    """Whoever stands at the bench."""

    def meet(self, launcher: Launcher) -> None:
        """Learn which machine is on the bench; before that it is a roller launcher."""
        ...

    def load(self, cards: int, wait: Wait) -> None:
        """Before the first trial: nothing in the machine but `cards`, in hopper or loader; the lid closed."""
        ...

    def reload(self, cards: int, wait: Wait) -> int:
        """Take out what is left, put `cards` in. Returns how many cards were left, of a blaster those in its slots, too."""
        ...

    def count_out(self, wait: Wait) -> int | None:
        """After the last trial: take out what is left. Returns how many cards that was, None when nobody counts."""
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
        self._hands = HANDS[Launcher.roller]

    def meet(self, launcher: Launcher) -> None:
        """Name the right place in errors."""
        self._hands = HANDS[launcher]

    def load(self, cards: int, wait: Wait) -> None:
        """Nothing to do: `cards` are said to be there."""
        self._loaded(cards)

    def count_out(self, wait: Wait) -> int | None:
        """None: nobody counts."""
        return None

    def reload(self, cards: int, wait: Wait) -> int:
        """Always raises `OperatorNeededError`."""
        raise OperatorNeededError(f"{self._hands.place} wants {cards} cards and nobody is there; run with --operator console")

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
        self._hands = HANDS[Launcher.roller]

    def meet(self, launcher: Launcher) -> None:
        """Ask in the words of that machine."""
        self._hands = HANDS[launcher]

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
            wait(0.1)  # that went away sends a signal, too, which then is the reason
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
        self._answer(f"{self._hands.load.format(cards=cards)}, then press Enter. ", wait)

    def reload(self, cards: int, wait: Wait) -> int:
        """Ask how many cards were left, then for the reload."""
        left = self._number(f"{self._hands.take_out}. How many were left? ", wait)
        self._answer(f"{self._hands.refill.format(cards=cards)}, then press Enter. ", wait)
        return left

    def count_out(self, wait: Wait) -> int | None:
        """Ask how many cards were left at the end."""
        return self._number(f"{self._hands.take_out}. How many were left? ", wait)

    def clear_mouth(self, wait: Wait) -> int:
        """Ask for the mouth to be cleared."""
        return self._number("Pull out every card that sticks in the mouth. How many were there? ", wait)

    def clean(self, wait: Wait) -> None:
        """Ask for the roller to be cleaned."""
        self._answer("Clean the roller, then press Enter. ", wait)

    def work(self, sensor: Sensor, wait: Wait) -> None:
        """Ask for the sensor to be worked."""
        self._answer(f"{WORK[sensor]}, then press Enter. ", wait)
