"""A segment as the model sees it, and its translation as the file writes it."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from regard.documents import abandoning
from regard.documents.accelerators import place_of
from regard.documents.edges import with_edges_of
from regard.documents.placement import Link, Linked, Mark, Span, meets_any, place
from regard.documents.segments import Code, Run, Segment, as_it_is, partners
from regard.text.placeholders import placeholders

# A model copies a letter and a number, whatever it was trained on.
_STAND_IN = "X{}"
_LIKE_A_STAND_IN = re.compile("X([0-9]{1,9})")

# What ends a line or steers a terminal: a model has no business with it, unless the source has it too.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_MOST_CODES = 200

# What would begin a list, a heading, a quotation or a speaker if a line began with it.
_STARTS_A_BLOCK = re.compile(r"[-–—+*#>=|~`:<]|\d+[.)]")

# Before and after these a blank is a part of the sign, in French.
_SPACE = re.compile(r"(?<![\s«]) (?![\s?!;:»])")

_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++(?:[\"'’”)\]]|[ \xa0\u202f]?»)*+(?=\s|$)")


class Translated(Protocol):
    """What comes back for one text."""

    @property
    def text(self) -> str: ...
    @property
    def alignment(self) -> Sequence[Link] | None:
        """which words became which; None where that is not known"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A placeholder, and what the model sees of it where."""

    code: Code
    shown: str
    span: Span


class View:
    """A segment as the model sees it; with stand-ins a placeholder looks like the name of something."""

    def __init__(self, segment: Segment, *, stand_ins: bool = False) -> None:
        abandoning.check()
        self.segment = segment
        self.kept: list[Kept] = []
        self.breaks: list[tuple[int, Code]] = []
        self.marks: list[Mark] = []
        self.keys: list[Code] = []
        pairs = partners(segment.items)
        order: dict[int, int] = {}
        names = _free_names(segment.text) if stand_ins else iter(())
        text = ""
        for place_, item in enumerate(segment.items):
            if isinstance(item, Run):
                text += item.text
                continue
            shown = item.shown
            if item.kind == "kept":
                shown = next(names) if stand_ins else item.shown
                self.kept.append(Kept(item, shown, (len(text), len(text) + len(shown))))
            elif item.kind == "break":
                self.breaks.append((len(text), item))
            elif item.kind == "key":
                self.keys.append(item)
            else:
                order[place_] = len(self.marks)
                self.marks.append(Mark(item, len(text)))
            text += shown
        self.text = text
        for one, other in pairs.items():
            mark = self.marks[order[one]]
            self.marks[order[one]] = Mark(mark.code, mark.position, order[other])

    @property
    def needs_parts(self) -> bool:
        """Whether only the order of the source is surely right: tags overlap, or are too many to be of a sentence."""
        if len(self.marks) + len(self.kept) > _MOST_CODES:
            return True
        alone = [mark.code for mark in self.marks if mark.partner is None]
        opened = {code.name for code in alone if code.kind == "open"}
        return any(code.kind == "close" and code.name in opened for code in alone)

    def render(self, translated: Translated, language: str = "") -> str | None:
        """The translation as the file writes it; None where a placeholder or a tag would be lost."""
        abandoning.check()
        target = _CONTROL.sub(" ", translated.text)
        if _CONTROL.search(self.text):
            target = re.sub("[\r\n]", " ", translated.text)
        target, num_taken = with_edges_of(self.text, target, language)
        if target == self.text:
            return self.segment.raw
        kept = self._find_kept(target)
        if kept is None:
            return None
        whole = [span for span, _ in kept]
        links = self._links(translated.alignment, kept, num_taken)
        marks = place(self.marks, self.text, target, links, whole)
        if marks is None:
            return None
        inserted = [(at, 0, at, self.marks[index].code.raw) for at, index in marks]
        for key in self.keys:
            at = place_of(key, target, whole)
            if at is None:
                return None
            inserted.append((at, 0, at, key.raw))
        replaced = [(span[0], 1, span[1], each.code.raw) for span, each in kept]
        replaced += [(at, 1, at + 1, code.raw) for at, code in self._find_breaks(target, whole)]
        # Sorting is stable: tags in one place stay in their order, which is well nested.
        changes = sorted(inserted + replaced, key=lambda each: each[:2])
        return self._written(target, [(start, end, raw) for start, _, end, raw in changes])

    def _written(self, target: str, changes: Sequence[tuple[int, int, str]]) -> str | None:
        """The target with these stretches of it replaced, as the file writes it."""
        segment = self.segment
        if segment.is_like is None:
            return _replaced(target, changes, _like_the_source(segment, segment.escape))
        # An escape that nobody needs is one that everybody sees in the file.
        for escape in (as_it_is, segment.escape):
            written = _replaced(target, changes, _like_the_source(segment, escape))
            if segment.is_like(segment.raw, written):
                return written
        return None

    def _find_kept(self, target: str) -> list[tuple[Span, Kept]] | None:
        """Each placeholder with its place in the target; None unless each is there exactly once."""
        if placeholders(target) != placeholders(self.text):
            return None
        if not self.kept:
            return []
        by_shown: dict[str, list[Kept]] = {}
        for each in self.kept:
            by_shown.setdefault(each.shown, []).append(each)
        pattern = re.compile("|".join(map(_bounded, sorted(by_shown, key=len, reverse=True))))
        matches = list(pattern.finditer(target))
        wanted = Counter(each.shown for each in self.kept)
        if Counter(match.group() for match in matches) != wanted:
            return None
        return [(match.span(), by_shown[match.group()].pop(0)) for match in matches]

    def _links(
        self, links: Sequence[Link] | None, kept: Sequence[tuple[Span, Kept]], num_taken: int
    ) -> Sequence[Link] | None:
        """The placeholders' own links are known; what the model thought of their parts is left out."""
        if links is None:
            return None
        if num_taken:
            links = [Linked(link.source, _shifted(link.target, num_taken)) for link in links]
        sources = [each.span for _, each in kept]
        targets = [span for span, _ in kept]
        others = [
            link
            for link in links
            if not meets_any(link.source, sources) and not meets_any(link.target, targets)
        ]
        return [*others, *(Linked(each.span, span) for span, each in kept)]

    def _find_breaks(self, target: str, whole: Sequence[Span]) -> list[tuple[int, Code]]:
        """For each break a space about as far along; where there is none left, the line goes on.

        A line that ends a sentence does so in the target too, if there are as many sentences.
        """
        spaces = [
            match.start()
            for match in _SPACE.finditer(target.rstrip(), 1)
            if not meets_any((match.start(), match.end()), whole)
            and not _STARTS_A_BLOCK.match(target, match.end())
        ]
        found: list[tuple[int, Code]] = []
        ends = _paired_ends(self.text, target)
        free = 0
        for position, code in self.breaks:
            wish = ends.get(position, position / len(self.text) * len(target))
            near = bisect(spaces, wish, lo=free)
            nearest = min(
                (place for place in (near - 1, near) if free <= place < len(spaces)),
                key=lambda place: abs(spaces[place] - wish),
                default=None,
            )
            if nearest is not None:
                found.append((spaces[nearest], code))
                free = nearest + 1
        return found


