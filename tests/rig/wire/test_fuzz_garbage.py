# SPDX-License-Identifier: Apache-2.0
"""The coverage-guided fuzzer, for a bounded number of inputs; `./dev fuzz` runs it for longer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.firmware.core import build

pytest.importorskip("atheris", reason="atheris has no package for this Python or processor")
ROOT = Path(__file__).resolve().parents[3]
INPUTS = 4000


def test_guided_by_coverage_both_receivers_agree_and_keep_their_rules(tmp_path: Path) -> None:
    build("build/libcore_guided.so")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    options = [f"-runs={INPUTS}", "-seed=1", "-max_len=400", f"-artifact_prefix={tmp_path}/"]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.rig.wire.fuzz_garbage", *options, str(corpus)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    done = re.search(r"^Done (\d+) runs", ran.stderr, re.MULTILINE)
    assert done and int(done[1]) >= INPUTS  # and those that it began with
    # It was guided: by the C++, which is one module of counters, and to places where the seeds had not been.
    assert "Loaded 1 modules" in ran.stderr
    reached = [int(features) for features in re.findall(r"^#\d+\s+(?:INITED|DONE) .*?\bft: (\d+)", ran.stderr, re.MULTILINE)]
    assert reached[-1] > reached[0] > 0
