"""What of a sentence has to come back letter for letter: addresses, paths, placeholders, codes, words in other scripts.

A model has seen few of them and translates them as if they were words. Here they are only found; `regard.translate.keeping`
sees to it that they come back.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regard.text.amounts import AMOUNT, Money
from regard.text.placeholders import PLACEHOLDER, icu_messages

Span = tuple[int, int]

Kind = Literal[
    "name", "person", "count", "tag", "script", "number", "amount", "word", "clock", "length"
]
"""what a stretch does in its sentence; amounts, times and lengths of time may be written as the other language does"""

OFTEN_COPIED = frozenset[Kind](["number", "amount", "word"])
"""what a model mostly gives back by itself; what is of another kind also spoils the words around it"""

WHOLE = frozenset[Kind](["name", "person", "count", "tag"])
"""what is one thing, whatever words it is spelt with"""

_SUFFIXES = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|json|ya?ml|toml|ini|cfg|conf|xml|html?|css|js|ts|py|ipynb|sh|bat|"
    "exe|dll|so|cpp|hpp|rs|go|java|rb|php|sql|db|log|lock|zip|tar|gz|xz|7z|png|jpe?g|gif|svg|webp|mp3|mp4|wav|avi|mov|"
    "srt|vtt|po|xliff|tmx|epub|onnx|safetensors"
)
_DOMAINS = "com|org|net|edu|gov|info|io|dev|app|ai|fr|uk|eu|de|es|it|be|ch|ca|us"

# The repetitions are bounded so that a hostile text costs no more than its length; and there are several patterns, since
# one of so many ways would try them all at every letter.
_PATTERNS: list[tuple[Kind, re.Pattern[str]]] = [
    (
        "name",
        re.compile(
            r"""
              %[-_]?[ABFHIMR-TV-Za-bdejmpuwyz](?:[\ :/.,T-]{1,2}%[-_]?[ABFHIMR-TV-Za-bdejmpuwyz]){1,8}+(?![^\W_])  # %d/%m
            | (?<!\d)(?<!\d[ \u00a0\u202f])%[-_]?[ABHIMSYZbjmpy](?![^\W_])                 # %H of strftime
            | (?<![\w:]):[a-z+-][a-z\d_+-]{1,40}+:(?![\w:])                              # :warning:
            """,
            re.VERBOSE,
        ),
    ),
    (
        "tag",
        re.compile(r"</?(?:[A-Za-z][\w:.-]{0,50}(?:\s[^<>\n]{0,500})?|\d{1,3})/?>"),
    ),
    (
        "count",
        re.compile(
            r"""
              %(?:\(\w{1,100}\))?[-+0]{0,5}\d{0,9}(?:\.\d{1,9})?[dif](?![^\W_])
            | \{\{?\ ?(?:\w{1,50}_)?(?:count|num|number|nombre|total)\ ?\}\}?
            """,
            re.VERBOSE,
        ),
    ),
    (
        "person",
        re.compile(
            r"\b\w[\w.+-]{0,63}+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b|(?<![\w@/.])@\w(?:[\w.-]{0,50}\w)?"
        ),
    ),
    ("name", PLACEHOLDER),
    (
        "name",
        re.compile(
            r"""
              `[^`\n]{1,200}`
            | \$[A-Za-z_]\w{0,100}
            | &(?:amp|lt|gt|\#0?38|\#0?6[02]);
            | (?<![\w&])[#](?:\d{2,9}\b|\d{0,50}[^\W\d]\w{0,100})
            | (?<![\w-])--[a-z][\w-]{1,50}(?:=[^\s=]{1,100})?
            | (?<!\S)\.[A-Za-z][\w.-]{0,50}\w                                     # .env
            | (?<![\w/.:<~$£€¥%)])(?:~|\.{1,2})?/(?:[\w.@+%-]{1,100}/){0,20}[\w.@+%-]{0,99}[\w@+%-]/?   # /a/b
            """,
            re.VERBOSE,
        ),
    ),
    (
        "name",
        re.compile(
            rf"""
              \b[A-Za-z]:\\(?:[^\s\\<>:"|?*]{{1,100}}\\){{0,20}}(?:[^\s\\<>:"|?*]{{0,100}}[^\s\\<>:"|?*.,;!])?
            | (?<![\w/.@+-])\w[\w.-]{{0,100}}+/(?:[\w.@+-]{{1,100}}+/){{0,20}}+[\w.-]{{0,100}}\.\w{{1,8}}\b   # a/b.c
            | (?<![\w/@.-])\w[\w.-]{{0,100}}\.(?i:{_SUFFIXES})\b(?![./@]\w)
            | (?<![\w@.-])(?:[a-z0-9-]{{1,63}}\.){{1,5}}(?:{_DOMAINS})\b
              (?:/[^\s<>"'()]{{0,500}}[^\s<>"'().,;:!?])?
            | \b[^\W_]{{1,50}}(?:_[^\W_]{{1,50}}){{1,10}}\b/?                               # max_count
            """,
            re.VERBOSE,
        ),
    ),
    (
        "name",
        re.compile(
            r"""
              \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b
            | \b0x[0-9A-Fa-f]{1,32}\b
            | \b(?:[0-9A-Fa-f]{2}:){3,7}[0-9A-Fa-f]{2}\b
            | \b(?=[a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}\b
            | \b[A-Z]{2,10}-\d{1,10}(?:-[A-Z\d]{1,12}){0,5}\b                     # INV-2024-17
            """,
            re.VERBOSE,
        ),
    ),
    ("amount", AMOUNT),
    (
        "number",
        re.compile(
            r"""
              \+\d{1,3}[\s.-]?(?:\(\d{1,4}\)[\s.-]?)?\d{1,4}(?:[\s.-]\d{2,4}){1,5}\b     # telephones
            | \(\d{2,4}\)\s?\d{3,4}[\s.-]\d{3,4}\b
            | (?<![\w.,])(?<!\d[ \u00a0\u202f])0\d{0,4}(?:[ \u00a0\u202f.-]\d{2,4}){2,5}\b(?![.,]\d)
            | (?<![\w-])(?:\d-)?(?:\d{3}-){1,2}\d{4}\b(?!-)
            | \b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?\b                      # dates
            | \b(?=[A-Z]{2}(?:[A-Z\ ]{0,6}\d){10})[A-Z]{2}\d{2}(?:\ ?[A-Z\d]{4}){2,7}(?:\ ?[A-Z\d]{1,3})?\b
            | (?<![\w.,-])\d{4}(?:[ -]\d{4}){2,4}\b(?![.,]\d)                         # cards
            | (?<![\w.,-])\d{1,5}(?:-\d{1,7}){3,5}\b(?!-)                             # books
            | (?<![\w.,-])(?:\d{3}[ ]\d{3}[ ]\d{3}[ ]\d{5}|\d{9,30})\b(?![.,]\d)       # firms
            """,
            re.VERBOSE,
        ),
    ),
    (
        "number",
        re.compile(
            r"""
              (?<!\w)(?:\d{1,9}[ \u00a0\u202f]?)?[¼½¾⅐-⅞]
            | \bv\d{1,5}(?:\.\d{1,9}){0,5}(?:-\w{1,20}(?:\.\w{1,20}){0,3})?\b            # versions
            | (?<![\w.,])\d{1,9}(?:\.\d{1,9}){2,5}(?:[a-z]{1,5}\d{0,5})?(?:[-+]\w{1,20}(?:\.\w{1,20}){0,3})?\b
            | (?<![\w.,])\d{1,4}(?:[.,]\d{1,3})?[ \u00a0\u202f]?(?:[kKM]|Md)[$£€]             # 350 M€
            | (?<=[Vv]ersion\ )\d{1,5}\.\d{1,5}\b
            | (?<![\w.,-])\d{1,5}[A-DFGI-Z]\b(?![.’'-]\w)            # 221B; E and H are French: LE 2E, À 8H
            """,
            re.VERBOSE,
        ),
    ),
    (
        "number",
        re.compile(
            r"""
              §{1,2}+[ \u00a0\u202f]?\d{1,5}\b
            | (?<![\w.,-])\d{1,4}[ ](?:bis|ter)\b                                    # houses
            | (?<![\w.,-])\d{5,8}\b(?![.,]\d)                                       # towns
            """,
            re.VERBOSE,
        ),
    ),
]

# A surname in capitals: Mme Anne PETIT, M. LE GOFF, but not M. LE MAIRE.
_SURNAME = re.compile(
    r"(?<!\w)(?:MM?\.|Mmes?|Mlles?|Mr\.?|Mrs\.?|Ms\.?|Dr\.?)[ \u00a0\u202f](?:[A-ZÀ-Þ][a-zà-ÿ-]{1,20}+[ ]){0,2}"
    r"(?!L[AE] (?:PR[EÉ]SIDENT|MINISTRE|MAIRE|DIRECT|PR[EÉ]FET|D[EÉ]PUT|S[EÉ]NAT))(?P<name>[A-ZÀ-Þ]{2,20}+(?:[-' ’][A-ZÀ-Þ]{2,20}+)*+)(?!\w)"
)

# *So* people stress a word in a message; a mark stands at both ends.
_STRESSED = re.compile(
    r"(?<![\w*~])(?P<mark>\*\*|~~|[*_~])(?=[^\W_])[^*_~\n]{1,200}+(?<=\S)(?P=mark)(?![\w*~])"
)

# Without one of these there is nothing that these could find, as in most sentences.
_HINT = re.compile(r"[\d@#/\\{}<>%$£€¥`~_*&§¼½¾⅐-⅞]|--|\.\w|:[\w+-]|[A-ZÀ-Þ]{2}")

