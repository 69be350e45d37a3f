"""XML as a tree with the exact place of everything, so that all but a few places stays byte for byte.

Expat, which comes with Python, decides what is well formed. Entities of a file's own, which can grow without
bound or read other files, are refused before any of them is looked at.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from regard.documents.markup import text_with_references
from regard.documents.segments import Code, Item, Run
from regard.errors import DataError

MOST_NESTED = 500

# What has been found well formed needs no more care than this.
_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<\?.*?\?>|<![^>]*>"""
    r"""|<(?P<close>/?)(?P<name>[^\s/>!?]+)(?P<rest>(?:[^>"']|"[^"]*"|'[^']*')*)>""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?<![^\s=])([^\s=]++)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(slots=True)
class Element:
    name: str
    """without the prefix of its namespace"""
    prefix: str
    attributes: dict[str, str]
    start: int
    inner: int
    """where its content begins"""
    parent: Element | None = None
    stop: int = 0
    """where its content ends"""
    end: int = 0
    children: list[Element] = field(default_factory=list)

    def child(self, *names: str) -> Element | None:
        return next((child for child in self.children if child.name in names), None)

    def all(self, *names: str) -> Iterator[Element]:
        for child in self.children:
            if child.name in names:
                yield child
            yield from child.all(*names)

    def inherited(self, attribute: str) -> str:
        """The attribute's value here or at the nearest element around."""
        element: Element | None = self
        while element is not None:
            if attribute in element.attributes:
                return element.attributes[attribute]
            element = element.parent
        return ""


def parse(text: str, root: str) -> Element:
    """The tree of a file whose outermost element must have this name."""
    _check(text)
    top = Element("", "", {}, 0, 0)
    current = top
    for match in _TOKEN.finditer(text):
        if not match["name"]:
            continue
        if match["close"]:
            current.stop, current.end = match.start(), match.end()
            assert current.parent is not None
            current = current.parent
            continue
        prefix, _, name = match["name"].rpartition(":")
        rest = match["rest"]
        found = {key: html.unescape(a or b) for key, a, b in _ATTRIBUTE.findall(rest)}
        element = Element(name, prefix, found, match.start(), match.end(), current)
        current.children.append(element)
        if rest.endswith("/"):
            element.stop, element.end = match.end(), match.end()
        else:
            current = element
    [outermost] = top.children
    if outermost.name != root:
        raise DataError(
            f"the outermost element must be <{root}>: got <{outermost.name}>; check the file's suffix"
        )
    return outermost


def _check(text: str) -> None:
    depth = 0

    def begin(name: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_NESTED:
            raise DataError(
                f"elements must be nested at most {MOST_NESTED} deep: got more in line "
                f"{parser.CurrentLineNumber}; no tool writes such a file"
            )

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(name: str, system: object, public: object, has_subset: int) -> None:
        if has_subset:
            raise DataError(
                "an XML file must declare no entities of its own, for they can read other files or grow "
                "without bound: got a DOCTYPE with declarations; remove them"
            )

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise DataError(
            f"the file must be well-formed XML: {expat.ErrorString(error.code)} in line {error.lineno}; "
            "mend it first"
        ) from error


def items_of(text: str, element: Element, codes: dict[str, str]) -> list[Item]:
    """What stands in an element; `codes` says of inline elements what kind they are, `pair` for a tag around words."""
    items: list[Item] = []
    cursor = element.inner
    for child in element.children:
        items += _text_items(text[cursor : child.start])
        items += _inline(text, child, codes)
        cursor = child.end
    return [*items, *_text_items(text[cursor : element.stop])]


def _inline(text: str, element: Element, codes: dict[str, str]) -> list[Item]:
    raw, kind = text[element.start : element.end], codes.get(element.name, "alone")
    told = element.attributes
    # One of these ties the end of an overlapping pair to its beginning.
    name = told.get("rid") or told.get("startRef") or told.get("i") or told.get("id") or ""
    if kind == "open":
        return [Code(raw, "open", name=name)]
    if kind == "close":
        return [Code(raw, "close", name=name)]
    if kind != "pair" or element.inner == element.end:
        return [Code(raw, "alone")]
    content = items_of(text, element, codes)
    if told.get("translate") == "no" or told.get("mtype") == "protected":
        shown = "".join(item.text if isinstance(item, Run) else item.shown for item in content)
        return [Code(raw, "kept", shown) if shown.strip() else Code(raw, "alone")]
    # Nested pairs of one name cannot be told apart by it, so the place is the name.
    name = f"{element.name} {element.start}"
    opened = Code(text[element.start : element.inner], "open", name=name)
    return [opened, *content, Code(text[element.stop : element.end], "close", name=name)]


def _text_items(raw: str) -> Iterator[Item]:
    cursor = 0
    for match in _TOKEN.finditer(raw):
        yield from text_with_references(raw[cursor : match.start()])
        if match["cdata"]:
            yield Run(match["cdata"], match.group())
        else:
            yield Code(match.group(), "alone")
        cursor = match.end()
    yield from text_with_references(raw[cursor:])


def escape(text: str) -> str:
    """Text as XML writes it, without the few characters that XML has no way to write."""
    text = _NO_CHARACTER.sub("", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def space_before(text: str, element: Element) -> str:
    """The line end and indentation in front of an element, for one that is to stand beside it."""
    before = text[max(0, element.start - 1000) : element.start]
    return before[len(before.rstrip()) :]
