"""Spans that a translation must copy letter for letter: addresses, paths, placeholders, tags, codes, other scripts.

A model has seen few of them and translates them as if they were words. This module finds them; `regard.translate.protect`
masks and restores them. All repetitions are bounded, so that a hostile text takes time linear in its length.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from regard.text import Span

SpanKind = Literal["name", "person", "number", "tag"]
"""role of a span in its sentence, which decides its stand-in; a tag stands around words or between them"""

PLACEHOLDER = re.compile(
    r"""
      \{\{[^{}\n]{0,200}\}\} | \{%[^{}\n]{0,200}%\}            # templates: {{ name }}, {% if %}
    | [%$\#]?\{[\w.\[\]!:,<>=^+|-]{0,100}\}                    # {}, {0}, {name:>10}, ${NAME}, %{name}, #{name}
    | %\([\w. -]{1,100}\)[-+\#0]{0,5}\d{0,9}(?:\.\d{1,9})?[a-zA-Z]   # %(name)s
    | %(?:\d{1,3}\$)?[-+\#0]{0,5}(?:\d{1,9}|\*)?(?:\.(?:\d{1,9}|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcspn@](?![^\W_])
    | %\d{1,2}(?!\w) | %%                                      # %1 of Qt, and the sign itself
    | </?(?:[A-Za-z][\w:.-]{0,50}(?:\s[^<>\n]{0,500})?|\d{1,3})/?>   # a tag where the format has none
    | \b(?:https?|ftp)://                                      # brackets in pairs, and no stop at the end
      (?:[^\s<>"'`()\]}“”«»]|\([^\s<>"'`()]{0,200}\)){0,2000}
      (?:[^\s<>"'`()\]}“”«».,;:!?]|\([^\s<>"'`()]{0,200}\))
    | \bwww\.[\w.-]{1,200}\w(?:/(?:[^\s<>"'`)\]}“”«»]{0,2000}[^\s<>"'`)\]}“”«».,;:!?])?)?
    | \b\w[\w.+-]{0,63}+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b
    """,
    re.VERBOSE,
)
"""placeholders of programs, tags and links; documents compare them as well"""

_SUFFIXES = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|json|ya?ml|toml|ini|cfg|conf|xml|html?|css|js|ts|py|ipynb|sh|bat|"
    "exe|dll|so|cpp|hpp|rs|go|java|rb|php|sql|db|log|lock|zip|tar|gz|xz|7z|png|jpe?g|gif|svg|webp|mp3|mp4|wav|avi|mov|"
    "srt|vtt|po|xliff|tmx|epub|onnx|safetensors"
)
_DOMAINS = "com|org|net|edu|gov|info|io|dev|app|ai|fr|uk|eu|de|es|it|be|ch|ca|us"

_DATES = r"""
      %[-_]?[ABFHIMR-TV-Za-bdejmpuwyz](?:[\ :/.,T-]{1,2}%[-_]?[ABFHIMR-TV-Za-bdejmpuwyz]){1,8}+(?![^\W_])  # %d/%m
    | (?<!\d)(?<!\d[ \u00a0\u202f])%[-_]?[ABHIMSYZbjmpy](?![^\W_])                 # %H of strftime
    | (?<![\w:]):[a-z+-][a-z\d_+-]{1,40}+:(?![\w:])                              # :warning:
"""
_COUNTS = r"""
      %(?:\(\w{1,100}\))?[-+0]{0,5}\d{0,9}(?:\.\d{1,9})?[dif](?![^\W_])          # %d, %(n)d
    | \{\{?\ ?(?:\w{1,50}_)?(?:count|num|number|nombre|total)\ ?\}\}?
"""
_FILES = rf"""
      \b[A-Za-z]:\\(?:[^\s\\<>:"|?*]{{1,100}}\\){{0,20}}(?:[^\s\\<>:"|?*]{{0,100}}[^\s\\<>:"|?*.,;!])?
    | (?<![\w/.@+-])\w[\w.-]{{0,100}}+/(?:[\w.@+-]{{1,100}}+/){{0,20}}+[\w.-]{{0,100}}\.\w{{1,8}}\b   # a/b.c
    | (?<![\w/@.-])\w[\w.-]{{0,100}}\.(?i:{_SUFFIXES})\b(?![./@]\w)
    | (?<![\w@.-])(?:[a-z0-9-]{{1,63}}\.){{1,5}}(?:{_DOMAINS})\b
      (?:/[^\s<>"'()]{{0,500}}[^\s<>"'().,;:!?])?
    | \b[^\W_]{{1,50}}(?:_[^\W_]{{1,50}}){{1,10}}\b/?                               # max_count
    | (?<![\w*^~\\])\w{{1,50}}+(?:[*^~\\]{{1,3}}\w{{1,50}}+){{1,10}}(?![\w*^~\\])     # x^2, a*b
"""
_NAMES = r"""
      `[^`\n]{1,200}`
    | \$[A-Za-z_]\w{0,100}
    | &(?:amp|lt|gt|\#0?38|\#0?6[02]);
    | (?<![\w&])[#](?:\d{2,9}\b|\d{0,50}[^\W\d]\w{0,100})
    | (?<![\w-])--[a-z][\w-]{1,50}(?:=[^\s=]{1,100})?
    | (?<!\S)\.[A-Za-z][\w.-]{0,50}\w                                     # .env
    | (?<![\w/.:<~$£€¥%)])(?:~|\.{1,2})?/(?:[\w.@+%-]{1,100}/){0,20}[\w.@+%-]{0,99}[\w@+%-]/?   # /a/b
"""
_CODES = r"""
      \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b
    | \b0x[0-9A-Fa-f]{1,32}\b
    | \b(?:[0-9A-Fa-f]{2}:){3,7}[0-9A-Fa-f]{2}\b
    | \b(?=[a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}\b
    | \b[A-Z]{2,10}-\d{1,10}(?:-[A-Z\d]{1,12}){0,5}\b                     # INV-2024-17
"""
_NUMBERS = r"""
      \+\d{1,3}[\s.-]?(?:\(\d{1,4}\)[\s.-]?)?\d{1,4}(?:[\s.-]\d{2,4}){1,5}\b     # telephones
    | \(\d{2,4}\)\s?\d{3,4}[\s.-]\d{3,4}\b
    | (?<![\w.,])(?<!\d[ \u00a0\u202f])0\d{0,4}(?:[ \u00a0\u202f.-]\d{2,4}){2,5}\b(?![.,]\d)
    | (?<![\w-])(?:\d-)?(?:\d{3}-){1,2}\d{4}\b(?!-)
    | \b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?\b                      # dates
    | \b(?=[A-Z]{2}(?:[A-Z\ ]{0,6}\d){10})[A-Z]{2}\d{2}(?:\ ?[A-Z\d]{4}){2,7}(?:\ ?[A-Z\d]{1,3})?\b
    | (?<![\w.,-])\d{4}(?:[ -]\d{4}){2,4}\b(?![.,]\d)                         # bank cards
    | (?<![\w.,-])\d{1,5}(?:-\d{1,7}){3,5}\b(?!-)                             # ISBN
    | (?<![\w.,-])(?:\d{3}[ ]\d{3}[ ]\d{3}[ ]\d{5}|\d{9,30})\b(?![.,]\d)       # company numbers
"""
_OTHER_NUMBERS = r"""
      (?<!\w)(?:\d{1,9}[ \u00a0\u202f]?)?[¼½¾⅐-⅞]
    | \bv\d{1,5}(?:\.\d{1,9}){0,5}(?:-\w{1,20}(?:\.\w{1,20}){0,3})?\b            # versions
    | (?<![\w.,])\d{1,9}(?:\.\d{1,9}){2,5}(?:[a-z]{1,5}\d{0,5})?(?:[-+]\w{1,20}(?:\.\w{1,20}){0,3})?\b
    | (?<=[Vv]ersion\ )\d{1,5}\.\d{1,5}\b
    | (?<![\w.,-])\d{1,5}[A-DFGI-Z]\b(?![.’'-]\w)            # 221B; E and H are French: LE 2E, À 8H
    | (?<![\w$])[A-Z]{1,3}\$\ ?\d{1,9}(?:[.,]\d{1,3}){0,5}(?!\w)                    # US$1,500
    | (?<![\w.,])\d{1,3}(?:\.\d{3}){1,4},\d{1,2}(?:\ ?[€$£])?(?![\w,])              # 1.299,99€
    | §{1,2}+[ \u00a0\u202f]?\d{1,5}\b
    | (?<![\w.,-])\d{5,8}\b(?![.,]\d)                                       # postal codes
"""
_EMAIL = r"\b\w[\w.+-]{0,63}+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b"
# One alternation of all patterns would try every branch at every letter. The second of each three is what a text must hold
# for the form to be looked for: it begins with a set of characters, which `re` finds ten times as fast.
_FORMS: tuple[tuple[SpanKind, str, str], ...] = (
    ("name", r"[%:](?:(?<=%)|[a-z+-])", _DATES),
    ("tag", r"<", r"</?(?:[A-Za-z][\w:.-]{0,50}(?:\s[^<>\n]{0,500})?|\d{1,3})/?>"),
    ("number", r"[%{]", _COUNTS),
    ("person", r"@", rf"{_EMAIL}|(?<![\w@/.])@\w(?:[\w.-]{{0,50}}\w)?"),
    ("name", r"[%{<@:w](?:(?<=[%{<@])|(?<=:)//|(?<=w)ww\.)", PLACEHOLDER.pattern),
    ("name", r"[\\/_*^~.](?:(?<!\.)|7|[^\W\d])", _FILES),
    ("name", r"[`$&#/.-](?:(?<=[`$&#/])|(?<=-)-[a-z]|(?<=\.)(?<!\S\.))", _NAMES),
    (
        "name",
        r"[-x:\d](?:(?<=0x)|(?<=[0-9a-f]{4}-)|(?<=[A-Z]-)\d|(?<=[0-9A-Fa-f]:)[0-9A-Fa-f]|(?<=\d)[a-f]|(?<=[a-f]\d))",
        _CODES,
    ),
    ("number", r"[+\d](?:(?<=\+)\d|(?<=\d)-\d|(?<=\d)(?:[^a-z\d]{0,7}\d){4})", _NUMBERS),
    ("number", r"[¼½¾⅐-⅞$§v\d](?:(?<=[¼½¾⅐-⅞$§])|(?<=v)\d|(?<=\d)(?:\.\d|[A-DFGI-Z]|\d{4}))", _OTHER_NUMBERS),
)
"""kind, what a text must hold, form; where two match the same span, the first gives its kind"""
_PATTERNS = [(kind, re.compile(needs), re.compile(form, re.VERBOSE)) for kind, needs, form in _FORMS]

# *Stress* in a message: a mark at both ends.
_STRESSED = re.compile(r"(?<![\w*~])(?P<mark>\*\*|~~|[*_~])(?=[^\W_])[^*_~\n]{1,200}+(?<=\S)(?P=mark)(?![\w*~])")
_STRESS = re.compile("[*_~]")

_ICU_HEAD = re.compile(r"\{\s{0,5}\w{1,50}+\s{0,5},\s{0,5}(?:plural|select|selectordinal)\s{0,5},")
_BRACE = re.compile("[{}]")
_LONGEST_ICU = 2000  # characters of an ICU message

# A symbol, or the same several times, with the number that it belongs to: ¥2,500.
_SYMBOL = re.compile(r"(?:\d[\d.,]{0,20})?([^\w\s])\1{0,50}+(?:[\d.,]{0,20}\d)?")
_CODE_SIGN = re.compile(r"[*^~|\\{}]")  # text for people teaches a model nothing about these
_WORD = re.compile(r"\w[\w-]*")
_BETWEEN = re.compile(r"[\s,'’、，。：；？！・-]{0,2}")
_LATIN_END = "\u024f"  # last of the Latin letters in blocks of their own


@dataclass(frozen=True, slots=True)
class ProtectedSpan:
    span: Span
    text: str
    kind: SpanKind


def find_protected(text: str, knows: Callable[[str], bool]) -> list[ProtectedSpan]:
    """The spans to copy, from left to right; `knows` tells whether the vocabulary has a character that is not ASCII.

    >>> [each.text for each in find_protected("Write to a@b.org: the word дом, v1.2.", str.isascii)]
    ['a@b.org', 'дом', 'v1.2']
    """
    found = _known_forms(text)
    if _CODE_SIGN.search(text) or (not text.isascii() and not all(map(knows, set(text)))):
        known = [(start, end) for start, end, _ in found]
        found += [each for each in _unknown(text, knows) if not any(each[0] < b and a < each[1] for a, b in known)]
        found.sort()
    return [ProtectedSpan((start, end), text[start:end], kind) for start, end, kind in found]


def placeholders(text: str) -> Counter[str]:
    """Each placeholder of a text with its count.

    >>> sorted(placeholders("%s and {name}: 100 % of {name}").items())
    [('%s', 1), ('{name}', 2)]
    """
    return Counter(PLACEHOLDER.findall(text))


def _known_forms(text: str) -> list[tuple[int, int, SpanKind]]:
    """Of matches that overlap the first, and of these the longest."""
    matches: list[tuple[int, int, int, SpanKind]] = [
        (match.start(), -match.end(), order, kind)
        for order, (kind, needs, pattern) in enumerate(_PATTERNS)
        if needs.search(text)
        for match in pattern.finditer(text)
        if match[0] != "%%"
    ]
    matches += [(start, -end, -1, "name") for start, end in _icu_messages(text)]
    for match in _STRESSED.finditer(text) if _STRESS.search(text) else ():
        length = len(match["mark"])
        matches += [(at, -at - length, -1, "tag") for at in (match.start(), match.end() - length)]
    found: list[tuple[int, int, SpanKind]] = []
    for start, stop, _, kind in sorted(matches):
        if not found or start >= found[-1][1]:
            found.append((start, -stop, kind))
    return found


def _icu_messages(text: str) -> Iterator[Span]:
    """From the first brace of an ICU message, {n, plural, one {# cat} other {{n} cats}}, to the one that closes it."""
    end = 0
    for head in _ICU_HEAD.finditer(text):
        if head.start() < end:
            continue
        depth = 0
        for brace in _BRACE.finditer(text, head.start(), head.start() + _LONGEST_ICU):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.end()
                yield head.start(), end
                break


def _unknown(text: str, knows: Callable[[str], bool]) -> Iterator[tuple[int, int, SpanKind]]:
    """Symbols and words with a character that the vocabulary lacks; neighbours in another script are one span."""
    for match in _SYMBOL.finditer(text):
        symbols = [sign for sign in match[0] if unicodedata.category(sign).startswith("S")]
        if not all(map(knows, symbols)) or _CODE_SIGN.search(match[0]):
            yield *match.span(), "number"
    start = end = 0
    for match in _WORD.finditer(text):
        unknown = [sign for sign in match[0] if sign.isalnum() and not knows(sign)]
        if not unknown:
            continue
        first, last = match.start(), match.start() + len(match[0].rstrip("-"))
        if all(sign <= _LATIN_END or not sign.isalpha() for sign in unknown):
            yield first, last, "name"
            continue
        # In some scripts vowels are combining marks, not letters.
        while last < len(text) and unicodedata.category(text[last]).startswith("M"):
            last += 1
        if end and _BETWEEN.fullmatch(text, end, first):
            end = last
            continue
        if end:
            yield start, end, "name"
        start, end = first, last
    if end:
        yield start, end, "name"
