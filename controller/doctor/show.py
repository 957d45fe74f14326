# SPDX-License-Identifier: Apache-2.0
"""How the doctor's checks are told: lines for a person, one object for a program."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from controller.doctor.checks import Check, Status, worst
from rig import __version__

STYLE = {Status.ok: "green", Status.warn: "yellow", Status.fail: "bold red", Status.skipped: "dim"}
NAME_WIDTH = 14
ARROW = 7  # columns before a remedy
COMMAND = re.compile(r"\b(launchrig|sudo|avrdude|kill|apt-get) ")


class Teller:
    """Prints checks as they come, with a heading for each place."""

    def __init__(self, console: Console, name_width: int = NAME_WIDTH) -> None:
        """`name_width`: characters of the longest name."""
        self._console = console
        self._name_width = name_width
        self._indent = 2 + 8 + name_width + 1
        self._where: str | None = None

    def __call__(self, check: Check) -> None:
        """Print one check; a remedy with a command stays one line, so that it can be copied from a terminal."""
        if check.where != self._where:
            if self._where is not None:
                self._line(Text())
            self._line(Text(check.where, style="bold"))
            self._where = check.where
        found = check.finding
        first, *rest = self._folded(found.found, self._indent) or [""]
        line = Text("  ")
        line.append(f"{found.status.value:<8}", style=STYLE[found.status])
        line.append(f"{check.name:<{self._name_width}} {first}")
        self._line(line)
        for more in rest:
            self._line(Text(" " * self._indent + more))
        if found.remedy:
            lines = [found.remedy] if COMMAND.search(found.remedy) else self._folded(found.remedy, ARROW)
            for number, text in enumerate(lines):
                self._line(Text(f"{'' if number else '->':>{ARROW - 1}} {text}"))

    def _folded(self, text: str, indent: int) -> list[str]:
        width = self._console.width - indent if self._console.is_terminal else 10_000
        return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)

    def _line(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True, highlight=False)


def summary(checks: Sequence[Check], examined: int) -> str:
    """One line on what it all comes to."""
    counts = {status: sum(check.finding.status is status for check in checks) for status in Status}
    parts = [f"{counts[status]} {status.value}" for status in (Status.ok, Status.warn, Status.fail, Status.skipped)]
    boards = "no board was examined" if not examined else f"{examined} board{'s' * (examined > 1)} examined"
    return f"{', '.join(parts)}; {boards}"


def as_json(machine: dict[str, Any], ports: Sequence[dict[str, Any]], checks: Iterable[Check], examined: int, code: int) -> str:
    """Everything as one strict JSON object; its keys are documented in `docs/doctor.md` and stay."""
    checks = list(checks)
    return json.dumps(
        {
            "launchrig": __version__,
            "machine": machine,
            "ports": list(ports),
            "checks": [check.as_json() for check in checks],
            "examined": examined,
            "worst": worst(checks).value,
            "exit_code": code,
        },
        indent=1,
        allow_nan=False,
    )