def _paired_ends(source: str, target: str) -> dict[int, int]:
    """Where the sentences of the source end, and where those of the target that they became; if there are as many."""
    ends = [[match.end() for match in _SENTENCE_END.finditer(text)] for text in (source, target)]
    return dict(zip(*ends, strict=True)) if len(ends[0]) == len(ends[1]) else {}


def _shifted(span: Span, num_taken: int) -> Span:
    """Where a span stands when so much is taken away before it."""
    return max(0, span[0] - num_taken), max(0, span[1] - num_taken)


def _replaced(
    target: str, changes: Sequence[tuple[int, int, str]], escape: Callable[[str], str]
) -> str:
    written, cursor = "", 0
    for start, end, raw in changes:
        written += escape(target[cursor:start]) + raw
        cursor = end
    return written + escape(target[cursor:])


def _like_the_source(segment: Segment, escape: Callable[[str], str]) -> Callable[[str], str]:
    """The same, but an & as the source writes its own: in a catalogue of HTML it is `&amp;`, in others it is not."""
    runs = (item for item in segment.items if isinstance(item, Run) and item.text == "&")
    sign = next((run.raw for run in runs if run.raw != "&"), None)
    return escape if sign is None else lambda text: sign.join(map(escape, text.split("&")))


def _bounded(shown: str) -> str:
    """The text as a pattern; where it ends in a letter, no other letter may follow, and so at its start."""
    before = r"(?<!\w)" if re.match(r"\w", shown) else ""
    after = r"(?!\w)" if re.match(r"\w", shown[::-1]) else ""
    return f"{before}{re.escape(shown)}{after}"


def _free_names(text: str) -> Iterator[str]:
    """Stand-ins that do not stand in the text, which is read once, however many are taken."""
    taken = {
        digits[:length]
        for digits in _LIKE_A_STAND_IN.findall(text)
        for length in range(1, len(digits) + 1)
    }
    return (_STAND_IN.format(number) for number in count(1) if str(number) not in taken)
