"""What stands in a line of Markdown: emphasis, links, code, escapes and tags."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Set
from typing import Literal

from regard.documents import abandoning
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
    | (?P<autolink><(?=[^\s<>]{1,2000}[.@:/][^\s<>])[^\s<>]{3,4000}+>)
    | (?P<math>\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d))
    | (?P<footnote>\[\^[^\[\]\s]{1,100}\])
    | (?P<close>\](?:\((?:[^()\\]|\\.|\([^()]{0,200}\)){0,500}\)|\[[^\[\]]{0,200}\]))
    | (?P<open>!?\[)
    | (?P<emphasis>\*{1,3}|_{1,3}|~~)
    """,
    re.VERBOSE | re.DOTALL,
)
_TICKS = re.compile("`+")
_TO_ESCAPE = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")


def escape(text: str) -> str:
    """Text as a paragraph writes it, so that no sign in it is taken for a mark."""
    return _TO_ESCAPE.sub(lambda match: f"\\{match.group()}", text)


def inline(text: str, labels: Set[str]) -> list[Item]:
    """The items of a paragraph; `labels` are the links defined elsewhere in the file, by their names."""
    return list(_resolved(_Marks(text, labels).pieces()))


class _Marks:
    """The marks of a paragraph; what would be looked for again and again is looked up once."""

    def __init__(self, text: str, labels: Set[str]) -> None:
        self.text, self.labels = text, labels
        self.last_link_end = max(text.rfind("]("), text.rfind("]["))
        self.ticks: dict[str, list[int]] = {}
        """where each length of them stands"""
        for match in _TICKS.finditer(text):
            self.ticks.setdefault(match.group(), []).append(match.start())

    def pieces(self) -> list[str | Code]:
        """Marks, and the text between them."""
        found: list[str | Code] = []
        cursor = run = 0
        while match := _TOKEN.search(self.text, cursor):
            abandoning.check()
            code = self._code(match)
            cursor = match.end() if code is None else match.start() + len(code.raw)
            if code is not None:
                found += [self.text[run : match.start()], code]
                run = cursor
        return [*found, self.text[run:]]

    def _code(self, match: re.Match[str]) -> Code | None:
        """What a token is, as far as it reaches; None where it is plain text."""
        kind, raw = match.lastgroup, match.group()
        if kind == "escaped":
            return Code(raw, "kept", raw[1:])
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
        return _emphasis(self.text, match)

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


def _emphasis(text: str, match: re.Match[str]) -> Code | None:
    raw = match.group()
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    opens, closes = bool(after.strip()), bool(before.strip())
    if raw[0] == "_":
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    if not opens and not closes:
        return None
    # Which of the two it is when it could be both depends on what is open: `_resolved` decides.
    kind = "both" if opens and closes else "open" if opens else "close"
    return Code(raw, "open", name=f"{kind} {raw}")


def _shown(raw: str, text: str) -> Code:
    text = text.strip()
    if 0 < len(text) <= _NUM_SHOWN and "\n" not in text:
        return Code(raw, "kept", text)
    return Code(raw, "alone")


def _resolved(pieces: list[str | Code]) -> Iterator[Item]:
    """Marks that have a partner are tags; the others are signs of the text."""
    paired = _paired(pieces)
    text = ""
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            text += piece
        elif piece.kind in ("open", "close") and place not in paired:
            text += piece.raw
        else:
            yield from inline_items(text)
            text = ""
            yield Code(piece.raw, paired[place], name=_name(piece)) if place in paired else piece
    yield from inline_items(text)


def _paired(pieces: list[str | Code]) -> dict[int, Literal["open", "close"]]:
    """Which marks have a partner, and whether it comes after or before."""
    opened: list[tuple[int, str]] = []
    num_open: Counter[str] = Counter()
    paired: dict[int, Literal["open", "close"]] = {}
    for place, piece in enumerate(pieces):
        if isinstance(piece, str) or piece.kind not in ("open", "close"):
            continue
        kind, _, name = piece.name.rpartition(" ")
        kind = kind or piece.kind
        if num_open[name] and kind in ("close", "both"):
            start, other = opened.pop()
            num_open[other] -= 1
            while other != name:
                start, other = opened.pop()
                num_open[other] -= 1
            paired[start], paired[place] = "open", "close"
        elif kind in ("open", "both"):
            opened.append((place, name))
            num_open[name] += 1
    return paired


def _name(code: Code) -> str:
    return code.name.rpartition(" ")[2]
