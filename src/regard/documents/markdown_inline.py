"""Inline Markdown: emphasis, links, images, code, escapes and tags."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set

from regard.documents.markdown_emphasis import Delimiters, delimiters, pair
from regard.documents.markup import inline_items
from regard.documents.segments import (
    Code,
    Item,
    TextRun,
    check_cancelled,
    has_words,
    partners,
    written,
)

_LONGEST_LABEL = 1000
"""characters, as in CommonMark; keeps the time linear for a text of brackets"""
_NUM_SHOWN = 60
"""maximum characters of inline code that the model sees"""

# No alternative begins where another one fails after many characters; this keeps the time linear.
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
InlineToken = str | Code | TextRun | Delimiters

_ONLY_AT_A_START = ".)-+"
"""marks only at the beginning of a paragraph, where the reader of blocks escapes them"""
_TO_ESCAPE = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")


def escape(text: str) -> str:
    """Text with escapes, so that nothing in it is read as a mark."""
    return _TO_ESCAPE.sub(lambda match: f"\\{match.group()}", text)


def inline(text: str, labels: Set[str]) -> list[Item]:
    """The items of a paragraph; `labels` are the names of links defined in the file."""
    return list(_resolved(_Scanner(text, labels).tokens()))


def marks_of(text: str, labels: Set[str]) -> Counter[tuple[str, str]]:
    """Everything that Markdown finds in a paragraph except its words."""
    return Counter(
        (item.kind, item.raw)
        for item in inline(text, labels)
        if isinstance(item, Code)
        and item.kind != "break"
        # Text that is shown as it is, or escaped, is no mark.
        and not (item.kind == "kept" and item.raw in (item.shown, f"\\{item.shown}"))
    )


class _Scanner:
    """Finds the marks of a paragraph; looks up once what each mark would otherwise search for."""

    def __init__(self, text: str, labels: Set[str]) -> None:
        self.text, self.labels = text, labels
        self.last_link_end = max(text.rfind("]("), text.rfind("]["))
        self.ticks: defaultdict[str, list[int]] = defaultdict(list)
        """positions of backticks, by their run"""
        for match in re.finditer("`+", text):
            self.ticks[match.group()].append(match.start())

    def tokens(self) -> list[InlineToken]:
        """Marks, and the text between them."""
        found: list[InlineToken] = []
        cursor = run = 0
        while match := _TOKEN.search(self.text, cursor):
            check_cancelled()
            code = self._code(match)
            cursor = match.end() if code is None else match.start() + len(code.raw)
            if code is not None:
                found += [self.text[run : match.start()], code]
                run = cursor
        return [*found, self.text[run:]]

    def _code(self, match: re.Match[str]) -> Code | TextRun | Delimiters | None:
        """The item of a token; None where it is plain text."""
        kind, raw = match.lastgroup, match.group()
        if kind == "escaped":
            is_text = raw[1] in _ONLY_AT_A_START
            return TextRun(raw[1:], raw) if is_text else Code(raw, "kept", raw[1:])
        if kind == "ticks":
            return self._ticks(match)
        if kind in ("autolink", "math"):
            return _shown(raw, raw[1:-1] if kind == "autolink" else raw)
        if kind == "footnote":
            return Code(raw, "alone")
        if kind == "close":
            return Code(raw, "close", name="[")
        if kind == "open":
            return self._open(match)
        start, end = match.span()
        return delimiters(raw, self.text[max(0, start - 1) : start], self.text[end : end + 1])

    def _ticks(self, match: re.Match[str]) -> Code | None:
        places = self.ticks[match.group()]
        closing = bisect_left(places, match.end())
        if closing == len(places):
            return None
        start, end = match.start(), places[closing] + len(match.group())
        return _shown(self.text[start:end], self.text[match.end() : places[closing]])

    def _open(self, match: re.Match[str]) -> Code | None:
        """The beginning of a link or an image, or the name of a link that the file defines."""
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
    is_shown = 0 < len(text) <= _NUM_SHOWN and "\n" not in text
    return Code(raw, "kept", text) if is_shown else Code(raw, "alone")


def _resolved(tokens: Sequence[InlineToken]) -> Iterator[Item]:
    """Items: marks with a partner are tags, the others are text."""
    links = _links(tokens)
    for runs in _by_link(tokens, links):
        pair(runs)
    text = ""
    for place, token in enumerate(tokens):
        parts: list[str | Item]
        if isinstance(token, Delimiters):
            parts = [Code(raw, "close", name=raw) for raw in token.closing]
            parts += [token.left, *(Code(raw, "open", name=raw) for raw in token.opening)]
        elif isinstance(token, Code) and token.kind in ("open", "close") and place not in links:
            parts = [token.raw]
        else:
            parts = [token]
        for part in parts:
            if isinstance(part, str):
                text += part
            else:
                yield from inline_items(text)
                yield part
                text = ""
    yield from inline_items(text)


def _links(tokens: Sequence[InlineToken]) -> set[int]:
    """The places of brackets that have a partner."""
    opened: list[int] = []
    num_around = 0  # open brackets that have a link inside already
    found: set[int] = set()
    for place, token in enumerate(tokens):
        kind = token.kind if isinstance(token, Code) else ""
        if kind == "open":
            opened.append(place)
        elif kind == "close" and opened:
            start = opened.pop()
            is_link, is_around = tokens[start] == _LINK, len(opened) < num_around
            num_around = min(num_around, len(opened))
            # A link holds no other link, but may hold an image.
            if is_link and is_around:
                continue
            found |= {start, place}
            if is_link:
                num_around = len(opened)
    return found


def _by_link(tokens: Sequence[InlineToken], links: Set[int]) -> list[list[Delimiters]]:
    """The runs outside links and those of each link: emphasis does not cross its brackets."""
    found: list[list[Delimiters]] = [[]]
    around = [found[0]]
    for place, token in enumerate(tokens):
        if isinstance(token, Delimiters):
            around[-1].append(token)
        elif place in links and isinstance(token, Code):
            if token.kind == "open":
                around.append([])
                found.append(around[-1])
            else:
                around.pop()
    return found


def take_out_images(items: Sequence[Item]) -> tuple[list[Item], list[Sequence[Item]]]:
    """A sentence with each image as one code, and the images, whose texts are translated on their own.

    Images without a sentence around them stay.
    """
    pairs = {start: end for start, end in partners(items).items() if start < end}
    if not _has_sentence(items, pairs):
        return list(items), []
    sentence: list[Item] = []
    images: list[Sequence[Item]] = []
    place = 0
    while place < len(items):
        item, end = items[place], pairs.get(place, place) + 1
        if isinstance(item, Code) and item.raw == "![" and end > place + 1:
            images.append(items[place:end])
            space = _take_space(sentence, items[end : end + 1])
            sentence.append(Code(space + written(images[-1]), "alone"))
            place = end
        else:
            sentence.append(item)
            place += 1
    return sentence, images


def _take_space(sentence: list[Item], following: Sequence[Item]) -> str:
    """The space before an image that a comma or a stop follows, which then belongs to the image."""
    last = sentence[-1] if sentence else None
    if not isinstance(last, TextRun) or not last.raw.endswith(" "):
        return ""
    next_ = following[0].text[:1] if following and isinstance(following[0], TextRun) else ""
    if not next_ or next_.isalnum() or next_.isspace():
        return ""
    sentence[-1] = TextRun(last.text[:-1], last.raw[:-1])
    return " "


def _has_sentence(items: Sequence[Item], pairs: dict[int, int]) -> bool:
    """Whether there are words outside of all links and images."""
    place = 0
    while place < len(items):
        item = items[place]
        if isinstance(item, TextRun) and has_words(item.text):
            return True
        is_link = isinstance(item, Code) and item.name == "["
        place = pairs.get(place, place) + 1 if is_link else place + 1
    return False


def put_back_images(sentence: str, images: Sequence[Sequence[Item]], new: Sequence[str]) -> str:
    """The sentence with translated images."""
    became = dict(zip(map(written, images), new, strict=True))
    longest_first = sorted(became, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda match: became[match[0]], sentence)
