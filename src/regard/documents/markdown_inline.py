"""What stands in a line of Markdown: emphasis, links, code, escapes and tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set

from regard.documents.markup import inline_items
from regard.documents.segments import Code, Item

_LONGEST_LABEL = 1000
"""as CommonMark has it, which keeps a text of brackets from being read over and over"""
_NUM_SHOWN = 60

# No alternative can begin where another one has failed after a long way, so the time is that of one reading.
_TOKEN = re.compile(
    r"""
      (?P<escaped>\\[!-/:-@\[-`{-~])
    | (?P<ticks>`+)
    | (?P<autolink><(?:https?://|mailto:)?[^\s<>]{1,2000}[.@:/][^\s<>]{1,2000}>)
    | (?P<math>\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d))
    | (?P<footnote>\[\^[^\]\s]{1,100}\])
    | (?P<close>\](?:\((?:[^()\\]|\\.|\([^()]{0,200}\)){0,500}\)|\[[^\[\]]{0,200}\]))
    | (?P<open>!?\[)
    | (?P<emphasis>\*{1,3}|_{1,3}|~~)
    """,
    re.VERBOSE | re.DOTALL,
)
_TO_ESCAPE = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")


def escape(text: str) -> str:
    """Text as a paragraph writes it, so that no sign in it is taken for a mark."""
    return _TO_ESCAPE.sub(lambda match: f"\\{match.group()}", text)


def inline(text: str, labels: Set[str]) -> list[Item]:
    """The items of a paragraph; `labels` are the links defined elsewhere in the file, by their names."""
    items: list[Item | tuple[str, str]] = []
    cursor = run = 0
    while match := _TOKEN.search(text, cursor):
        found = _code(text, match, labels)
        cursor = match.end() if found is None else found[1]
        if found is not None:
            items += [("text", text[run : match.start()]), found[0]]
            run = cursor
    items.append(("text", text[run:]))
    return list(_resolved(items))


def _code(text: str, match: re.Match[str], labels: Set[str]) -> tuple[Code, int] | None:
    """What a token is, and where it ends; None where it is plain text."""
    kind, raw = match.lastgroup, match.group()
    if kind == "escaped":
        return Code(raw, "kept", raw[1:]), match.end()
    if kind == "ticks":
        closing = re.compile(rf"(?<!`){raw}(?!`)").search(text, match.end())
        if closing is None:
            return None
        return _shown(
            text[match.start() : closing.end()], text[match.end() : closing.start()]
        ), closing.end()
    if kind == "autolink":
        return _shown(raw, raw[1:-1]), match.end()
    if kind == "math":
        return _shown(raw, raw), match.end()
    if kind == "footnote":
        return Code(raw, "alone"), match.end()
    if kind == "open" and raw == "[":
        end = text.find("]", match.end(), match.end() + _LONGEST_LABEL)
        label = text[match.end() : end]
        if end > 0 and label.casefold() in labels and text[end + 1 : end + 2] not in ("(", "["):
            return Code(text[match.start() : end + 1], "kept", label), end + 1
        if end > 0 and label.casefold() in labels and text.startswith("[]", end + 1):
            return Code(text[match.start() : end + 3], "kept", label), end + 3
    if kind in ("open", "close"):
        return Code(raw, "open" if kind == "open" else "close", name="["), match.end()
    return _emphasis(text, match)


def _emphasis(text: str, match: re.Match[str]) -> tuple[Code, int] | None:
    raw = match.group()
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    opens, closes = bool(after.strip()), bool(before.strip())
    if raw[0] == "_":
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    if not opens and not closes:
        return None
    # Which of the two it is when it could be both depends on what is open: `_resolved` decides.
    kind = "both" if opens and closes else "open" if opens else "close"
    return Code(raw, "open", name=f"{kind} {raw}"), match.end()


def _shown(raw: str, text: str) -> Code:
    text = text.strip()
    if 0 < len(text) <= _NUM_SHOWN and "\n" not in text:
        return Code(raw, "kept", text)
    return Code(raw, "alone")


def _resolved(items: list[Item | tuple[str, str]]) -> Iterator[Item]:
    """Marks that have a partner are tags; the others are signs of the text."""
    opened: list[int] = []
    num_open: Counter[str] = Counter()
    paired: dict[int, str] = {}
    for place, item in enumerate(items):
        if not isinstance(item, Code) or item.kind not in ("open", "close"):
            continue
        kind, _, name = item.name.rpartition(" ")
        kind = kind or item.kind
        if num_open[name] and kind in ("close", "both"):
            paired[place] = "close"
            while _name(items[start := opened.pop()]) != name:
                num_open[_name(items[start])] -= 1
            num_open[name] -= 1
            paired[start] = "open"
        elif kind in ("open", "both"):
            opened.append(place)
            num_open[name] += 1
    for place, item in enumerate(items):
        if isinstance(item, tuple):
            yield from inline_items(item[1])
        elif isinstance(item, Code) and item.kind in ("open", "close"):
            if place in paired:
                is_open = paired[place] == "open"
                yield Code(item.raw, "open" if is_open else "close", name=_name(item))
            else:
                yield from inline_items(item.raw)
        else:
            yield item


def _name(item: object) -> str:
    assert isinstance(item, Code)
    return item.name.rpartition(" ")[2]
