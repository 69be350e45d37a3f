"""Where the tags of a sentence go in its translation: around the words that translate the words they stood around.

Tags become a tree, and each tag a stretch of the translation: from the first to the last word that is linked to
one of its own words. A stretch lies inside that of the tag around it and apart from those beside it, so the result
is well nested whatever the links say. Without links the stretches are as far along as in the source. What stands
inside a word, as the 2 of `m<sup>2</sup>` does, stays there where the word is the same in both.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from regard.documents.segments import Code

Span = tuple[int, int]

# What an apostrophe ties together stays together, if there is room; in pieces it is words of its own.
_WORDS = (re.compile(r"\w+(?:['’]\w+)*|[^\w\s]"), re.compile(r"\w+|[^\w\s]"))
_WORD = re.compile(r"\w+")

_ENDS = " \xa0\u202f.…:;,!?"


class Link(Protocol):
    """A word of the source and the word of the target that it became, each from where to where."""

    @property
    def source(self) -> Span: ...
    @property
    def target(self) -> Span: ...


@dataclass(frozen=True, slots=True)
class Mark:
    """A code that shows nothing, and where it stands in the text; with its partner's place in the list."""

    code: Code
    position: int
    partner: int | None = None


@dataclass(frozen=True, slots=True)
class Linked:
    source: Span
    target: Span


@dataclass(slots=True)
class _Node:
    """A pair of tags, or one alone."""

    first: int
    last: int
    source: Span
    children: list[_Node] = field(default_factory=list)


def place(
    marks: Sequence[Mark],
    source: str,
    target: str,
    links: Sequence[Link] | None,
    whole: Sequence[Span],
) -> list[tuple[int, int]] | None:
    """(position in the target, index of the mark), in the order of writing; None where there is no room.

    No tag is put into the middle of one of the `whole` spans of the target.
    """
    if not marks:
        return []
    same = _same_words([mark.position for mark in marks], source, target, whole)
    for pattern in _WORDS:
        is_last = pattern is _WORDS[-1]
        words = [match.span() for match in pattern.finditer(target)]
        words = sorted([*(word for word in words if not meets_any(word, whole)), *whole])
        planner = _Planner(source, target, links or (), words, same, may_guess=is_last)
        found: list[tuple[int, int]] = []
        if planner.lay(_tree(marks), (0, len(target)), found):
            return found
    return None


def _same_words(
    positions: Sequence[int], source: str, target: str, whole: Sequence[Span]
) -> list[Linked]:
    """The words of the source with one of these places inside, and where they stand in the target, unchanged."""
    spans = [match.span() for match in _WORD.finditer(source)]
    starts = [span[0] for span in spans]
    found = {bisect_left(starts, position) - 1 for position in positions}
    cut = [index for index in found if index >= 0 and _is_inside(positions, spans[index])]
    if not cut:
        return []
    ours, theirs = (
        _by_word(source, spans),
        _by_word(target, map(re.Match.span, _WORD.finditer(target))),
    )
    same: list[Linked] = []
    for span in map(spans.__getitem__, sorted(cut)):
        word = source[slice(*span)]
        # Where there are more or fewer of them, it is not known which is which.
        if len(ours[word]) == len(theirs.get(word, ())):
            place_ = theirs[word][ours[word].index(span)]
            if not meets_any(place_, whole):
                same.append(Linked(span, place_))
    return same


def _is_inside(positions: Sequence[int], span: Span) -> bool:
    return any(span[0] < position < span[1] for position in positions)


def _by_word(text: str, spans: Iterable[Span]) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = {}
    for span in spans:
        found.setdefault(text[slice(*span)], []).append(span)
    return found


def _tree(marks: Sequence[Mark]) -> list[_Node]:
    top: list[_Node] = []
    opened: list[_Node] = []
    for index, mark in enumerate(marks):
        if mark.partner is not None and mark.partner < index:
            opened.pop()
            continue
        last = index if mark.partner is None else mark.partner
        node = _Node(index, last, (mark.position, marks[last].position))
        (opened[-1].children if opened else top).append(node)
        if last != index:
            opened.append(node)
    return top


