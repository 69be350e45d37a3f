"""A term of a glossary, put where the translation of its words stands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.text.word_alignment import Link, Span
from regard.translate.determiners import determiner_before, forms_before, without_determiner
from regard.translate.glossary import Place, lacks, where

_MOST_PROPOSALS = 16
"""texts of one sentence that are compared; with many terms in it not all ways to place them"""

_SURE = 0.5
"""a word that looked at the term half as much as the one that looked most is surely part of its translation"""

_SMALL_LETTERS = 2
"""a word this short between two of a term's belongs to it: the `de` of `pomme de terre`"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A translation with the terms in their places."""

    text: str
    links: list[Link]


def proposals(
    text: str, links: Sequence[Link], places: Sequence[Place], language: str
) -> list[Proposal]:
    """The ways to put the terms in; none where a term has no place."""
    options = []
    for place in places:
        target = place.term.target
        spans = dict.fromkeys(_spans(text, links, place.span, language, target))
        if any(where(target, text[start:end]) for start, end in spans):
            continue
        options.append([edit for span in spans for edit in _edits(text, span, target, language)])
    several = itertools.islice(itertools.product(*options), _MOST_PROPOSALS)
    made = [made for edits in several if (made := _applied(text, links, edits)) is not None]
    return [each for each in made if not lacks(each.text, places)]


def agreeing(
    text: str, links: Sequence[Link], places: Sequence[Place], language: str
) -> list[Proposal]:
    """A text that has the terms, with the determiners before them in every form that they may have."""
    options = [
        list(_edits(text, span, text[slice(*span)], language))
        for target in dict.fromkeys(place.term.target for place in places)
        for span in where(target, text)
    ]
    several = itertools.islice(itertools.product(*options), _MOST_PROPOSALS)
    return [made for edits in several if (made := _applied(text, links, edits)) is not None]


def has_strays(text: str, links: Sequence[Link], places: Sequence[Place], language: str) -> bool:
    """Whether a word that came of a term stands outside the term's translation."""
    for place in places:
        inside = where(place.term.target, text)
        for number in _linked(text, links, place.span):
            start, end = links[number].target
            is_small = end - start <= _SMALL_LETTERS or determiner_before(text[start:end], language)
            if not is_small and not any(first <= start < last for first, last in inside):
                return True
    return False


@dataclass(frozen=True, slots=True)
class _Edit:
    """A determiner, where there is one, and a term, in place of what stands from start to end."""

    start: int
    words: int
    """where the determiner that goes ends, and the words begin"""
    end: int
    determiner: str
    term: str

    def moved(self, links: Sequence[Link]) -> Iterator[Link]:
        """The links of a text after the edit; the term keeps the strongest of its words'."""
        middle = self.start + len(self.determiner)
        last = middle + len(self.term)
        inside = [link for link in links if self.words <= link.target[0] < self.end]
        strongest = max(inside, key=lambda link: link.weight, default=None)
        for link in links:
            start, end = link.target
            if start >= self.end:
                by = last - self.end
                yield replace(link, target=(start + by, end + by))
            elif start >= self.words:
                if link is strongest:
                    yield replace(link, target=(middle, last))
            elif start >= self.start:
                # The sign of `l'` and the second word of `de la` have the first one's link.
                if start == self.start:
                    yield replace(link, target=(start, start + len(self.determiner.rstrip())))
            else:
                yield link


def _edits(text: str, span: Span, target: str, language: str) -> Iterator[_Edit]:
    """The term in place of a span, with the determiner before it in every form that it may have."""
    start, end = span
    shouted = len(text) > 1 and text.isupper()
    determiner = determiner_before(text[:start], language)
    if not determiner:
        first = not text[:start].strip() and text[:1].isupper() and target == target.lower()
        term = target[0].upper() + target[1:] if first else target
        yield _Edit(start, start, end, "", term.upper() if shouted else term)
        return
    begin = len(text[:start].rstrip()) - len(determiner)
    for form in forms_before(target, determiner, language):
        spaced = form if form.endswith("'") else f"{form} "
        term = target
        if shouted:
            spaced, term = spaced.upper(), term.upper()
        yield _Edit(begin, start, end, spaced, term)


def _spans(
    text: str, links: Sequence[Link], source: Span, language: str, target: str
) -> Iterator[Span]:
    """Where the translation of the source words stands: with every word linked to them, and with the sure ones."""
    linked = _linked(text, links, source)
    if not linked:
        return
    most = max(links[place].weight for place in linked)
    for least in (0.0, _SURE * most):
        runs: list[list[int]] = []
        for place in linked:
            if links[place].weight < least:
                continue
            if runs and _together(links, runs[-1][-1], place):
                runs[-1].append(place)
            else:
                runs.append([place])
        run = max(runs, key=lambda run: max(links[place].weight for place in run))
        start, end = links[run[0]].target[0], links[run[-1]].target[1]
        if without_determiner(target, language) == target:
            start = end - len(without_determiner(text[start:end], language))
        yield start, end


def _linked(text: str, links: Sequence[Link], source: Span) -> list[int]:
    """Which links lead from a word to one of these source words."""
    return [
        place
        for place, link in enumerate(links)
        if source[0] <= link.source[0] < source[1] and text[link.target[0]].isalnum()
    ]


def _together(links: Sequence[Link], left: int, right: int) -> bool:
    between = [link.target for link in links[left + 1 : right]]
    return len(between) <= 1 and all(end - start <= _SMALL_LETTERS for start, end in between)


def _applied(text: str, links: Sequence[Link], edits: Sequence[_Edit]) -> Proposal | None:
    """The text with the edits, unless two want the same letters."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    if any(left.end > right.start for left, right in itertools.pairwise(ordered)):
        return None
    moved = list(links)
    for edit in reversed(ordered):
        text = text[: edit.start] + edit.determiner + edit.term + text[edit.end :]
        moved = list(edit.moved(moved))
    return Proposal(text, moved)
