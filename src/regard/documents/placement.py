"""Tag placement: tags go around the words that translate the words they stood around.

Tags form a tree. A pair of tags gets the run of target words that speaks most for it: words linked to its own words
count for it, words linked to others against it. A run lies inside that of the parent and apart from its siblings, so the
result is well nested whatever the links say. A pair whose words have no link at all has no place. Without any links a
run lies as far along as in the source. A single tag stays beside the word or the tag that it touches. A word that both
texts write alike keeps the tags inside of it and around it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from regard.documents.punctuation import KINDS, with_own_signs
from regard.documents.segments import Code
from regard.text import Span
from regard.text.words import Link

# l' and qu' keep their apostrophe, Jane's is cut before s, aujourd'hui and can't are whole; p.m. is one word.
_WORD = re.compile(
    r"(?i)(?:\b\w\.){2,}|\.{3}|(?<=\w)['’]s\b|\b(?:[cdjlmnst]|\w*qu)['’](?=\w)|\w+(?:(?<=\w\w)(?<!qu)['’](?!s\b)\w+)*|[^\w\s]"
)
_ENDS_IN_LETTERS = re.compile(r"[^\W_]++\Z")
_NUMBER = re.compile(r"\d+(?=[^\W\d_])")
_LONGEST_AUXILIARY = 5
"""letters of a word that may be part of another one in the target: short words are the grammar's"""
_MIN_WEIGHT = 0.25
"""minimum weight of the strongest link of a tag's words; a weaker one means that the model has left these words out"""
_STRING = re.compile(r"[^\s\"'’“”«»(){}\[\].,;:!?…][^\s\"'’“”«»(){}\[\],;!?…]*(?<![.:])")
"""letters and signs without a space, such as an address"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A code that shows nothing, its position in the text, and the index of its partner among the marks."""

    code: Code
    position: int
    partner: int | None = None


class _Element(NamedTuple):
    first: int
    last: int
    """marks; the same one for a single tag"""
    source: Span