class _Planner:
    def __init__(
        self,
        source: str,
        target: str,
        links: Sequence[Link],
        words: Sequence[Span],
        same: Sequence[Linked],
        *,
        may_guess: bool,
    ) -> None:
        self.source, self.target, self.words, self.may_guess = source, target, words, may_guess
        self.same = same
        self.pieces = [piece for word in words for piece in self._pieces(word)]
        """the words, and the letters of those that may have a tag inside"""
        # A link into a part of a word is one to the word.
        ends, starts = [word[1] for word in words], [word[0] for word in words]
        self.links = [
            Linked(link.source, (starts[first], ends[last]))
            for link in links
            if (first := bisect_right(ends, link.target[0]))
            <= (last := bisect_left(starts, link.target[1]) - 1)
        ]

    def _pieces(self, word: Span) -> list[Span]:
        if not meets_any(word, [each.target for each in self.same]):
            return [word]
        return [(place_, place_ + 1) for place_ in range(*word)]

    def lay(self, nodes: list[_Node], room: Span, found: list[tuple[int, int]]) -> bool:
        """Find the place of these nodes and of all inside them; False where a tag would lose its words."""
        wished = [self._linked(node, room) for node in nodes]
        order = sorted(range(len(nodes)), key=lambda i: (sum(wished[i]), i))
        spans = self._apart([(nodes[i], wished[i]) for i in order], room)
        if spans is None and self.may_guess:
            order = list(range(len(nodes)))
            spans = self._apart([(node, self._along(node, room)) for node in nodes], room)
        if spans is None:
            return False
        for index, span in zip(order, spans, strict=True):
            node = nodes[index]
            found.append((span[0], node.first))
            if not self.lay(node.children, span, found):
                return False
            if node.last != node.first:
                found.append((span[1], node.last))
        return True

    def _linked(self, node: _Node, room: Span) -> Span:
        start, end = node.source
        if stays := self._inside_a_word(node, room):
            return stays
        if start == end:
            return self._between(start, room)
        spans = [link.target for link in self.links if _meet(link.source, node.source)]
        spans = [span for span in spans if room[0] <= span[0] and span[1] <= room[1]]
        if not spans:
            return self._along(node, room)
        return min(span[0] for span in spans), max(span[1] for span in spans)

    def _inside_a_word(self, node: _Node, room: Span) -> Span | None:
        """Where it is in a word that came out unchanged."""
        start, end = node.source
        for word in self.same:
            if word.source[0] <= start and end <= word.source[1]:
                shift = word.target[0] - word.source[0]
                if room[0] <= start + shift and end + shift <= room[1]:
                    return start + shift, end + shift
        return None

    def _between(self, position: int, room: Span) -> Span:
        """Before what the next words became; or after what the last ones did, where it stands close to them alone."""
        before = [link for link in self.links if link.source[1] <= position]
        after = [link for link in self.links if link.source[0] >= position]
        place = self._before_the_end(position)
        if place is not None:
            return _within(place, room)
        if after and not (before and self._is_close_to_the_last(position)):
            nearest = min(link.source[0] for link in after)
            place = min(link.target[0] for link in after if link.source[0] == nearest)
        elif before:
            nearest = max(link.source[1] for link in before)
            place = max(link.target[1] for link in before if link.source[1] == nearest)
        if place is None:
            share = position / max(len(self.source), 1)
            edges = [*(word[0] for word in self.words), len(self.target)]
            place = min(edges, key=lambda edge: abs(edge - share * len(self.target)))
        return _within(place, room)

    def _before_the_end(self, position: int) -> int | None:
        """Before the signs that end the target, where it stands before those that end the source."""
        if self.source[position:].strip(_ENDS) or position == len(self.source):
            return None
        return len(self.target.rstrip(_ENDS))

    def _is_close_to_the_last(self, position: int) -> bool:
        """As the number of a footnote is."""
        last, next_ = (
            self.source[max(0, position - 1) : position],
            self.source[position : position + 1],
        )
        return bool(last.strip()) and not next_.isalnum()

    def _along(self, node: _Node, room: Span) -> Span:
        """The words that are as far along in the target as the node's are in the source."""
        if stays := self._inside_a_word(node, room):
            return stays
        scale = len(self.target) / max(len(self.source), 1)
        start, end = (position * scale for position in node.source)
        inside = [word for word in self.words if room[0] <= word[0] and word[1] <= room[1]]
        if not inside or node.source[0] == node.source[1]:
            return self._between(node.source[0], room)
        chosen = [word for word in inside if start <= sum(word) / 2 < end]
        chosen = chosen or [min(inside, key=lambda word: abs(sum(word) - start - end))]
        return chosen[0][0], chosen[-1][1]

    def _apart(self, wished: list[tuple[_Node, Span]], room: Span) -> list[Span] | None:
        """The spans one after another, each behind the one before; None where one is left without a word."""
        cursor = room[0]
        spans: list[Span] = []
        for node, (start, end) in wished:
            if node.source[0] != node.source[1]:
                inside = [w for w in self.pieces if max(start, cursor) <= w[0] and w[1] <= end]
                if not inside:
                    return None
                start, end = inside[0][0], inside[-1][1]
            else:
                start = end = max(start, cursor)
            spans.append((start, end))
            cursor = end
        return spans


def _within(place: int, room: Span) -> Span:
    """A place without width, in the room there is."""
    place = min(max(place, room[0]), room[1])
    return place, place


def meets_any(span: Span, others: Sequence[Span]) -> bool:
    return any(_meet(span, other) for other in others)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
