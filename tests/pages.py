"""The HTML of a report, taken apart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """The tags of a page, their attributes, and the text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.figures: Any = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if attributes.get("id") == "figures" and data.startswith("{"):
            self.figures = json.loads(data)
        elif tag not in ("script", "style"):
            self.texts.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)
