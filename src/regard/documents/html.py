"""HTML: the text of a block is a segment, and so is an attribute that readers see; the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from regard.documents.markup import MarkupToken, escape, text_with_references, tokens
from regard.documents.segments import Code, Item, Languages, Segment, Slot, parts_of, shown

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins kbd label mark nobr q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_CODE = frozenset("code kbd samp var tt".split())
_OPAQUE = _CODE | frozenset(
    "script style xmp iframe noembed noframes template svg math object canvas pre".split()
)
_HEADING = re.compile("h([1-6])")
_NUM_SHOWN = 40
"""maximum characters of inline code that the model sees"""

_SEEN_ATTRIBUTES = frozenset("alt title placeholder aria-label".split())
_BUTTONS = frozenset("submit button reset".split())
_DESCRIPTIONS = frozenset(
    "description og:title og:description twitter:title twitter:description".split()
)
# One attribute after another, as a browser reads them: a value without quotation marks ends at white space.
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(=?[^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?"""
)
_QUOTES = {2: '"', 3: "'", 4: ""}
"""quotation mark of each group of the pattern"""
_SURELY_TEXT = re.compile(r"[\w&;#.,!?-]+")
"""a value without quotation marks that every parser reads alike"""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """The value of an attribute and its position in the tag."""

    start: int
    raw: str
    quote: str

    @property
    def text(self) -> str:
        return unescape(self.raw)

    def parts(self) -> list[str | Segment]:
        return parts_of(text_with_references(self.raw), self._escape)

    def written(self, new: str) -> str:
        """The new value as the file has it; several words need quotation marks."""
        return new if self.quote or new == self.raw else f'"{new}"'

    def _escape(self, text: str) -> str:
        quote = self.quote or '"'
        return escape(text).replace(quote, "&#39;" if quote == "'" else "&quot;")


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    return _PageReader(text, languages).read(), []


class _PageReader:
    def __init__(self, text: str, languages: Languages) -> None:
        self.text, self.languages = text, languages
        self.slots: list[Slot] = []
        self.items: list[Item] = []
        """content of the open block"""
        self.start = 0
        self.values: dict[str, list[AttributeValue]] = {}
        """by each tag of the open block, its attributes that readers see"""
        self.level = 0
        self.row: int | None = None
        self.is_head = False

    def read(self) -> list[Slot]:
        for token, items in _items(self.text):
            is_page = token.name == "html"
            values = _seen_values(token) if token.kind == "open" and not is_page else []
            if items is None:
                self._end_block(token.start)
                self._note(token)
                self.slots += [_value_slot(token, value) for value in values]
                if is_page and token.kind == "open" and all(self.languages):
                    self.slots.append(self._page_tag(token))
                continue
            if not self.items:
                self.start = token.start
            self.items += items
            if values:
                self.values[self.text[token.start : token.end]] = values
        self._end_block(len(self.text))
        return self.slots

    def _end_block(self, end: int) -> None:
        if not self.items:
            return
        values = self.values

        def finish(block: str, asides: list[str], doubtful: bool) -> str:
            return _with_values(block, values, iter(asides)) if values else block

        asides = [value.parts() for found in values.values() for value in found]
        is_head = self.row is not None and self.is_head
        self.slots.append(
            Slot(self.start, end, parts_of(self.items, escape), asides, finish, self.level, self.row, is_head)
        )  # fmt: skip
        self.items, self.values = [], {}

    def _note(self, token: MarkupToken) -> None:
        """Remember the heading or the table row that the next blocks are in."""
        is_open = token.kind == "open"
        if heading := _HEADING.fullmatch(token.name):
            self.level = int(heading[1]) if is_open else 0
        elif token.name == "tr":
            self.row = token.start if is_open else None
        elif token.name in ("td", "th"):
            self.is_head = token.name == "th"
        elif token.name == "table":
            self.row = None

    def _page_tag(self, token: MarkupToken) -> Slot:
        """A page that declared the source language declares the target language."""
        source, target = self.languages
        declared = re.compile(
            rf"""(?<=[\s:])(lang\s*=\s*["']?){re.escape(source)}(?:-\w+)*(?![\w-])""", re.IGNORECASE
        )
        tag = declared.sub(lambda match: match[1] + target, self.text[token.start : token.end])
        return Slot(token.start, token.end, [tag])


