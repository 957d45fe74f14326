# SPDX-License-Identifier: Apache-2.0
"""Writing and reading the odds file: checked against its schema, strict JSON, whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from controller.calibrate.count import WEIGHT_TOTAL
from controller.odds.build import OddsError


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the odds file, as the package ships it."""
    text = files("controller.odds").joinpath("schema", "odds.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def check_odds(odds: dict[str, Any]) -> None:
    """Raise `OddsError`, with the place, when the odds break their schema or what a schema cannot say."""
    error = best_match(_validator().iter_errors(odds))
    if error is not None:
        raise OddsError(f"odds{error.json_path.removeprefix('$')}: {error.message}")
    count = odds["count"]
    if "weights" in count:
        lengths = {len(count[name]) for name in ("support", "weights", "p", "ci_low", "ci_high", "alpha")}
        if len(lengths) != 1:
            raise OddsError("odds.count: support, weights, p, ci_low, ci_high and alpha differ in length")
        if sum(count["weights"]) != WEIGHT_TOTAL:
            raise OddsError(f"odds.count.weights: the sum is {sum(count['weights'])}, it must be {WEIGHT_TOTAL}")


def odds_text(odds: dict[str, Any]) -> str:
    """The file's text: strict JSON, keys sorted, so that equal odds are equal to the byte. Checked first."""
    check_odds(odds)
    return json.dumps(odds, allow_nan=False, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def write_odds(path: Path, odds: dict[str, Any]) -> None:
    """Write the odds; an older file at `path` stays whole until the new one is. Raises `OddsError` and `OSError`."""
    text = odds_text(odds)
    if not path.parent.is_dir():
        raise OddsError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes a file for its owner only; the odds are for anyone.
        fresh.chmod(0o644)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
