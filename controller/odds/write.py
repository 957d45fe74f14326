# SPDX-License-Identifier: Apache-2.0
"""Writing and reading the odds file: checked against its schema, strict JSON, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from controller.calibrate.categorical import WEIGHT_TOTAL
from controller.files import write_whole
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
    for place, counts in _distributions("odds", odds):
        lengths = {len(counts[name]) for name in ("support", "weights", "p", "ci_low", "ci_high", "alpha")}
        if len(lengths) != 1:
            raise OddsError(f"{place}: support, weights, p, ci_low, ci_high and alpha differ in length")
        if sum(counts["weights"]) != WEIGHT_TOTAL:
            raise OddsError(f"{place}.weights: the sum is {sum(counts['weights'])}, it must be {WEIGHT_TOTAL}")


def _distributions(place: str, part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every distribution of a number of cards, with its place."""
    if isinstance(part, dict):
        if "weights" in part:
            yield place, part
        for name, each in part.items():
            yield from _distributions(f"{place}.{name}", each)
    elif isinstance(part, list):
        for index, each in enumerate(part):
            yield from _distributions(f"{place}[{index}]", each)


def odds_text(odds: dict[str, Any]) -> str:
    """The file's text: strict JSON, keys sorted, so that equal odds are equal to the byte. Checked first."""
    check_odds(odds)
    return json.dumps(odds, allow_nan=False, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def write_odds(path: Path, odds: dict[str, Any]) -> None:
    """Write the odds, whole or not at all. Raises `OddsError` for odds that break their schema, `RefusedError` for `path`."""
    write_whole(path, odds_text(odds))
