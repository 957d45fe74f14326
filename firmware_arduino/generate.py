# SPDX-License-Identifier: Apache-2.0
"""Make the C++ tables, the Python messages and two pages from `protocol.toml`.

One description for all readers: nobody ever types a message type or an offset twice.
`python firmware_arduino/generate.py` writes the files, `--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
import zlib
from pathlib import Path
from typing import Any

import jinja2

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DESCRIPTION = HERE / "protocol.toml"
TARGETS = {
    "protocol.h.j2": HERE / "src/core/protocol.h",
    "messages.py.j2": ROOT / "rig/wire/messages.py",
    "protocol.md.j2": ROOT / "docs/protocol.md",
    "faults.md.j2": ROOT / "docs/faults.md",
}
FIXED = {"u8": 1, "u16": 2, "u32": 4, "u48": 6, "bytes[16]": 16}
TAILS = {"bytes": 1, "u24[]": 3, "u32[]": 4}


def load() -> dict[str, Any]:
    """Read `protocol.toml` and complete it: offsets, sizes, enum values in one form, the hash.

    Raises `ValueError` naming the message or field that breaks a rule of the description.
    """
    raw = tomllib.loads(DESCRIPTION.read_text(encoding="utf-8"))
    described = {
        "name": raw["name"],
        "version": raw["version"],
        "link": raw["link"],
        "scale": raw["scale"],
        "enums": [_enum(name, body, "value") for name, body in raw["enum"].items()],
        "flags": [_enum(name, body, "bit") for name, body in raw["flags"].items()],
        "settings": [{"name": name, **body} for name, body in raw["setting"].items()],
        "messages": [_message(name, body, raw) for name, body in raw["message"].items()],
    }
    types = [message["type"] for message in described["messages"]]
    if len(set(types)) != len(types):
        raise ValueError("protocol.toml: two messages have the same type")
    described["hash"] = zlib.crc32(json.dumps(_bare(raw), sort_keys=True).encode())
    return described


def _bare(node: Any) -> Any:
    """The description without documentation: what two builds must agree on."""
    if isinstance(node, dict):
        return {key: _bare(value) for key, value in node.items() if key not in ("doc", "remedy")}
    if isinstance(node, list) and len(node) == 4 and all(isinstance(part, str) for part in node):
        return node[:3]
    return [_bare(value) for value in node] if isinstance(node, list) else node


def _enum(name: str, body: dict[str, Any], key: str) -> dict[str, Any]:
    members = [
        {"name": member, "value": value[key], "doc": value.get("doc", ""), "remedy": value.get("remedy", "")}
        if isinstance(value, dict)
        else {"name": member, "value": value, "doc": "", "remedy": ""}
        for member, value in body.items()
        if member != "doc"
    ]
    return {"name": name, "doc": body["doc"], "members": members}


def _message(name: str, body: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    offset = 0
    for field, kind, unit, doc in body["fields"]:
        if fields and fields[-1]["kind"] in TAILS:
            raise ValueError(f"protocol.toml: {name}.{fields[-1]['name']} has no end but is not the last field")
        if kind not in FIXED and kind not in TAILS:
            raise ValueError(f"protocol.toml: {name}.{field}: unknown type {kind!r}")
        fields.append({"name": field, "kind": kind, "unit": unit, "doc": doc, "offset": offset})
        offset += FIXED.get(kind, 0)
    if offset > raw["link"]["max_payload"]:
        raise ValueError(f"protocol.toml: {name} is longer than max_payload")
    return {
        "name": name,
        "camel": "".join(part.capitalize() for part in name.split("_")),
        "type": body["type"],
        "to_host": body["type"] >= 0x80,
        "reliable": body.get("reliable", False),
        "doc": body["doc"],
        "fields": fields,
        "size": offset,
        "tail": fields[-1]["kind"] if fields and fields[-1]["kind"] in TAILS else "",
    }


def render() -> dict[Path, str]:
    """The generated files, by path."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    protocol = load()
    return {path: environment.get_template(template).render(p=protocol) for template, path in TARGETS.items()}


def main() -> int:
    """Write the files that are stale, or only name them; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    stale = []
    for path, text in render().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'stale' if check else 'wrote'}: {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
