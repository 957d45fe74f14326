# SPDX-License-Identifier: Apache-2.0
"""What a check says, and what a set of them comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.verdict import Exit

MACHINE = "machine"


class Status(StrEnum):
    """How a check came out, the worst first."""

    fail = "fail"
    warn = "warn"
    ok = "ok"
    skipped = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found: in words, with what mends it ("" when there is nothing to mend), and its figures for programs."""

    status: Status
    found: str
    remedy: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """A finding with its name and where it was made: `machine`, or the rig or port as the user would name it."""

    where: str
    name: str
    finding: Finding

    def as_json(self) -> dict[str, Any]:
        """The check for programs; the keys are documented in `docs/doctor.md` and stay."""
        found = self.finding
        return {
            "where": self.where,
            "name": self.name,
            "status": found.status.value,
            "found": found.found,
            "remedy": found.remedy,
            "data": found.data,
        }


def ok(found: str, **data: Any) -> Finding:
    """All is well."""
    return Finding(Status.ok, found, "", data)


def warn(found: str, remedy: str, **data: Any) -> Finding:
    """Something to look at, though the rig can be used."""
    return Finding(Status.warn, found, remedy, data)


def fail(found: str, remedy: str, **data: Any) -> Finding:
    """The rig cannot be used as it is."""
    return Finding(Status.fail, found, remedy, data)


def skipped(why: str, remedy: str = "") -> Finding:
    """Not looked at."""
    return Finding(Status.skipped, why, remedy)


def of_error(error: Exception) -> Finding:
    """An error's line as a failed check: what is wrong, then what mends it; `error` in its figures is the error's class."""
    found, _, remedy = str(error).partition("; ")
    return fail(found, remedy, error=type(error).__name__)


def worst(checks: Iterable[Check]) -> Status:
    """The worst status among `checks`."""
    found = {check.finding.status for check in checks}
    return next((status for status in Status if status in found), Status.skipped)


def exit_of(checks: Iterable[Check], examined: int) -> Exit:
    """The exit code: a failed check is a rig fault; a warning, or not one board examined, is no pass."""
    status = worst(checks)
    if status is Status.fail:
        return Exit.rig_fault
    return Exit.passed if status is Status.ok and examined else Exit.inconclusive
