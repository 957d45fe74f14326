# SPDX-License-Identifier: Apache-2.0
"""A page as a browser would take it apart, and what must hold of every page whatever it is about."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a browser would find in the page: elements, attributes, visible text by element id."""

    VOID = frozenset({"meta", "link", "br", "hr", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.by_id: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {key: value or "" for key, value in attrs}
        self.elements.append((tag, own))
        if tag not in self.VOID:
            self._open.append((tag, own.get("id", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1][0] == tag, f"</{tag}> closes {self._open[-3:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "style":
            return
        self.text += data
        for _, name in self._open:
            if name:
                self.by_id[name] = self.by_id.get(name, "") + data

    def names(self) -> list[str]:
        return [tag for tag, _ in self.elements]


def assert_stands_alone(text: str) -> None:
    """Markup is balanced, ids are unique and found, and nothing in it names an outside address."""
    page = Page(text)
    for tag, attributes in page.elements:
        for key, value in attributes.items():
            where = f"<{tag} {key}={value!r}>"
            assert "//" not in value, where
            assert not key.startswith(("xmlns", "on")), where
            if key in ("href", "src", "xlink:href", "srcset", "action", "data"):
                assert value.startswith(("#", "data:,")), where
            assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)", value)), where
    assert not {"script", "iframe", "object", "embed", "img", "base", "image", "foreignobject"} & set(page.names())
    assert "@import" not in text
    assert "url(" not in re.sub(r"url\(#", "", text)
    ids = Counter(own["id"] for _, own in page.elements if "id" in own)
    assert [name for name, times in ids.items() if times > 1] == []
    targets = {own["href"][1:] for tag, own in page.elements if tag == "use"}
    targets |= set(re.findall(r"url\(#([^)]*)\)", text))
    assert targets <= set(ids)
