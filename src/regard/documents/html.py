"""HTML: what stands between two blocks is a segment, and so is what an attribute says to a reader; the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.documents.attributes import Value, stays, values_of, with_values
from regard.documents.formats import Languages
from regard.documents.images import free_sign
from regard.documents.markup import (
    Token,
    attributes,
    escape,
    text_with_references,
    tokens,
)
from regard.documents.segments import Code, Item, Segment, Slot, parts_of, shown

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins kbd label mark nobr q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_OPAQUE = frozenset(
    "script style xmp iframe noembed noframes template svg math object canvas pre code kbd samp var tt".split()
)
_SHOWN = frozenset("code kbd samp var tt".split())
_HEADING = re.compile("h([1-6])")
_NUM_SHOWN = 40


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    slots: list[Slot] = []
    items: list[Item] = []
    said: dict[str, list[Value]] = {}
    start, around = 0, _Around(free_sign(text))
    for token, item in _items(text):
        values = values_of(token) if token.kind == "open" and token.name != "html" else []
        if item is not None:
            if not items:
                start = token.start
            items += item
            if values:
                said[text[token.start : token.end]] = values
            continue
        if items:
            slots.append(around.slot(start, token.start, items, said))
            items, said = [], {}
        around.note(token)
        slots += [value.slot(token) for value in values]
        if token.name == "html" and token.kind == "open" and all(languages):
            tag = text[token.start : token.end]
            slots.append(Slot(token.start, token.end, [_in_language(tag, *languages)]))
    if items:
        slots.append(around.slot(start, len(text), items, said))
    return slots, []


def _in_language(tag: str, source: str, target: str) -> str:
    """A page that said which language it was in says which it is in now."""
    said = re.compile(
        rf"""(?<=[\s:])(lang\s*=\s*["']?){re.escape(source)}(?:-\w+)*(?![\w-])""", re.IGNORECASE
    )
    return said.sub(lambda match: match[1] + target, tag)


class _Around:
    """What stands around a block: a heading or a row of a table."""

    def __init__(self, sign: str) -> None:
        self.sign = sign
        """to tell a block from what its tags say"""
        self.level = 0
        self.row: int | None = None
        self.is_head = False

    def note(self, token: Token) -> None:
        is_open = token.kind == "open"
        if heading := _HEADING.fullmatch(token.name):
            self.level = int(heading[1]) if is_open else 0
        elif token.name == "tr":
            self.row = token.start if is_open else None
        elif token.name in ("td", "th"):
            self.is_head = token.name == "th"
        elif token.name == "table":
            self.row = None

    def slot(self, start: int, end: int, items: list[Item], said: dict[str, list[Value]]) -> Slot:
        """A block; what the tags in it say is translated alone, written behind it, and put in its places at the end."""
        parts, is_head = parts_of(items, escape), self.row is not None and self.is_head
        asides: list[str | Segment] = []
        for values in said.values():
            for value in values:
                asides += [self.sign, *value.parts()]

        def finish(written: str, doubtful: bool) -> str:
            block, *new = written.split(self.sign)
            return _put_back(block, said, iter(new)) if said else written

        return Slot(
            *(start, end, [*parts, *asides], finish),
            level=self.level, row=self.row, is_head=is_head, num_asides=len(asides),
        )  # fmt: skip


def _put_back(block: str, said: dict[str, list[Value]], new: Iterator[str]) -> str:
    """The block with what became of the values of its tags."""
    became = {tag: with_values(tag, values, new) for tag, values in said.items()}
    pieces = ((token.kind, block[token.start : token.end]) for token, _ in _items(block))
    return "".join(became.get(raw, raw) if kind == "open" else raw for kind, raw in pieces)


def _items(text: str) -> Iterator[tuple[Token, list[Item] | None]]:
    """Each token with what it is in a segment; None where it ends one."""
    stream = tokens(text)
    for token in stream:
        raw = text[token.start : token.end]
        if token.kind == "text":
            yield token, list(text_with_references(raw))
        elif token.kind == "open" and _is_opaque(token):
            end, is_closed = _skip(token, stream)
            whole = Token("other", token.start, end, token.name)
            # What is never closed takes the rest with it, whatever would stand behind it.
            yield whole, _opaque(token, text[whole.start : end]) if is_closed else None
        elif token.kind == "other":
            yield token, [Code(raw, "alone")] if raw.startswith("<!--") else None
        elif token.name not in _INLINE:
            yield token, None
        elif token.is_void:
            yield token, [Code(raw, "alone")]
        else:
            yield token, [Code(raw, token.kind, name=token.name)]


def _is_opaque(token: Token) -> bool:
    if token.is_void:
        return False
    if token.name in _OPAQUE:
        return True
    return stays(attributes(token))


def _skip(opened: Token, stream: Iterator[Token]) -> tuple[int, bool]:
    """Where the element ends, and whether it does."""
    depth, end = 1, opened.end
    for token in stream:
        end = token.end
        if token.name == opened.name and not token.is_void:
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            return end, True
    return end, False


def _opaque(token: Token, raw: str) -> list[Item] | None:
    """A piece of code or a name in a sentence is shown to the model, which copies it; a block ends the segment."""
    if token.name not in _INLINE | _SHOWN:
        return None
    content = [part for part in tokens(raw) if part.kind == "text"]
    text = "".join(
        shown(item) for part in content for item in text_with_references(raw[part.start : part.end])
    )
    if 0 < len(text) <= _NUM_SHOWN and text == text.strip():
        return [Code(raw, "kept", text)]
    return [Code(raw, "alone")]
