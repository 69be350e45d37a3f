"""A glossary: terms and their translations, which the search is required to write.

A sentence is first translated freely. Where a term's translation is missing it is searched again: the translation is
required, and the words that the model had written for the term are banned, so that it stands in their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from regard.data.lines import arriving, open_bytes
from regard.documents.placement import overlap
from regard.errors import DataError
from regard.text import Span
from regard.text.normalise import Normalised, normalise_signs, normalise_text
from regard.text.words import Link

_TOKEN = re.compile(r"\w+|[^\w\s]")

_SURE = 0.5  # share of the strongest link to a term from which a word is surely of its translation


class TermPlace(NamedTuple):
    """The translation of a term, and from where to where the term stands in a sentence."""

    target: str
    span: Span


def occurrences(target: str, text: str) -> list[Span]:
    """From where to where the words stand in a text; in small letters they may have capitals."""
    ignoring = re.IGNORECASE if target == target.lower() or text.isupper() else re.NOFLAG
    whole = rf"(?<!\w){re.escape(target)}(?!\w)"
    return [match.span() for match in re.finditer(whole, text, ignoring)]


def lacks(text: str, places: Sequence[TermPlace]) -> bool:
    """Whether the translation of a sentence holds a term less often than the sentence does."""
    wanted = Counter(place.target for place in places) if places else {}
    return any(len(occurrences(target, text)) < number for target, number in wanted.items())


def replaced_words(text: str, links: Sequence[Link], places: Sequence[TermPlace]) -> list[str]:
    """The words of a translation that came of terms and of nothing else, with and without a capital.

    Words of a term's own translation are not among them.
    """
    wanted = {word.casefold() for place in places for word in _key(place.target)}
    replaced: dict[str, None] = {}
    others: set[str] = set()
    for link in links:
        word = text[slice(*link.target)]
        inside = [place for place in places if overlap(place.span, link.source)]
        weights = [each.weight for each in links for place in inside if overlap(place.span, each.source)]
        if weights and link.weight >= _SURE * max(weights) and word.isalnum():
            replaced[word] = None
        else:
            others.add(word.casefold())
    kept = [word for word in replaced if word.casefold() not in wanted | others]
    return list(dict.fromkeys(form for word in kept for form in (word, word.lower(), word.title())))


class Glossary:
    """Terms by their words, whatever their number."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._terms: dict[tuple[str, ...], dict[str, str]] = {}
        """translation of each spelling of a term, by the term's words"""
        for source, target in pairs:
            source, target = " ".join(normalise_text(source).split()), " ".join(target.split())
            known = self._terms.setdefault(_key(source), {}).setdefault(source, target)
            if known != target:
                raise DataError(
                    f"a term must have one translation: {source!r} has {known!r} and {target!r}; leave one out"
                )
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

    def places_in(self, sentence: str) -> list[TermPlace]:
        """The terms of a sentence from left to right; where two overlap, the first, and of these the longest.

        Both are compared as a model reads them, whatever apostrophes they have.
        """
        read = normalise_signs(Normalised.of(sentence))
        matches = list(_TOKEN.finditer(read.text))
        folded = [match.group().casefold() for match in matches]
        found: list[TermPlace] = []
        place = 0
        while place < len(matches):
            for size in range(min(self._longest, len(matches) - place), 0, -1):
                start, end = matches[place].start(), matches[place + size - 1].end()
                spelt = " ".join(read.text[start:end].split())
                targets = self._terms.get(tuple(folded[place : place + size]), {})
                # A term with capitals stands for that spelling only; one without stands for any.
                for_any = (targets[each] for each in targets if each == each.lower())
                target = targets.get(spelt) or next(for_any, None)
                if target is not None:
                    found.append(TermPlace(target, (read.offsets[start], read.offsets[end])))
                    place += size - 1
                    break
            place += 1
        return found


def _key(term: str) -> tuple[str, ...]:
    return tuple(match.casefold() for match in _TOKEN.findall(term))


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    with open_bytes(path) as file:
        for number, line in enumerate(chain.from_iterable(arriving(file, str(path))), start=1):
            source, _, rest = line.text.partition("\t")
            target = rest.partition("\t")[0]
            if _key(source) and target.strip():
                yield source, target
            elif line.text.strip():
                raise DataError(
                    f"{path}:{number}: a line must be a word TAB its translation: got "
                    f"{line.text[:40]!r}; put a tab between the two"
                )
