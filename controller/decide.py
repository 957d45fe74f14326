# SPDX-License-Identifier: Apache-2.0
"""Who decides in `direct` drive: the controller, with one of the three models and a seed of its own."""

from __future__ import annotations

import numpy as np

from rig.brains import MODELS, Brain

# Keeps the host's draws apart from those of a twin with the same seed.
STREAM = 0x686F7374


class DecisionSource:
    """A run time for each press, 0 = do not run; the same `model` and `seed` give the same run times."""

    def __init__(self, model: str, seed: int) -> None:
        self._brain = Brain(MODELS[model]())
        self._random = np.random.default_rng((seed, STREAM))

    def next_run_ms(self) -> int:
        """Run time of the next press, in milliseconds."""
        u_fire, u_run = self._random.random(2)
        return self._brain.decide(float(u_fire), float(u_run)).run_ms

    def restart(self) -> None:
        """A reload: the model forgets its presses, as a toy does at lid close."""
        self._brain.restart()
