# SPDX-License-Identifier: Apache-2.0
"""The command as a user runs it: whole processes on the real firmware in the twin."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

LAUNCHRIG = Path(sys.executable).with_name("launchrig")


@dataclass(frozen=True)
class Demo:
    """What a demo left behind."""

    out: Path
    process: subprocess.CompletedProcess[str]

    @property
    def trials(self) -> list[dict[str, str]]:
        with (self.out / "trials.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    @property
    def odds(self) -> dict[str, Any]:
        return json.loads((self.out / "odds.json").read_text(encoding="utf-8"))

    @property
    def truth(self) -> dict[str, Any]:
        return json.loads((self.out / "truth.json").read_text(encoding="utf-8"))

    def pairs(self) -> list[tuple[dict[str, str], dict[str, Any]]]:
        """Each trial with its truth."""
        truth = {str(each["trial"]): each for each in self.truth["trials"]}
        return [(trial, truth[trial["trial"]]) for trial in self.trials if trial["trial"] in truth]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Demo]:
    """Runs `launchrig demo` with these arguments; the same arguments run once per session unless `again` is given."""
    done: dict[tuple[str, ...], Demo] = {}

    def run(*arguments: str, again: bool = False, code: int = 0) -> Demo:
        if arguments not in done or again:
            out = tmp_path_factory.mktemp("demo")
            process = subprocess.run(
                [LAUNCHRIG, "demo", *arguments, "--out", str(out)], capture_output=True, text=True, check=False
            )
            assert process.returncode == code, process.stdout + process.stderr
            done[arguments] = Demo(out, process)
        return done[arguments]

    return run
