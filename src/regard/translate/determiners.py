"""The small words before a noun that change with it: `l'enfant`, but `le gamin`; `an apple`, but `a fruit`."""

from __future__ import annotations

import re

_VOWELS = frozenset("aeiouyàâäéèêëîïôöùûüœæ")

_UNSURE = frozenset("hu")
"""letters that are spoken as a vowel in some words and not in others"""

_FORMS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "en": [(("a",), ("an",))],
    "fr": [
        (("le", "la"), ("l'",)),
        (("du", "de la"), ("de l'",)),
        (("au", "à la"), ("à l'",)),
        (("de",), ("d'",)),
        (("un", "une"), ("un", "une")),
        (("mon", "ma"), ("mon",)),
        (("ton", "ta"), ("ton",)),
        (("son", "sa"), ("son",)),
        (("ce", "cette"), ("cet", "cette")),
    ],
}
"""of each determiner the forms before a consonant and those before a vowel"""

_FIXED = {"en": ["the"], "fr": ["les", "des", "aux", "mes", "tes", "ses", "ces"]}


def forms_before(word: str, determiner: str, language: str) -> list[str]:
    """How the determiner may read before this word; as it is where the language's are not known."""
    first = word[:1].casefold()
    for before_consonant, before_vowel in _FORMS.get(language, ()):
        both = (*before_consonant, *before_vowel)
        if determiner.casefold() in both:
            forms = before_vowel if first in _VOWELS else before_consonant
            chosen = dict.fromkeys(both if first in _UNSURE else forms)
            capital = determiner[:1].isupper()
            return [form[0].upper() + form[1:] if capital else form for form in chosen]
    return [determiner]


def determiner_before(text: str, language: str) -> str:
    """The determiner that a text ends with, blank or not; empty where it ends with none."""
    found = re.search(rf"(?<![\w'])({_any(language)})\s*$", text.replace("’", "'"), re.IGNORECASE)
    return found.group(1) if found else ""


def without_determiner(text: str, language: str) -> str:
    """A text less the determiner it begins with, unless that is all of it."""
    found = re.match(
        rf"(?:{_any(language)})(?:(?<=')|\s+)(?=\w)", text.replace("’", "'"), re.IGNORECASE
    )
    return text[found.end() :] if found else text


def _any(language: str) -> str:
    forms = {form for pair in _FORMS.get(language, ()) for each in pair for form in each}
    forms |= set(_FIXED.get(language, ()))
    # The longest first: `de la` before `la`. Without any, what matches nothing.
    return "|".join(sorted(map(re.escape, forms), key=len, reverse=True)) or r"(?!)"