# What a stretch would be a part of, if it stood there.
_BEFORE = r"[\w/@]"
_AFTER = r"(?:[\w@]|[/.?&=#-]\w)"

_WORD = re.compile(r"\w[\w-]*")
_BETWEEN = re.compile(r"[\s,'’、，。：；？！・-]{0,2}")
_LATIN_END = "\u024f"
"""the last of the Latin letters that have a block of their own"""


@dataclass(frozen=True, slots=True)
class Stretch:
    span: Span
    text: str
    kind: Kind
    pattern: str
    """by which it is found in a translation: what stands alone in its sentence is to stand alone there too"""

    written: str
    """what stands for it in a translation: itself, or an amount as the other language writes it"""

    def count_in(self, text: str) -> int:
        """How often a text holds it, letter for letter."""
        return len(re.findall(self.pattern, text))


def stretches(
    text: str,
    knows: Callable[[str], bool],
    money: Money = Money(),  # noqa: B008 (frozen)
) -> list[Stretch]:
    """What is to be kept, from left to right; `knows` tells whether a vocabulary has a letter.

    >>> [each.text for each in stretches("Write to a@b.org: the word дом cost £5.", str.isascii)]
    ['a@b.org', 'дом', '£5']
    """
    found = _spelt(text, money) if _HINT.search(text) else []
    if all(map(knows, set(text))):
        return found
    others = [
        each
        for each in _unknown(text, knows)
        if not any(each.span[0] < kept.span[1] and kept.span[0] < each.span[1] for kept in found)
    ]
    return sorted([*found, *others], key=lambda each: each.span)


