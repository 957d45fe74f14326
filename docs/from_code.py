# SPDX-License-Identifier: Apache-2.0
"""Parts of pages that are made from the code at every build, so that they cannot be out of date."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from rig.links import faults
from rig.twin.parameters import Parameters, Row, rows_of
from rig.twin.twins import TWINS

COMMANDS = ("demo", "press", "runs", "calibrate", "report", "twin", "doctor", "bench", "selftest")


def write_all(folder: Path) -> None:
    """Write every part into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {f"twin-{name}.md": parameters(twin.parameters) for name, twin in TWINS.items()}
    parts |= {"link-faults.md": link_faults(), "odds-fields.md": odds_fields()}
    parts |= {f"help-{name}.txt": command_help(name) for name in COMMANDS}
    for name, text in parts.items():
        (folder / name).write_text(text, encoding="utf-8")


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(titles)
    lines = [head, ["---"] * len(head), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def command_help(name: str) -> str:
    """What `launchrig NAME --help` prints."""
    from controller.cli import run

    text = io.StringIO()
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    with contextlib.redirect_stdout(text):
        run([name, "--help"])
    return text.getvalue()


def parameters(of: type[Parameters]) -> str:
    """The parameters of a twin."""
    rows = []
    for row in rows_of(of):
        source = re.sub(r"docs/(facts\.md#([a-z-]+))", lambda found: f"[{found[2].replace('-', ' ')}]({found[1]})", row.source)
        rows.append((f"`{row.name}`", _default(row.default), _limits(row), row.tag, f"{row.doc} *({source})*"))
    return table(("parameter", "default", "limits", "tag", "meaning *(source)*"), rows)


def link_faults() -> str:
    """What a faulty link can be told to do."""
    rows = [(f"`{row.name}`", _default(row.default), _limits(row), row.doc) for row in faults.TABLE]
    rows.append((f"`{faults.SEED}`", "", "whole numbers from 0", faults.SEED_DOC))
    return table(("parameter", "default", "limits", "meaning"), rows)


def _limits(row: Row) -> str:
    span = " or ".join(f"`{choice}`" for choice in row.choices) or f"{row.minimum:g} to {row.maximum:g}"
    return f"{span} {row.unit}" if row.unit not in ("", "1") else span


def _default(value: object) -> str:
    if not isinstance(value, tuple):
        return f"{value}"
    return ", ".join(f"{each[0]}:{each[1]:g}" if isinstance(each, tuple) else f"{each:g}" for each in value)


def odds_fields() -> str:
    """Every field of the odds file, from its schema: what all launchers have, then each launcher's own."""
    schema = json.loads(resources.files("controller.odds").joinpath("schema/odds.schema.json").read_text("utf-8"))
    head = ("field", "type", "meaning")
    parts = ["Of every launcher:\n\n" + table(head, _fields(schema, schema, ""))]
    for branch in schema["allOf"]:
        launcher = branch["if"]["properties"]["launcher"]["const"]
        parts.append(f"Where `launcher` is `{launcher}`:\n\n" + table(head, _fields(_resolved(branch["then"], schema), schema, "")))
    return "\n".join(parts)


def _fields(schema: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, part in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        alternatives = [_resolved(each, root) for each in part.get("oneOf", [part])]
        known = [each for each in alternatives if each.get("type") != "null" and "value" not in each.get("properties", {})]
        words = part.get("description") or next((each["description"] for each in known if "description" in each), "")
        if any("value" in each.get("properties", {}) for each in alternatives):
            words += " Or `value` null with a `reason`."
        null = any(each.get("type") == "null" for each in alternatives)
        yield f"`{here}`", _type(known[0], null) if known else "null", words
        for each in known:
            yield from _fields(each, root, here)
            if "items" in each:
                yield from _fields(_resolved(each["items"], root), root, f"{here}[]")


def _resolved(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    return {**root["$defs"][part["$ref"].rpartition("/")[2]], **{key: part[key] for key in part if key != "$ref"}}


def _type(part: dict[str, Any], null: bool) -> str:
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return " or ".join("null" if value is None else f"`{value}`" for value in part["enum"])
    kinds = part.get("type", "")
    words = kinds if isinstance(kinds, str) else " or ".join(kinds)
    return f"{words} or null" if null else words