def _value_slot(tag: MarkupToken, value: AttributeValue) -> Slot:
    """The attribute of a tag that is in no sentence."""

    def finish(written: str, asides: list[str], doubtful: bool) -> str:
        return value.written(asides[0])

    start = tag.start + value.start
    return Slot(start, start + len(value.raw), [], [value.parts()], finish)


def _with_values(block: str, values: dict[str, list[AttributeValue]], new: Iterator[str]) -> str:
    """The block with new values in its tags."""
    tags: dict[str, str] = {}
    for tag, found in values.items():
        tags[tag], cursor = "", 0
        for value in found:
            tags[tag] += tag[cursor : value.start] + value.written(next(new))
            cursor = value.start + len(value.raw)
        tags[tag] += tag[cursor:]
    raws = ((token.kind, block[token.start : token.end]) for token, _ in _items(block))
    return "".join(tags.get(raw, raw) if kind == "open" else raw for kind, raw in raws)


def _seen_values(tag: MarkupToken) -> list[AttributeValue]:
    """The attributes of a tag that readers see, in order."""
    values = dict(_values(tag))
    if _is_protected(values):
        return []
    given = {name: value.text.lower() for name, value in values.items()}
    names = set(_SEEN_ATTRIBUTES)
    if tag.name == "link":  # the title of a link to a style is a name to choose by
        names -= {"title"}
    if tag.name == "input" and given.get("type") in _BUTTONS:
        names |= {"value"}
    if tag.name == "meta" and given.get("name", given.get("property")) in _DESCRIPTIONS:
        names |= {"content"}
    # Not part of a program that writes the page, and read alike by all parsers.
    return [
        value
        for name, value in values.items()
        if name in names
        and "<" not in value.raw
        and (value.quote or _SURELY_TEXT.fullmatch(value.raw))
    ]


def _values(tag: MarkupToken) -> Iterator[tuple[str, AttributeValue]]:
    """Each attribute with a value; of two with one name the first counts."""
    start = tag.end - tag.start - len(">") - len(tag.attributes)
    cursor, seen = 0, set[str]()
    while match := _ATTRIBUTE.match(tag.attributes, cursor):
        cursor = match.end()
        name, group = match[1].lower(), match.lastindex or 1
        if group > 1 and name not in seen:
            yield name, AttributeValue(start + match.start(group), match[group], _QUOTES[group])
        seen.add(name)


def _is_protected(values: dict[str, AttributeValue]) -> bool:
    """Whether the attributes of an element say that it is not to be translated."""
    texts = {name: values[name].text for name in ("translate", "class") if name in values}
    return texts.get("translate") == "no" or "notranslate" in texts.get("class", "").split()


def _items(text: str) -> Iterator[tuple[MarkupToken, list[Item] | None]]:
    """Each token with its items in a segment; None where it ends a block."""
    stream = tokens(text)
    for token in stream:
        raw = text[token.start : token.end]
        if token.kind == "text":
            yield token, list(text_with_references(raw))
        elif token.kind == "open" and _is_opaque(token):
            end, is_closed = _skip(token, stream)
            whole = MarkupToken("other", token.start, end, token.name)
            # An element that is never closed takes the rest of the page with it.
            yield whole, _opaque(token, text[whole.start : end]) if is_closed else None
        elif token.kind == "other":
            yield token, [Code(raw, "alone")] if raw.startswith("<!--") else None
        elif token.name not in _INLINE:
            yield token, None
        elif token.is_void:
            yield token, [Code(raw, "alone")]
        else:
            yield token, [Code(raw, token.kind, name=token.name)]


def _is_opaque(token: MarkupToken) -> bool:
    return not token.is_void and (token.name in _OPAQUE or _is_protected(dict(_values(token))))


def _skip(opened: MarkupToken, stream: Iterator[MarkupToken]) -> tuple[int, bool]:
    """Where the element ends, and whether it does."""
    depth, end = 1, opened.end
    for token in stream:
        end = token.end
        if token.name == opened.name and not token.is_void:
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            return end, True
    return end, False


def _opaque(token: MarkupToken, raw: str) -> list[Item] | None:
    """Short code in a sentence is shown to the model, which copies it; a block ends the segment."""
    if token.name not in _INLINE | _CODE:
        return None
    content = (raw[part.start : part.end] for part in tokens(raw) if part.kind == "text")
    text = "".join(shown(item) for part in content for item in text_with_references(part))
    is_shown = 0 < len(text) <= _NUM_SHOWN and text == text.strip()
    return [Code(raw, "kept", text) if is_shown else Code(raw, "alone")]
