"""Surnames after first names: a model now and then makes of one what it would mean, or something like it.

Only what is surely a person's name counts, for a surname is kept letter for letter: Claire Noël, but no Union Européenne,
and nobody whom the languages call differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from regard.text.first_names import FIRST_NAMES

Span = tuple[int, int]

_CAPITAL = "A-ZÀ-ÖØ-ÞŒ"
_NAME = rf"[{_CAPITAL}][^\W\d_]{{1,30}}+(?:-[^\W\d_]{{1,30}}+)?"
_RUN = re.compile(rf"(?<![\w-]){_NAME}(?: {_NAME}){{1,9}}+(?![\w-])")
_MOST = 3
"""names in a row of which one is a surname; more are a title"""
_TITLES = frozenset(
    "Mme Mlle Mr Mrs Ms Miss Dr Doctor Docteur Professor Professeur Sir Madame Monsieur".split()
)
_OTHERS = frozenset(
    """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September
    October November December Lundi Mardi Mercredi Jeudi Vendredi Samedi Dimanche
    Staline Stalin Lénine Lenin Copernic Copernicus Machiavel Machiavelli César Caesar Aurèle Aurelius Quint Colomb Columbus
    Objet Le La Les Premier University College School Institute Hospital Foundation Museum Library Prize Award Cup Street Road
    Avenue Square Bridge Station Airport Park Island Islands River Lake Bay Church Cathedral Hall House Day Act Company Group
    """.split()
)
"""days, months, persons who have a name in each language, and what is called after somebody"""
_WORDS_TOO = frozenset(
    "Faith Florence France Grace Hope Iris Joy Mark Olive Rose Victoire Violet Violette Will".split()
)
"""first names that are as often something else: before a surname that is a first name too they are names"""
_SMALL = re.compile(
    r"\b(?!(?:the|an?|and|or|of|in|on|to|for|at|by|with|de|la|les?|des|du|et|ou|au|aux|en|une?|dans|sur|pour|par)\b)[a-zà-ÿ]{2}"
)
"""a word that a title in capitals would write with one"""


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ACCENT = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class Person:
    first: str
    surname: str
    span: Span
    """of the surname"""

    def is_changed_in(self, translation: str) -> bool:
        """Whether a translation has the first name but not the surname; without its accents it is the same."""
        words = _WORD.findall(translation)
        return self.first in words and _plain(self.surname) not in map(_plain, words)


def _plain(word: str) -> str:
    return _ACCENT.sub("", unicodedata.normalize("NFD", word)).casefold()


def is_person(sentence: str) -> bool:
    """Whether it is somebody's name and nothing else, as below a letter.

    >>> is_person("Pierre Durand"), is_person("Pierre dort."), is_person("Charles University")
    (True, False, False)
    """
    names = sentence.split(" ")
    if len(names) != 2 or not _RUN.fullmatch(sentence):
        return False
    first, surname = names
    if first in _WORDS_TOO:
        return surname in FIRST_NAMES
    return first in FIRST_NAMES and surname not in _OTHERS


def persons(sentence: str) -> Iterator[Person]:
    """Who is named in full in a sentence.

    >>> [each.surname for each in persons("Hier Claire Noël a vu Tom Hill à la Maison Blanche.")]
    ['Noël', 'Hill']
    """
    for match in _RUN.finditer(sentence):
        names = match[0].split(" ")
        first, surname = names[-2:]
        if len(names) > _MOST or first not in FIRST_NAMES or surname in _OTHERS | FIRST_NAMES:
            continue
        is_led = match.start() == 0 or names[0] in _TITLES or names[0] in FIRST_NAMES
        is_whole = match[0] == sentence.rstrip(".!?")
        if surname.isupper() or not (len(names) == 2 or is_led):
            continue
        if (is_whole and len(names) == 2) or _SMALL.search(sentence):
            yield Person(first, surname, (match.end() - len(surname), match.end()))
