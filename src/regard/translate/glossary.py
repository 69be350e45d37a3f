"""A glossary: terms and their translations, which the search is required to write.

A sentence is first translated freely. Where a term's translation is missing it is searched again: the translation is
required, and the words that the model had written for the term are banned, so that it stands in their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.lines import arriving, open_bytes
from regard.documents.placement import meet
from regard.errors import DataError
from regard.text.normalise import Normalised, normalise_signs, normalise_text
from regard.text.words import Link

_TOKEN = re.compile(r"\w+|[^\w\s]")

_MOST_LETTERS = 500
"""characters of a term; a longer entry is a damaged line"""
_SURE = 0.5
"""share of the strongest link to a term from which a word is surely of its translation"""


@dataclass(frozen=True, slots=True)
class Term:
    source: str
    target: str

    def covers(self, found: str) -> bool:
        """A term with capitals stands for that spelling only; one without stands for any."""
        return self.source == found or self.source == self.source.lower()


@dataclass(frozen=True, slots=True)
class Place:
    """A term, and from where to where it stands in a sentence."""

    term: Term
    span: tuple[int, int]


def where(target: str, text: str) -> list[tuple[int, int]]:
    """From where to where the words stand in a text; in small letters they may have capitals."""
    ignoring = re.IGNORECASE if target == target.lower() or text.isupper() else re.NOFLAG
    whole = rf"(?<!\w){re.escape(target)}(?!\w)"
    return [match.span() for match in re.finditer(whole, text, ignoring)]


def lacks(text: str, places: Iterable[Place]) -> bool:
    """Whether the translation of a sentence holds a term less often than the sentence does."""
    wanted = Counter(place.term.target for place in places)
    return any(len(where(target, text)) < number for target, number in wanted.items())


def replaced_words(text: str, links: Sequence[Link], places: Sequence[Place]) -> list[str]:
    """The words of a translation that came of terms and of nothing else, with and without a capital.

    Words of a term's own translation are not among them.
    """
    wanted = {word.casefold() for place in places for word in _key(place.term.target)}
    replaced: dict[str, None] = {}
    others: set[str] = set()
    for link in links:
        word = text[slice(*link.target)]
        inside = [place for place in places if meet(place.span, link.source)]
        strongest = max(
            (each.weight for each in links for place in inside if meet(place.span, each.source)), default=0.0
        )
        if inside and link.weight >= _SURE * strongest and word.isalnum():
            replaced[word] = None
        else:
            others.add(word.casefold())
    kept = [word for word in replaced if word.casefold() not in wanted | others]
    return list(dict.fromkeys(form for word in kept for form in (word, word.lower(), word.title())))


class Glossary:
    """Terms by their words, whatever their number."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._terms: dict[tuple[str, ...], list[Term]] = {}
        for source, target in pairs:
            term = Term(" ".join(normalise_text(source).split()), " ".join(target.split()))
            others = self._terms.setdefault(_key(term.source), [])
            if clash := next((other for other in others if other.source == term.source), None):
                if clash.target != term.target:
                    raise DataError(
                        f"a term must have one translation: {term.source!r} has {clash.target!r} and "
                        f"{term.target!r}; leave one out"
                    )
                continue
            others.append(term)
        self._longest = max(map(len, self._terms), default=0)

    @classmethod
    def load(cls, path: Path | str) -> Glossary:
        """Read a file: source TAB target, more columns and empty lines left aside."""
        return cls(_pairs(Path(path)))

    @classmethod
    def of(cls, given: Glossary | Mapping[str, str] | str | Path | None) -> Glossary | None:
        """Whatever a program may give as one: itself, words and their translations, or a file of them."""
        if given is None or isinstance(given, Glossary):
            return given
        return cls(given.items()) if isinstance(given, Mapping) else cls.load(given)

    def __len__(self) -> int:
        return sum(map(len, self._terms.values()))

    def places_in(self, sentence: str) -> list[Place]:
        """The terms of a sentence from left to right; where two overlap, the first, and of these the longest.

        Both are compared as a model reads them, whatever apostrophes they have.
        """
        read = normalise_signs(Normalised.of(sentence))
        matches = list(_TOKEN.finditer(read.text))
        folded = [match.group().casefold() for match in matches]
        found: list[Place] = []
        place = 0
        while place < len(matches):
            for size in range(min(self._longest, len(matches) - place), 0, -1):
                start, end = matches[place].start(), matches[place + size - 1].end()
                text = read.text[start:end]
                term = self._term(tuple(folded[place : place + size]), " ".join(text.split()))
                if term is not None:
                    found.append(Place(term, (read.offsets[start], read.offsets[end])))
                    place += size - 1
                    break
            place += 1
        return found

    def _term(self, key: tuple[str, ...], text: str) -> Term | None:
        """The term spelt exactly so, or else one that stands for any spelling."""
        terms = [term for term in self._terms.get(key, ()) if term.covers(text)]
        return min(terms, key=lambda term: term.source != text, default=None)


def _key(term: str) -> tuple[str, ...]:
    return tuple(match.casefold() for match in _TOKEN.findall(term))


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    number = 0
    with open_bytes(path) as file:
        for lines in arriving(file, str(path)):
            for line in lines:
                number += 1
                if not line.text.strip():
                    continue
                source, tab, rest = line.text.partition("\t")
                target = rest.partition("\t")[0]
                if not tab or not _key(source) or not target.strip():
                    raise DataError(
                        f"{path}:{number}: a line must be a word TAB its translation: got "
                        f"{line.text[:40]!r}; put a tab between the two"
                    )
                if max(len(source), len(target)) > _MOST_LETTERS:
                    raise DataError(
                        f"{path}:{number}: a term must have at most {_MOST_LETTERS} letters: got "
                        f"{max(len(source), len(target))}; leave it out"
                    )
                yield source, target
