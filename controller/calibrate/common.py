# SPDX-License-Identifier: Apache-2.0
"""What every fitted launcher has, and the one error of fitting."""

from __future__ import annotations

from dataclasses import dataclass

from controller.errors import RefusedError

MOST_LOST = 0.05
"""Share of trials of which nobody knows whether they fired, above which no probability of firing is given: what is left
need not be like what was lost."""


class CalibrationError(RefusedError):
    """These runs cannot be fitted together; the text is one line that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted launcher; each kind adds its own parts.

    n_trials: presses or inserts attempted. excluded: how many of them each rule kept out of the statistics.
    """

    launcher: str
    drive: str
    dut: str
    n_trials: int
    excluded: dict[str, int]
