"""Tag placement: tags go around the words that translate the words they stood around.

Tags form a tree, and each tag gets a span of the translation: from the first to the last word linked to one of its
words. A span lies inside that of the parent tag and apart from its siblings, so the result is well nested whatever the
links say. Without links a span lies as far along as in the source. A tag inside a word, as in `m<sup>2</sup>`, stays
inside if the word is the same in both texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from regard.documents.segments import Code
from regard.text import Span
from regard.text.words import Link

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A code that shows nothing, its position in the text, and the index of its partner among the marks."""

    code: Code
    position: int
    partner: int | None = None


def place(
    marks: Sequence[Mark], source: str, target: str, links: Sequence[Link] | None, whole: Sequence[Span]
) -> list[tuple[int, int]] | None:
    """(position in the target, index of the mark) in writing order; None where a tag finds no room.

    No tag is put inside one of the `whole` spans of the target.
    """
    if not marks:
        return []
    words = [match.span() for match in _WORD.finditer(target)]
    words = sorted([*(word for word in words if not meets_any(word, whole)), *whole])
    planner = _Planner(marks, source, target, links or (), words, _unchanged_words(marks, source, target, whole))
    found: list[tuple[int, int]] = []
    return found if planner.lay(range(len(marks)), (0, len(target)), found) else None


def _unchanged_words(marks: Sequence[Mark], source: str, target: str, whole: Sequence[Span]) -> list[Link]:
    """Source words with a mark inside, linked to the same words of the target."""
    ours, theirs = _spans_of_words(source), _spans_of_words(target)
    return [
        Link(one, other, 1.0)
        for word, spans in ours.items()
        # With more or fewer of them it is not known which is which.
        if len(spans) == len(theirs[word])
        for one, other in zip(spans, theirs[word], strict=True)
        if any(one[0] < mark.position < one[1] for mark in marks) and not meets_any(other, whole)
    ]


def _spans_of_words(text: str) -> defaultdict[str, list[Span]]:
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for match in _WORD.finditer(text):
        found[match.group()].append(match.span())
    return found


class _Planner:
    def __init__(
        self,
        marks: Sequence[Mark],
        source: str,
        target: str,
        links: Sequence[Link],
        words: Sequence[Span],
        unchanged: Sequence[Link],
    ) -> None:
        self.marks = marks
        self.source, self.target, self.words, self.unchanged = source, target, words, unchanged
        self.units: list[Span] = []
        """words, and the letters of words that may have a tag inside"""
        for word in words:
            is_cut = meets_any(word, [each.target for each in unchanged])
            self.units += [(at, at + 1) for at in range(*word)] if is_cut else [word]
        # A link to a part of a word is a link to the word.
        starts, ends = [word[0] for word in words], [word[1] for word in words]
        self.links = [
            Link(link.source, (starts[first], ends[last]), link.weight)
            for link in links
            if (first := bisect_right(ends, link.target[0])) <= (last := bisect_left(starts, link.target[1]) - 1)
        ]

    def lay(self, marks: range, room: Span, found: list[tuple[int, int]]) -> bool:
        """Place these marks, pairs from the outside in; False where a tag would lose its words."""
        pairs: list[tuple[int, int]] = []
        while not pairs or pairs[-1][1] + 1 < marks.stop:
            first = pairs[-1][1] + 1 if pairs else marks.start
            partner = self.marks[first].partner
            pairs.append((first, first if partner is None else partner))
        sources = [(self.marks[first].position, self.marks[last].position) for first, last in pairs]
        wanted = [self._wanted(source, room) for source in sources]
        order = sorted(range(len(pairs)), key=lambda i: (sum(wanted[i]), i))
        spans = self._apart([(sources[i], wanted[i]) for i in order], room)
        if spans is None:
            order = list(range(len(pairs)))
            wanted = [self._wanted(source, room, by_links=False) for source in sources]
            spans = self._apart(list(zip(sources, wanted, strict=True)), room)
        if spans is None:
            return False
        for index, span in zip(order, spans, strict=True):
            first, last = pairs[index]
            found.append((span[0], first))
            if last > first + 1 and not self.lay(range(first + 1, last), span, found):
                return False
            if last != first:
                found.append((span[1], last))
        return True

    def _wanted(self, source: Span, room: Span, *, by_links: bool = True) -> Span:
        """From the first to the last target word linked to the words of the source, else as far along as these."""
        start, end = source
        for word in self.unchanged:
            shift = word.target[0] - word.source[0]
            is_inside = word.source[0] <= start and end <= word.source[1]
            if is_inside and room[0] <= start + shift and end + shift <= room[1]:
                return start + shift, end + shift
        inside = [word for word in self.words if _is_in(word, room)]
        if not inside or start == end:
            return self._between(start, room)
        linked = [link.target for link in self.links if by_links and meet(link.source, (start, end))]
        chosen = [span for span in linked if _is_in(span, room)]
        if not chosen:
            scale = len(self.target) / max(len(self.source), 1)
            chosen = [word for word in inside if start * scale <= sum(word) / 2 < end * scale]
        if not chosen:
            chosen = [min(inside, key=lambda word: abs(sum(word) - (start + end) * scale))]
        return min(span[0] for span in chosen), max(span[1] for span in chosen)

    def _between(self, position: int, room: Span) -> Span:
        """A span without width: before the translation of the next words, or after that of the last ones."""
        before = [link for link in self.links if link.source[1] <= position]
        after = [link for link in self.links if link.source[0] >= position]
        # The number of a footnote, for one, belongs to the word before it.
        last, following = self.source[max(0, position - 1) : position], self.source[position:]
        follows_a_word = bool(last.strip()) and not following[:1].isalnum()
        if after and not (before and follows_a_word):
            nearest = min(link.source[0] for link in after)
            place = min(link.target[0] for link in after if link.source[0] == nearest)
        elif before:
            nearest = max(link.source[1] for link in before)
            place = max(link.target[1] for link in before if link.source[1] == nearest)
        else:
            wanted = position / max(len(self.source), 1) * len(self.target)
            edges = [*(word[0] for word in self.words), len(self.target)]
            place = min(edges, key=lambda edge: abs(edge - wanted))
        place = min(max(place, room[0]), room[1])
        return place, place

    def _apart(self, wanted: list[tuple[Span, Span]], room: Span) -> list[Span] | None:
        """The spans one after another without overlap; None where one is left without a word."""
        cursor = room[0]
        spans: list[Span] = []
        for source, (start, end) in wanted:
            if source[0] == source[1]:
                start = end = max(start, cursor)
            else:
                inside = [unit for unit in self.units if _is_in(unit, (max(start, cursor), end))]
                if not inside:
                    return None
                start, end = inside[0][0], inside[-1][1]
            spans.append((start, end))
            cursor = end
        return spans


def _is_in(span: Span, room: Span) -> bool:
    return room[0] <= span[0] and span[1] <= room[1]


def meets_any(span: Span, others: Sequence[Span]) -> bool:
    return any(meet(span, other) for other in others)


def meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
