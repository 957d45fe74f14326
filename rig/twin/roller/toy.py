# SPDX-License-Identifier: Apache-2.0
"""The toy's own board: button, sound, lid, power, and the decision to run the roller.

Everything here but what `docs/facts.md#the-launcher` says of sounds and lid is a guess, as the parameters' tags tell.
"""

from __future__ import annotations

from rig.brains import Draw
from rig.twin.plan import SOUND_PIN, cycles
from rig.twin.roller.parameters import RollerParameters


class Toy:
    """The board's state. All times are cycles; `sound` is the last sound's beginning and end."""

    def __init__(self, parameters: RollerParameters) -> None:
        self._p = parameters
        self.brain = parameters.new_brain()
        self.powered = False
        self.lid_closed = True
        self.sound = (0, 0)
        self._deaf_until = 0
        self._untaken: tuple[int, tuple[int, int], int, tuple[int, int]] | None = None

    def power_on(self, cycle: int) -> None:
        """Boot: the brain begins anew, and the button is not looked at for a while."""
        self.powered = True
        self.brain.restart()
        self._deaf_until = cycle + cycles(self._p.boot_ms)

    def power_off(self, cycle: int) -> None:
        """Fall silent at once."""
        self.powered = False
        self.sound = (min(self.sound[0], cycle), min(self.sound[1], cycle))

    def open_lid(self) -> None:
        """No card is launched while the lid is open."""
        self.lid_closed = False

    def close_lid(self, cycle: int) -> None:
        """Beep when powered, and let the brain begin anew."""
        self.lid_closed = True
        self.brain.restart()
        if self.powered:
            begin = cycle + cycles(self._p.debounce_ms)
            self.sound = (begin, begin + cycles(self._p.beep_ms))
            self._deaf_until = self.sound[1]

    def press(self, cycle: int, u_fire: float, u_run: float) -> Draw | None:
        """The button goes down and, for all that is known yet, stays there. None when the board does not listen."""
        if not self.lid_closed or cycle < self._deaf_until:
            return None
        self._untaken = (cycle + cycles(self._p.debounce_ms), self.brain.memory(), self._deaf_until, self.sound)
        begin = cycle + cycles(self._p.sound_delay_ms)
        self.sound = (begin, begin + cycles(self._p.sound_ms))
        self.stay_deaf(self.sound[1])
        return self.brain.decide(u_fire, u_run)

    def stay_deaf(self, until: int) -> None:
        """Listen to no press before `until` and the lockout."""
        self._deaf_until = max(self._deaf_until, until + cycles(self._p.lockout_ms))

    def forget(self, cycle: int) -> bool:
        """The button came up, or power went: whether that was too early for the last press, which then never was."""
        untaken, self._untaken = self._untaken, None
        if untaken is None or cycle >= untaken[0]:
            return False
        _, memory, self._deaf_until, self.sound = untaken
        self.brain.recall(memory)
        return True

    def sound_edges(self, cycle: int) -> list[tuple[int, int, int]]:
        """Edges of the sound at its pin from `cycle` on."""
        begin, end = self.sound
        return [(when, SOUND_PIN, level) for when, level in ((begin, 1), (end, 0)) if when >= cycle and begin < end]

    def steps_A(self, cycle: int) -> list[tuple[int, float]]:
        """The board's current from `cycle` on: (cycle, ampere from then on)."""
        if not self.powered:
            return [(cycle, 0.0)]
        idle, loud = self._p.idle_mA / 1000, (self._p.idle_mA + self._p.sound_mA) / 1000
        begin, end = self.sound
        steps = [(cycle, loud if begin <= cycle < end else idle)]
        return steps + [(when, level) for when, level in ((begin, loud), (end, idle)) if when > cycle and begin < end]
