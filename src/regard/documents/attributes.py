"""What an element of HTML says beside its text: of an image, in an empty field, on a button, when one points at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from regard.documents.markup import Token, attributes, escape, text_with_references
from regard.documents.segments import Segment, Slot, parts_of

_SAID = frozenset("alt title placeholder aria-label".split())
_NAMES_A_STYLE = "link"
"""the element whose title is a name to choose by"""
_BUTTONS = frozenset("submit button reset".split())
_DESCRIPTIONS = frozenset(
    "description og:title og:description twitter:title twitter:description".split()
)

# One attribute after another, as a browser reads them: what has no quotation marks ends at white space.
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(=?[^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?"""
)
_QUOTES = {2: '"', 3: "'", 4: ""}
"""around the value that a group of the pattern holds"""
_PLAIN = re.compile(r"[\w&;#.,!?-]+")
"""a value without quotation marks that is text for sure"""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an attribute, and where it stands in its tag."""

    start: int
    raw: str
    quote: str
    """around it; empty where there is none"""

    def parts(self) -> list[str | Segment]:
        return parts_of(text_with_references(self.raw), self._escape)

    def slot(self, tag: Token) -> Slot:
        """A place of its own, where the tag stands in no sentence."""
        parts, start = self.parts(), tag.start + self.start
        end = start + len(self.raw)
        return Slot(start, end, parts, lambda new, _: self.written(new), num_asides=len(parts))

    def written(self, new: str) -> str:
        """How the file has the new value; several words need quotation marks."""
        return new if self.quote or new == self.raw else f'"{new}"'

    def _escape(self, text: str) -> str:
        sign = self.quote or '"'
        return escape(text).replace(sign, "&#39;" if sign == "'" else "&quot;")


def values_of(tag: Token) -> list[Value]:
    """What a tag says to a reader, in order."""
    told = attributes(tag)
    if stays(told):
        return []
    names = _SAID - {"title"} if tag.name == _NAMES_A_STYLE else set(_SAID)
    if tag.name == "input" and told.get("type", "").lower() in _BUTTONS:
        names |= {"value"}
    if tag.name == "meta" and told.get("name", told.get("property", "")).lower() in _DESCRIPTIONS:
        names |= {"content"}
    return [value for name, value in _values(tag) if name in names and _is_text(value)]


def with_values(tag: str, values: Iterable[Value], new: Iterator[str]) -> str:
    """A tag with what its values became."""
    written, cursor = "", 0
    for value in values:
        written += tag[cursor : value.start] + value.written(next(new))
        cursor = value.start + len(value.raw)
    return written + tag[cursor:]


def stays(told: dict[str, str]) -> bool:
    """Whether the attributes of an element say that it is not to be translated."""
    return told.get("translate") == "no" or "notranslate" in told.get("class", "").split()


def _values(tag: Token) -> Iterator[tuple[str, Value]]:
    """Each attribute that has a value; of two with one name the first counts."""
    start = tag.end - tag.start - len(">") - len(tag.attributes)
    cursor, seen = 0, set[str]()
    while match := _ATTRIBUTE.match(tag.attributes, cursor):
        cursor = match.end()
        name, place = match[1].lower(), match.lastindex or 1
        if place > 1 and name not in seen:
            yield name, Value(start + match.start(place), match[place], _QUOTES[place])
        seen.add(name)


def _is_text(value: Value) -> bool:
    """Not a part of a program that writes the page; and nothing that two readers would read differently."""
    return "<" not in value.raw and bool(value.quote or _PLAIN.fullmatch(value.raw))
