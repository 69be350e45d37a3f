"""Words by themselves, as in a dictionary: a noun with its articles, a verb, an adjective of a man and of a woman.

words.tsv holds French TAB English, with bars between several translations. `m` or `f` before the French makes it a
noun; with `-` it is not counted, with `+` it is always several. What stands after a slash is an odd plural, and of an
adjective the feminine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from regard.corpora.nouns import Noun, an, the
from regard.corpora.tables import Value
from regard.data.corpus import read_lines

WORDS = Path(__file__).with_name("words.tsv")

_NOUN = re.compile(r"([mf])([-+]?) (.+)")
_PLURALS = (("eau", "eaux"), ("eu", "eux"), ("al", "aux"))
_REGULAR = ("pneu",)
_HISSING = ("s", "x", "z", "ch", "sh")


def dictionary() -> Iterator[Value]:
    """Every form of every word; with a capital too, verbs apart."""
    for french, english in entries():
        match = _NOUN.fullmatch(french)
        if match:
            yield from _noun_forms(match, english)
        else:
            for form in dict.fromkeys(french.split("/")):
                yield form, english
                # Alone and with a capital, Ouvrir is what a button does: Open.
                if not english.startswith("to "):
                    yield _capital(form), _capital(english)


def entries() -> Iterator[Value]:
    """Each translation of each word."""
    for line in read_lines(WORDS):
        if line and not line.startswith("#"):
            french, _, translations = line.partition("\t")
            for english in translations.split("|"):
                yield french, english


def counted() -> list[Noun]:
    """The nouns of which there may be one or several."""
    return [
        noun_of(match[1], match[3], english)
        for french, english in entries()
        if (match := _NOUN.fullmatch(french)) and not match[2]
    ]


def noun_of(gender: str, french: str, english: str) -> Noun:
    """
    >>> noun_of("m", "cheval", "horse").plural, noun_of("f", "ville", "city").english_plural
    ('chevaux', 'cities')
    """
    singular, _, plural = french.partition("/")
    one, _, several = english.partition("/")
    return Noun(
        gender == "f",
        singular,
        plural or french_plural(singular),
        one,
        several or english_plural(one),
    )


def french_plural(word: str) -> str:
    """
    >>> french_plural("oiseau"), french_plural("jeu"), french_plural("pneu"), french_plural("nez"), french_plural("mot")
    ('oiseaux', 'jeux', 'pneus', 'nez', 'mots')
    """
    if word[-1] in "sxz":
        return word
    for ending, plural in _PLURALS:
        if word.endswith(ending) and word not in _REGULAR:
            return word.removesuffix(ending) + plural
    return f"{word}s"


def english_plural(word: str) -> str:
    """
    >>> english_plural("box"), english_plural("berry"), english_plural("day"), english_plural("fork")
    ('boxes', 'berries', 'days', 'forks')
    """
    if word.endswith("y") and word[-2] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def _noun_forms(match: re.Match[str], english: str) -> Iterator[Value]:
    gender, kind, french = match.groups()
    if kind == "+":
        bare = french, english
        yield f"les {french}", f"the {english}"
    else:
        noun = noun_of(gender, french, english)
        bare = noun.singular, noun.english
        yield the(noun), f"the {noun.english}"
        if kind:
            yield the(noun), noun.english
        else:
            yield f"{'une' if noun.is_feminine else 'un'} {noun.singular}", an(noun.english)
            yield f"les {noun.plural}", f"the {noun.english_plural}"
    yield bare
    yield _capital(bare[0]), _capital(bare[1])


def _capital(word: str) -> str:
    return word[0].upper() + word[1:]