class Placement:
    """Where the marks go."""

    def __init__(
        self, marks: Sequence[Mark], source: str, target: str, links: Sequence[Link] | None, whole: Sequence[Span]
    ) -> None:
        """No tag is put inside one of the `whole` spans of the target."""
        self.places: list[tuple[int, int]] = []  # position in the target and index of each mark, in writing order
        self.lost: list[int] = []  # opening marks whose words have no place in the target; not among the places
        self.marks, self.source, self.target = marks, source, target
        self.is_aligned = bool(links)
        # Several words that are one for the links, such as a telephone number, are not cut.
        joined = [link.target for link in links or () if " " in target[slice(*link.target)]]
        whole = [*whole, *(span for span in joined if not overlaps_any(span, whole))]
        words = (match.span() for match in _WORD.finditer(target))
        self.words = sorted([*(word for word in words if not overlaps_any(word, whole)), *whole])
        self.kinds = {word: KINDS.get(target[slice(*word)]) for word in self.words}
        linked = ((link, word) for link in links or () for word in self.words if overlap(link.target, word))
        spoken = ((link, word) for link, word in linked if link.target == word or target[slice(*link.target)].isalnum())
        self.links = [(link.source, word, link.weight) for link, word in spoken]
        self.same = _same_strings(source, target, self.links, whole)
        if marks:
            self._place(range(len(marks)), (0, len(target)))

    def _place(self, marks: range, room: Span) -> None:
        """Place these marks, pairs from the outside in."""
        elements = list(self._elements(marks))
        found: dict[_Element, Span] = {}
        pairs = [each for each in elements if _WORD.search(self.source, *each.source)]
        for each in pairs:
            span = self._span_of_same_text(each.source, room)
            if span is not None and not overlaps_any(span, list(found.values())):
                found[each] = span
        open_pairs = [each for each in pairs if each not in found]
        while open_pairs:
            runs = {each: self._run(each.source, room, list(found.values())) for each in open_pairs}
            best = max(open_pairs, key=lambda each: runs[each][0])
            score, span = runs[best]
            open_pairs.remove(best)
            span = span or self._span_of_neighbour_word(best.source, room, list(found.values()))
            if span is not None:
                span = self._with_own_signs(best.source, span, room, list(found.values()))
                found[best] = self._end_of_same_word(best.source, span) or span
            elif any(map(str.isalnum, self.source[slice(*best.source)])) and not self._is_part_of_word(best.source):
                self.lost.append(best.first)
                elements.remove(best)
        reached = room[0]
        for each in elements:
            if each not in found:
                found[each] = self._place_of_single_tag(each, elements, found, marks, room)
                if self.marks[each.first].code.kind in ("open", "close"):
                    # Tags without an end, or without a beginning, stay in their order.
                    reached = max(reached, found[each][0])
                    reached = max([reached, *(end for start, end in found.values() if start < reached < end)])
                    found[each] = reached, reached
        for each, span in sorted(found.items(), key=lambda item: (*item[1], item[0].first)):
            self.places.append((span[0], each.first))
            if each.last > each.first + 1:
                self._place(range(each.first + 1, each.last), span)
            if each.last != each.first:
                self.places.append((span[1], each.last))

    def _elements(self, marks: range) -> Sequence[_Element]:
        found: list[_Element] = []
        while not found or found[-1].last + 1 < marks.stop:
            first = found[-1].last + 1 if found else marks.start
            partner = self.marks[first].partner
            last = first if partner is None else partner
            found.append(_Element(first, last, (self.marks[first].position, self.marks[last].position)))
        return found

    def _span_of_same_text(self, source: Span, room: Span) -> Span | None:
        """The same letters in the target: inside a string that both texts write alike, or such a string itself."""
        for ours, theirs in self.same:
            shift = theirs[0] - ours[0]
            if _is_in(source, ours) and _is_in(span := (source[0] + shift, source[1] + shift), room):
                return span
        return None

    def _run(self, source: Span, room: Span, taken: Sequence[Span]) -> tuple[float, Span | None]:
        """The run of free words that speaks most for some words of the source, and how much."""
        scores: dict[Span, float] = {}
        for word in self.words:
            if _is_in(word, room):
                scores[word] = 0.0
        if not self.is_aligned:
            return 0.0, self._proportional_span(source, [word for word in scores if not overlaps_any(word, taken)])
        if max((weight for ours, _, weight in self.links if overlap(ours, source)), default=0.0) < _MIN_WEIGHT:
            return 0.0, None
        owned: set[Span] = set()
        for ours, word, weight in self.links:
            if word in scores:
                is_inside = overlap(ours, source)
                scores[word] += weight if is_inside else -weight
                # A sign alone stands for no word: the model has left out what the tag holds.
                is_sign = self.kinds[word] and not KINDS.get(self.source[slice(*source)])
                owned |= {word} if is_inside and not is_sign else set()
        best: tuple[float, Span | None] = (0.0, None)
        sum_, start, is_owned = 0.0, -1, False
        for word, score in scores.items():
            if overlaps_any(word, taken):
                start = -1
                continue
            if start < 0 or sum_ <= 0:
                sum_, start, is_owned = 0.0, word[0], False
            sum_ += score
            is_owned |= word in owned
            if is_owned and sum_ > best[0]:
                best = sum_, (start, word[1])
        if best[1] is None and (free := [word for word in owned if not overlaps_any(word, taken)]):
            # Every word of it stands for others as well.
            best = 0.0, max(free, key=scores.__getitem__)
        return best

    def _is_part_of_word(self, source: Span) -> bool:
        """Whether letters of the same word stand before or behind these, which say nothing alone."""
        start, end = source
        is_cut = any(0 < at < len(self.source) and self.source[at - 1 : at + 1].isalnum() for at in source)
        return is_cut and self.source[start:end].isalnum()

    def _end_of_same_word(self, source: Span, target: Span) -> Span | None:
        """The end of a word, such as st of 21st, where both words begin alike or the target's with a number."""
        before, after = _ENDS_IN_LETTERS.search(self.source, 0, source[0]), self.source[source[1] : source[1] + 1]
        if target not in self.words or not before or after.isalnum() or not self.source[slice(*source)].isalpha():
            return None
        word = self.target[slice(*target)]
        number = _NUMBER.match(word)
        cut = len(before[0]) if word.startswith(before[0]) else number.end() if number else 0
        return (target[0] + cut, target[1]) if 0 < cut < len(word) else None

    def _with_own_signs(self, source: Span, span: Span, room: Span, taken: Sequence[Span]) -> Span:
        own, goes_on = _WORD.findall(self.source, *source), self.source[source[1] : source[1] + 1].isspace()
        indices = [index for index, word in enumerate(self.words) if _is_in(word, span)]
        free = {index for index, word in enumerate(self.words) if _is_in(word, room) and not overlaps_any(word, taken)}
        words = [self.target[slice(*word)] for word in self.words]
        run = with_own_signs(own, goes_on, range(indices[0], indices[-1] + 1), words, free)
        return self.words[run[0]][0], self.words[run[-1]][1]

    def _span_of_neighbour_word(self, source: Span, room: Span, taken: Sequence[Span]) -> Span | None:
        """For short words without a link: languages often say them with the next word, or with the one before."""
        start, end = source
        words = re.findall(r"\w+", self.source[start:end])
        is_short = all(word.isalpha() and len(word) <= _LONGEST_AUXILIARY for word in words)
        if not is_short or self._is_part_of_word(source):
            return None
        edges = (len(self.source) - len(self.source[end:].lstrip()), len(self.source[:start].rstrip()))
        near = [word for ours, word, _ in self.links if _is_in(ours, source) and not self.kinds[word]]  # by a weak link
        for edge, side in zip(edges, (0, 1), strict=True):
            near += [word for ours, word, _ in self.links if ours[side] == edge and not self.kinds[word]]
        return next((word for word in near if _is_in(word, room) and not overlaps_any(word, taken)), None)

    def _proportional_span(self, source: Span, words: Sequence[Span]) -> Span | None:
        scale = len(self.target) / max(len(self.source), 1)
        chosen = [word for word in words if source[0] * scale <= sum(word) / 2 < source[1] * scale]
        chosen = chosen or sorted(words, key=lambda word: abs(sum(word) - sum(source) * scale))[:1]
        return (chosen[0][0], chosen[-1][1]) if chosen else None

    def _place_of_single_tag(
        self, element: _Element, elements: Sequence[_Element], found: dict[_Element, Span], marks: range, room: Span
    ) -> Span:
        """A span without width for a tag without words."""
        at = element.source[0]
        touches_left = at > 0 and not self.source[at - 1].isspace() and not self.source[at : at + 1].isalnum()
        siblings = [(each.source, found[each]) for each in elements if each in found]
        ends = [ours for source, ours in siblings if source[1] == at]
        starts = [ours for source, ours in siblings if source[0] == at]
        if ends and (touches_left or not starts):
            place = max(end for _, end in ends)
        elif starts:
            place = min(start for start, _ in starts)
        elif marks.start > 0 and self.marks[marks.start - 1].position == at:
            place = room[0]
        elif marks.stop < len(self.marks) and self.marks[marks.stop].position == at:
            place = room[1]
        else:
            place = self._nearest_place(at, touches_left)
        place = min(max(place, room[0]), room[1])
        for start, end in found.values():
            if start < place < end:
                place = end if touches_left else start
        return place, place

    def _nearest_place(self, at: int, touches_left: bool) -> int:
        """After the translation of the word before, or before that of the next one."""
        for ours, theirs in self.same:
            if ours[0] < at < ours[1] or (at == ours[1] if touches_left else at == ours[0]):
                return theirs[0] + at - ours[0]
        before = [link for link in self.links if link[0][1] <= at]
        after = [link for link in self.links if link[0][0] >= at]
        if after and not (before and touches_left):
            first = min(link[0][0] for link in after)
            return max((link for link in after if link[0][0] == first), key=lambda link: link[2])[1][0]
        if before:
            last = max(link[0][1] for link in before)
            of_last = [link for link in before if link[0][1] == last]
            end = max(of_last, key=lambda link: link[2])[1][1]
            words = {link[1] for link in of_last}
            for one, other in pairwise(self.words):
                end = other[1] if one[1] == end and other in words else end
            return end
        wanted = at / max(len(self.source), 1) * len(self.target)
        edges = [word[1] if touches_left else word[0] for word in self.words] + [len(self.target) if at else 0]
        return min(edges, key=lambda edge: abs(edge - wanted))


def _same_strings(
    source: str, target: str, links: Sequence[tuple[Span, Span, float]], whole: Sequence[Span]
) -> list[tuple[Span, Span]]:
    """Strings that both texts write alike, as often as each other, and that no link contradicts."""
    ours, theirs = _strings(source), _strings(target)
    found = []
    for string, spans in ours.items():
        # With more or fewer of them it is not known which is which.
        if len(spans) != len(theirs.get(string, ())):
            continue
        for one, other in zip(spans, theirs[string], strict=True):
            linked = [link[0] for link in links if overlap(link[1], other)]
            is_torn = any(overlap(span, other) and not _is_in(span, other) for span in whole)
            if not is_torn and (not linked or any(overlap(each, one) for each in linked)):
                found.append((one, other))
    return found


def _strings(text: str) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = {}
    for match in _STRING.finditer(text):
        found.setdefault(match.group(), []).append(match.span())
    return found


def _is_in(span: Span, room: Span) -> bool:
    return room[0] <= span[0] and span[1] <= room[1]


def overlaps_any(span: Span, others: Sequence[Span]) -> bool:
    return any(overlap(span, other) for other in others)


def overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
