"""What stands in a line of Markdown: emphasis, links, code, escapes and tags."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from regard.documents import abandoning
from regard.documents.emphasis import Delimiters, delimiters, pair
from regard.documents.markup import inline_items
from regard.documents.segments import Code, Item, Run

_LONGEST_LABEL = 1000
"""as CommonMark has it, which keeps a text of brackets from being read over and over"""
_NUM_SHOWN = 60

# No alternative can begin where another one has failed after a long way, so the time is that of one reading.
_TOKEN = re.compile(
    r"""
      (?P<escaped>\\[!-/:-@\[-`{-~])
    | (?P<ticks>`+)
    | (?P<autolink><(?=[^\s<>]{1,2000}[.@:/][^\s<>])[^\s<>]{3,4000}+>)
    | (?P<math>\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d))
    | (?P<footnote>\[\^[^\[\]\s]{1,100}\])
    | (?P<close>\](?:\((?:[^()\\]|\\.|\([^()]{0,200}\)){0,500}\)|\[[^\[\]]{0,200}\]))
    | (?P<open>!?\[)
    | (?P<emphasis>\*+|_+|~+)
    """,
    re.VERBOSE | re.DOTALL,
)

_LINK = Code("[", "open", name="[")
Piece = str | Code | Run | Delimiters

_TICKS = re.compile("`+")
# Marks where a paragraph begins, and there the reader of blocks sees to it; elsewhere signs like others.
_ONLY_AT_A_START = ".)-+"
_TO_ESCAPE = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")


def escape(text: str) -> str:
    """Text as a paragraph writes it, so that no sign in it is taken for a mark."""
    return _TO_ESCAPE.sub(lambda match: f"\\{match.group()}", text)


def inline(text: str, labels: Set[str]) -> list[Item]:
    """The items of a paragraph; `labels` are the links defined elsewhere in the file, by their names."""
    return list(_resolved(_Marks(text, labels).token_strings()))


def marks_of(text: str, labels: Set[str]) -> Counter[tuple[str, str]]:
    """What a reader of Markdown makes of a paragraph, but for its words."""
    return Counter(
        (item.kind, item.raw)
        for item in inline(text, labels)
        if isinstance(item, Code) and item.kind != "break" and not _is_text(item)
    )


def _is_text(code: Code) -> bool:
    return code.kind == "kept" and code.raw in (code.shown, f"\\{code.shown}")


class _Marks:
    """The marks of a paragraph; what would be looked for again and again is looked up once."""

    def __init__(self, text: str, labels: Set[str]) -> None:
        self.text, self.labels = text, labels
        self.last_link_end = max(text.rfind("]("), text.rfind("]["))
        self.ticks: dict[str, list[int]] = {}
        """where each length of them stands"""
        for match in _TICKS.finditer(text):
            self.ticks.setdefault(match.group(), []).append(match.start())

    def token_strings(self) -> list[Piece]:
        """Marks, and the text between them."""
        found: list[Piece] = []
        cursor = run = 0
        while match := _TOKEN.search(self.text, cursor):
            abandoning.check()
            code = self._code(match)
            cursor = match.end() if code is None else match.start() + len(code.raw)
            if code is not None:
                found += [self.text[run : match.start()], code]
                run = cursor
        return [*found, self.text[run:]]

    def _code(self, match: re.Match[str]) -> Code | Run | Delimiters | None:
        """What a token is, as far as it reaches; None where it is plain text."""
        kind, raw = match.lastgroup, match.group()
        if kind == "escaped":
            return Run(raw[1:], raw) if raw[1] in _ONLY_AT_A_START else Code(raw, "kept", raw[1:])
        if kind == "ticks":
            return self._ticks(match)
        if kind == "autolink":
            return _shown(raw, raw[1:-1])
        if kind == "math":
            return _shown(raw, raw)
        if kind == "footnote":
            return Code(raw, "alone")
        if kind == "close":
            return Code(raw, "close", name="[")
        if kind == "open":
            return self._open(match)
        start, end = match.span()
        before, after = self.text[max(0, start - 1) : start], self.text[end : end + 1]
        return delimiters(raw, before, after)

    def _ticks(self, match: re.Match[str]) -> Code | None:
        places = self.ticks.get(match.group(), [])
        closing = bisect_left(places, match.end())
        if closing == len(places):
            return None
        start, end = match.start(), places[closing] + len(match.group())
        return _shown(self.text[start:end], self.text[match.end() : places[closing]])

    def _open(self, match: re.Match[str]) -> Code | None:
        """The beginning of a link or an image, or the name of a link that is defined elsewhere."""
        text, start = self.text, match.end()
        if self.labels and match.group() == "[":
            end = text.find("]", start, start + _LONGEST_LABEL)
            if end > 0 and text[start:end].casefold() in self.labels:
                label = text[start:end]
                if text[end + 1 : end + 2] not in ("(", "["):
                    return Code(f"[{label}]", "kept", label)
                if text.startswith("[]", end + 1):
                    return Code(f"[{label}][]", "kept", label)
        return Code(match.group(), "open", name="[") if start <= self.last_link_end else None


def _shown(raw: str, text: str) -> Code:
    text = text.strip()
    if 0 < len(text) <= _NUM_SHOWN and "\n" not in text:
        return Code(raw, "kept", text)
    return Code(raw, "alone")


def _resolved(pieces: Sequence[Piece]) -> Iterator[Item]:
    """Marks that have a partner are tags; the others are signs of the text."""
    links = _links(pieces)
    for runs in _by_link(pieces, links):
        pair(runs)
    text = ""
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            text += piece
            continue
        if isinstance(piece, Delimiters):
            items: list[Item] = [Code(raw, "close", name=raw) for raw in piece.closing]
        elif isinstance(piece, Code) and piece.kind in ("open", "close") and place not in links:
            text += piece.raw
            continue
        else:
            items = [piece]
        if items:
            yield from inline_items(text)
            yield from items
            text = ""
        if isinstance(piece, Delimiters):
            text += piece.left
            if piece.opening:
                yield from inline_items(text)
                yield from (Code(raw, "open", name=raw) for raw in piece.opening)
                text = ""
    yield from inline_items(text)


def _links(pieces: Sequence[Piece]) -> set[int]:
    """The places of brackets that have a partner."""
    opened: list[int] = []
    num_around = 0
    """of the open ones, those that have a link in them already"""
    found: set[int] = set()
    for place, piece in enumerate(pieces):
        if not isinstance(piece, Code):
            continue
        if piece.kind == "open":
            opened.append(place)
        elif piece.kind == "close" and opened:
            start = opened.pop()
            is_link, is_around = pieces[start] == _LINK, len(opened) < num_around
            num_around = min(num_around, len(opened))
            # There is no link in a link, though there may be an image.
            if is_link and is_around:
                continue
            found |= {start, place}
            if is_link:
                num_around = len(opened)
    return found


def _by_link(pieces: Sequence[Piece], links: Set[int]) -> list[list[Delimiters]]:
    """Emphasis does not go into a link or out of one: the runs of each, and those outside."""
    found: list[list[Delimiters]] = [[]]
    around = [found[0]]
    for place, piece in enumerate(pieces):
        if isinstance(piece, Delimiters):
            around[-1].append(piece)
        elif place in links and isinstance(piece, Code):
            if piece.kind == "open":
                around.append([])
                found.append(around[-1])
            else:
                around.pop()
    return found
