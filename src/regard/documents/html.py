"""HTML: the text of a block is a segment, and so is an attribute that readers see; the rest stays."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import chain

from regard.documents.markup import MarkupToken, escape, text_with_references, tokens
from regard.documents.segments import CODE_TAGS, Code, CodeKind, Item, Languages, Part, Slot, code_with, parts_of, shown

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins kbd mark nobr q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_OPAQUE = CODE_TAGS | frozenset("script style xmp iframe noembed noframes template svg math object canvas pre".split())
_OBJECTS = frozenset(("img", "input"))
_HEADING = re.compile("h([1-6])")

_SEEN_ATTRIBUTES = frozenset("alt title placeholder aria-label".split())
_BUTTONS = frozenset("submit button reset".split())
_DESCRIPTIONS = frozenset("description og:title og:description twitter:title twitter:description".split())
# One attribute after another, as a browser reads them: a value without quotation marks ends at white space.
_ATTRIBUTE = re.compile(r"""[\s/]*+(=?[^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?""")
_QUOTES = {2: '"', 3: "'", 4: ""}  # quotation mark of each group of the pattern
_ESCAPES = {'"': lambda text: escape(text).replace('"', "&quot;"), "'": lambda text: escape(text).replace("'", "&#39;")}


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    slots: list[Slot] = []
    block: list[Item] = []
    start = level = 0
    row: int | None = None
    is_head = False
    end = MarkupToken("other", len(text), len(text))
    for token, items in chain(_items(text), [(end, None)]):
        if items is not None:
            start = start if block else token.start
            block += items
            continue
        if block:
            slots.append(Slot(start, token.start, parts_of(block, escape), level, row, row is not None and is_head))
            block = []
        is_open = token.kind == "open"
        if heading := _HEADING.fullmatch(token.name):
            level = int(heading[1]) if is_open else 0
        elif token.name in ("tr", "table"):
            row = token.start if is_open and token.name == "tr" else None
        elif token.name in ("td", "th"):
            is_head = token.name == "th"
        if is_open:
            is_page = token.name == "html" and all(languages)
            parts = [_page_tag(text[token.start : token.end], *languages)] if is_page else tag_parts(text, token)
            slots.append(Slot(token.start, token.end, parts, is_aside=True))
    return slots, []


def _page_tag(tag: str, source: str, target: str) -> str:
    """A page that declared the source language declares the target language."""
    declared = re.compile(rf"""(?<=[\s:])(lang\s*=\s*["']?){re.escape(source)}(?:-\w+)*(?![\w-])""", re.IGNORECASE)
    return declared.sub(lambda match: match[1] + target, tag)


def tag_parts(text: str, tag: MarkupToken) -> list[Part]:
    """The tag, with segments for the attributes that readers see."""
    values = _values(tag)
    parts: list[Part] = []
    cursor = tag.start
    for name in _seen_names(tag, values):
        start, raw, quote = values[name]
        # Not part of a program that writes the page. Without quotation marks, parsers differ on where a value ends.
        if quote and "<" not in raw:
            parts += [text[cursor : tag.start + start], *parts_of(text_with_references(raw), _ESCAPES[quote])]
            cursor = tag.start + start + len(raw)
    return [*parts, text[cursor : tag.end]]


def _seen_names(tag: MarkupToken, values: dict[str, tuple[int, str, str]]) -> list[str]:
    """The attributes of a tag that readers see, in order."""
    if _is_protected(values):
        return []
    given = {name: unescape(raw).lower() for name, (_, raw, _) in values.items()}
    # The title of a link to a style is a name to choose by.
    names = set() if tag.name == "link" else set(_SEEN_ATTRIBUTES)
    if tag.name == "input" and given.get("type") in _BUTTONS:
        names |= {"value"}
    if tag.name == "meta" and given.get("name", given.get("property")) in _DESCRIPTIONS:
        names |= {"content"}
    return [name for name in values if name in names]


def _values(tag: MarkupToken) -> dict[str, tuple[int, str, str]]:
    """Place in the tag, value and quotation mark of each attribute; of two with one name the first counts."""
    start = tag.end - tag.start - len(">") - len(tag.attributes)
    cursor, found, seen = 0, dict[str, tuple[int, str, str]](), set[str]()
    while match := _ATTRIBUTE.match(tag.attributes, cursor):
        cursor = match.end()
        name, group = match[1].lower(), match.lastindex or 1
        if group > 1 and name not in seen:
            found[name] = (start + match.start(group), match[group], _QUOTES[group])
        seen.add(name)
    return found


def _is_protected(values: dict[str, tuple[int, str, str]]) -> bool:
    """Whether the attributes of an element say that it is not to be translated."""
    texts = {name: unescape(values[name][1]) for name in ("translate", "class") if name in values}
    return texts.get("translate") == "no" or "notranslate" in texts.get("class", "").split()


def _items(text: str) -> Iterator[tuple[MarkupToken, list[Item] | None]]:
    """Each token with its items in a segment; None where it ends a block."""
    stream = tokens(text)
    for token in stream:
        raw = text[token.start : token.end]
        if token.kind == "text":
            yield token, list(text_with_references(raw))
        elif token.kind == "open" and not token.is_void and (token.name in _OPAQUE or _is_protected(_values(token))):
            end, is_closed = _skip(token, stream)
            whole = MarkupToken("other", token.start, end, token.name)
            # An element that is never closed takes the rest of the page with it.
            yield whole, _opaque(token, text[whole.start : end]) if is_closed else None
        elif token.kind == "other":
            yield token, [Code(raw, "alone")] if raw.startswith("<!--") else None
        elif token.name not in _INLINE:
            yield token, None
        else:
            parts = tag_parts(text, token) if token.kind == "open" else []
            single: CodeKind = "object" if token.name in _OBJECTS else "alone"
            kind: CodeKind = single if token.is_void else token.kind
            texts = tuple(parts) if len(parts) > 1 else ()
            yield token, [Code(raw, kind, name="" if token.is_void else token.name, parts=texts)]


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
    if token.name not in _INLINE | CODE_TAGS:
        return None
    content = (raw[part.start : part.end] for part in tokens(raw) if part.kind == "text")
    return [code_with(raw, "".join(shown(item) for part in content for item in text_with_references(part)))]
