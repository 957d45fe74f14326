# SPDX-License-Identifier: Apache-2.0
"""Random commands to the real firmware on the blaster's twin, and what the bench counted at the pins meanwhile.

The limits are stated here anew, from docs/blaster.md, so that the guard is not judged by its own table.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from rig.board import Board
from rig.errors import ControllerResetError, LinkLostError
from rig.links.twin import TwinLink
from rig.open import open_rig
from rig.twin.avr import CYCLE_HZ
from rig.twin.coils import GROUP, Coils
from rig.wire.messages import (
    PULSE_MAX_MS,
    SETTINGS,
    STOP_SEND,
    Abort,
    Cause,
    Insert,
    Message,
    Output,
    Power,
    Press,
    Pulse,
    Reset,
    Set,
    Slots,
)

MS = CYCLE_HZ // 1000


@dataclass(frozen=True)
class Limit:
    """Milliseconds: longest on, and within any window no more than `store` and `share` of the window."""

    on: int
    store: int
    share: float


LIMITS = {f"slot{n}": Limit(80, 400, 1 / 16) for n in range(1, 7)} | {
    "launch": Limit(200, 2000, 1 / 2),
    "reset": Limit(400, 2000, 1 / 4),
    "roller": Limit(5200, 10000, 1 / 2),
    "reverse": Limit(600, 1000, 1 / 8),
}
WINDOWS_S = (1, 3, 10, 60)


def command(draw: random.Random) -> Message:
    """Any command that can move something, or change how long it moves, with values in and out of range."""
    number, soon = draw.randrange(1, 1 << 32), 0
    makers: tuple[Callable[[], Message], ...] = (
        lambda: Insert(number, 1, 0, soon, draw.randrange(0, 9)),
        lambda: Reset(number, 1, 0, soon),
        lambda: Press(number, 1, 0, draw.randrange(2), soon, 20, draw.randrange(0, 5200), draw.randrange(256)),
        lambda: Pulse(draw.randrange(12), draw.randrange(0, 70), draw.choice((0, 19, 20, 128, 255))),
        lambda: Slots(draw.randrange(128) if draw.random() < 0.3 else 0, draw.randrange(8) if draw.random() < 0.3 else 0),
        lambda: Power(draw.random() < 0.9),
        lambda: Abort(),
        lambda: _set(draw),
    )
    return draw.choices(makers, weights=(8, 4, 3, 8, 3, 3, 4, 2))[0]()


def _set(draw: random.Random) -> Message:
    names = ("insert_hold_ms", "reset_hold_ms", "press_hold_ms", "settle_ms", "slots", "launcher", "wiring")
    name = draw.choices(names, weights=(6, 6, 6, 6, 2, 2, 1))[0]
    setting = SETTINGS[name]
    span = setting.max - setting.min
    return Set(setting.key, draw.choice((setting.max, setting.max + 1, setting.min, setting.min + draw.randrange(span + 1))))


class Torment:
    """A board that gets random sequences of commands; `answered` counts those that it answered."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.rig = open_rig(f"twin:blast?seed={seed}&slots=6")
        link = self.rig.link
        assert isinstance(link, TwinLink)
        self.bench = link.bench
        self.answered = 0
        self.board = Board(link, lambda event: None, nonce=self.rig.nonce, new_uuid=self.rig.new_uuid, stop_asked=lambda: False)

    def sequence(self) -> None:
        """One to eight commands with pauses of up to 0.4 s; now and then a STOP, or a reset of the board.

        One sequence in ten says the same again and again, as fast as an output may be switched on.
        """
        draw = self._draw
        again = draw.random() < 0.1
        same = Pulse(draw.randrange(10), PULSE_MAX_MS, 255)
        for _ in range(draw.randrange(5, 15) if again else draw.randrange(1, 9)):
            try:
                if again:
                    self.board.command(same)
                    self._pause(0.27)
                else:
                    self._one()
            except (ControllerResetError, LinkLostError) as error:
                self.board.reconnect(error, 60.0)

    def _pause(self, seconds: float) -> None:
        moment = self.board.link.clock.now() + seconds
        while self.board.link.clock.now() < moment:
            self.board.serve(moment)

    def _one(self) -> None:
        draw, board = self._draw, self.board
        chance = draw.random()
        if chance < 0.005:
            board.link.write(bytes(STOP_SEND))
        elif chance < 0.006:
            self.bench.reset()
        else:
            board.command(command(draw))
            self.answered += 1
        if draw.random() < 0.6:
            self._pause(draw.random() * draw.choice((0.01, 0.1, 0.4)))
        if draw.random() < 0.3:
            while cause := board.status().cause:
                board.clear_fault(Cause(cause))

    def close(self) -> None:
        """End it."""
        self.rig.close()


def faults_of(coils: Coils) -> list[str]:
    """What was more than the limits allow; empty when all kept to them."""
    found = [f"{coils.overlaps} times two coils were on at once"] if coils.overlaps else []
    for name, limit in LIMITS.items():
        if coils.longest(name) > limit.on * MS:
            found.append(f"{name} was on for {coils.longest(name) / MS:.1f} ms, {limit.on} allowed")
        for window_s in WINDOWS_S:
            allowed_ms = limit.store + limit.share * window_s * 1000
            most_ms = coils.most_within(name, window_s * CYCLE_HZ) / MS
            if most_ms > allowed_ms:
                found.append(f"{name} was on for {most_ms:.0f} ms within {window_s} s, {allowed_ms:.0f} allowed")
    return found


def torment(seed: int, sequences: int) -> tuple[Coils, int, Torment]:
    """What the bench counted over `sequences` random sequences, how many commands were answered, and the board."""
    board = Torment(seed)
    try:
        for _ in range(sequences):
            board.sequence()
    finally:
        board.close()
    return board.bench.coils, board.answered, board


assert {each.name for each in Output} - {"power"} == set(LIMITS) and set(LIMITS) > GROUP
