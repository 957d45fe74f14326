# SPDX-License-Identifier: Apache-2.0
"""Is the blaster's toy awake? Nothing tells, so it is inferred: from the time before a trial, from what it showed after.

The toy sleeps after three minutes without activity (docs/facts.md, B12); how exactly its own clock keeps them is not
verified, so close to that moment the answer is `unknown`.
"""

from __future__ import annotations

from typing import Literal

AWAKE_S = 180.0
"""Seconds without activity after which the toy sleeps (docs/facts.md, B12)."""

MARGIN = 0.02
"""Share of that by which the toy's clock may be off; unverified."""

ToyState = Literal["awake", "asleep", "unknown"]

SURELY_ASLEEP_S = AWAKE_S * (1 + MARGIN)
"""Seconds without activity from which on the toy certainly sleeps."""


def expected(idle_s: float | None) -> ToyState:
    """The state after `idle_s` seconds without activity; None when it is not known when the last one was."""
    if idle_s is None or AWAKE_S * (1 - MARGIN) < idle_s < SURELY_ASLEEP_S:
        return "unknown"
    return "awake" if idle_s < AWAKE_S else "asleep"


def shown(kind: str, *, accepted: bool, released: bool, whole: bool, before: ToyState) -> ToyState:
    """The state in which a trial of `kind` met the toy, given what it showed and what was expected `before`.

    A toy that sleeps takes no insert, and a reset only wakes it: then the latch is not driven. Only a trial that was observed as a
    `whole` tells that nothing came.
    """
    if released or (accepted and kind == "insert"):
        return "awake"
    if accepted and whole:
        return "asleep"
    return "unknown" if before == "awake" else before
