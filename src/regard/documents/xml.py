"""XML as a tree with exact positions, so that everything that is not written anew stays byte for byte.

Expat, which comes with Python, decides what is well formed. A file with entities of its own, which can grow without
bound or read other files, is refused before any of them is read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from xml.parsers import expat

from regard.documents.markup import split_items, text_with_references
from regard.documents.segments import Code, CodeKind, Item, Part, TextRun, check_cancelled, code_with, shown
from regard.errors import DataError

_MAX_DEPTH = 500
_TAG_END = re.compile(r"""(?:[^>"']|"[^"]*"|'[^']*')*>""")
_NOT_TEXT = re.compile(r"<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<\?.*?\?>", re.DOTALL)
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(slots=True)
class Element:
    name: str  # without the prefix of its namespace
    prefix: str
    attributes: dict[str, str]
    start: int
    inner: int  # offset of the beginning of its content
    parent: Element | None = None
    stop: int = 0  # offset of the end of its content
    end: int = 0
    children: list[Element] = field(default_factory=list)

    def child(self, name: str) -> Element | None:
        return next((child for child in self.children if child.name == name), None)

    def all(self, *names: str) -> Iterator[Element]:
        for child in self.children:
            if child.name in names:
                yield child
            yield from child.all(*names)

    def inherited(self, attribute: str) -> str:
        """The attribute's value of this element or of the nearest one around it."""
        if attribute in self.attributes or self.parent is None:
            return self.attributes.get(attribute, "")
        return self.parent.inherited(attribute)

    def prefixed(self, name: str) -> str:
        """The name of another element of the same namespace."""
        return f"{self.prefix}:{name}" if self.prefix else name


KindOf = Callable[[str], CodeKind | Literal["pair"]]
Nested = Callable[[Element], tuple[Part, ...]]


def parse(text: str, root: str = "") -> Element:
    """The tree of a file; its outermost element must have the name `root`, if one is given."""
    top = current = Element("", "", {}, 0, 0)
    depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal current, depth
        start, depth = parser.CurrentByteIndex, depth + 1
        if depth > _MAX_DEPTH:
            raise DataError(
                f"elements must be nested at most {_MAX_DEPTH} deep: got more in line "
                f"{parser.CurrentLineNumber}; no tool writes such a file"
            )
        prefix, _, name = name.rpartition(":")
        match = _TAG_END.match(text, start)
        inner = match.end() if match else start
        element = Element(name, prefix, attributes, start, inner, current, inner, inner)
        current.children.append(element)
        current = element

    def end(name: str) -> None:
        nonlocal current, depth
        if text[current.inner - 2] != "/":
            current.stop = parser.CurrentByteIndex
            current.end = text.index(">", current.stop) + 1
        assert current.parent is not None
        current, depth = current.parent, depth - 1

    def doctype(name: str, system: object, public: object, has_subset: int) -> None:
        if has_subset:
            raise DataError(
                "an XML file must declare no entities of its own, for they can read other files or grow "
                "without bound: got a DOCTYPE with declarations; remove them"
            )

    parser = expat.ParserCreate("us-ascii")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = doctype
    try:
        # Letters of one byte each, so that a byte's position is a character's.
        parser.Parse(re.sub("[^\x00-\x7f]", "x", text).encode(), True)
    except expat.ExpatError as error:
        raise DataError(
            f"the file must be well-formed XML: {expat.ErrorString(error.code)} in line {error.lineno}; mend it first"
        ) from error
    [outermost] = top.children
    if root and outermost.name != root:
        raise DataError(f"the outermost element must be <{root}>: got <{outermost.name}>; check the file's suffix")
    return outermost


def items_of(text: str, element: Element, kind_of: KindOf, nested: Nested = lambda element: ()) -> list[Item]:
    """The content of an element; kind_of: the kind of a name, `pair` for one around words; nested: the parts of a code."""
    check_cancelled()
    items: list[Item] = []
    cursor = element.inner
    for child in element.children:
        items += text_items(text[cursor : child.start])
        items += _inline(text, child, kind_of, nested)
        cursor = child.end
    return [*items, *text_items(text[cursor : element.stop])]


def _inline(text: str, element: Element, kind_of: KindOf, nested: Nested) -> list[Item]:
    raw, kind = text[element.start : element.end], kind_of(element.name)
    given = element.attributes
    if kind in ("open", "close"):
        # One of these attributes ties the end of an overlapping pair to its beginning.
        names = (given[key] for key in ("rid", "startRef", "i", "id") if given.get(key))
        return [Code(raw, kind, name=next(names, ""))]
    if kind != "pair" or element.inner == element.end:
        shows = " " if kind == "break" else ""
        return [Code(raw, "alone" if kind == "pair" else kind, shows, parts=nested(element))]
    content = items_of(text, element, kind_of, nested)
    if given.get("translate") == "no" or given.get("mtype") == "protected":
        return [code_with(raw, "".join(map(shown, content)))]
    # With the position, nested pairs of one name can be told apart.
    name = f"{element.name} {element.start}"
    opened = Code(text[element.start : element.inner], "open", name=name)
    return [opened, *content, Code(text[element.stop : element.end], "close", name=name)]


def text_items(raw: str) -> Iterator[Item]:
    def item(match: re.Match[str]) -> Item:
        cdata = match["cdata"]
        return TextRun(cdata, match.group()) if cdata else Code(match.group(), "alone")

    return split_items(raw, _NOT_TEXT, item, text_with_references)


def escape(text: str) -> str:
    """Text as XML has it, without the few characters that XML cannot hold."""
    return html.escape(_NO_CHARACTER.sub("", text), quote=False)