def _spelt(text: str, money: Money) -> list[Stretch]:
    """What is known by its signs; of two that overlap the first, and of these the longest."""
    matches = [
        (match.start(), -match.end(), order, kind)
        for order, (kind, pattern) in enumerate(_PATTERNS)
        for match in pattern.finditer(text)
        if match[0] != "%%"
    ]
    matches += [(start, -end, -1, "name") for start, end in icu_messages(text)]
    for match in _STRESSED.finditer(text):
        length = len(match["mark"])
        matches += [(at, -at - length, -1, "tag") for at in (match.start(), match.end() - length)]
    if not text.isupper():
        names = (match.span("name") for match in _SURNAME.finditer(text))
        matches += [(start, -end, 0, "word") for start, end in names]
    found: list[Stretch] = []
    end = 0
    for start, stop, _, kind in sorted(matches):
        if start >= end:
            end = -stop
            stretch = _stretch(text, (start, end), kind)
            if kind == "amount":
                stretch = replace(
                    stretch, written=money.written(stretch.text, text[end : end + 20])
                )
            found.append(stretch)
    return found


def _stretch(text: str, span: Span, kind: Kind) -> Stretch:
    start, end = span
    pattern = re.escape(text[start:end])
    if kind != "tag":
        before = "" if re.match(_BEFORE, text[max(0, start - 1) : start]) else f"(?<!{_BEFORE})"
        after = "" if re.match(_AFTER, text[end : end + 2]) else f"(?!{_AFTER})"
        pattern = before + pattern + after
    return Stretch(span, text[start:end], kind, pattern, text[start:end])


def _unknown(text: str, knows: Callable[[str], bool]) -> Iterator[Stretch]:
    """Words and signs of which the vocabulary lacks something."""
    yield from _unknown_words(text, knows)
    for place, sign in enumerate(text):
        if unicodedata.category(sign).startswith("S") and not knows(sign):
            yield _stretch(text, (place, place + 1), "number")


def _unknown_words(text: str, knows: Callable[[str], bool]) -> Iterator[Stretch]:
    """Words with letters that the vocabulary lacks; those in another script one after another are one stretch."""
    start = end = 0
    for match in _WORD.finditer(text):
        strange = [sign for sign in match[0] if sign.isalnum() and not knows(sign)]
        if not strange:
            continue
        first, last = match.start(), match.start() + len(match[0].rstrip("-"))
        if all(sign <= _LATIN_END or not sign.isalpha() for sign in strange):
            yield _stretch(text, (first, last), "word")
            continue
        # The vowels of some scripts are marks, and no letters.
        while last < len(text) and unicodedata.category(text[last]).startswith("M"):
            last += 1
        if end and _BETWEEN.fullmatch(text, end, first):
            end = last
            continue
        if end:
            yield _stretch(text, (start, end), "script")
        start, end = first, last
    if end:
        yield _stretch(text, (start, end), "script")


def outside(text: str, found: Sequence[Stretch]) -> list[str]:
    """What stands before, between and after the stretches."""
    edges = [0, *(edge for each in found for edge in each.span), len(text)]
    return [text[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
