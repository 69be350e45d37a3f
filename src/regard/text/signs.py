"""Signs of print, of telephones and of copied pages as the signs of a keyboard, which are those that models have learnt.

A letter and its accent are one, a ligature is its letters, what cannot be seen is not there. What is rare in any corpus is
read badly for that reason alone, and so are the words beside it.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata

from regard.text.respelling import Respelt

# Joiners mean something in scripts that are not ours.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
    "|(?<![^\x00-\u024f])[\u200c\u200d\ufe0e\ufe0f]"
)
# Letters with accents of their own, Korean syllables in parts; raised letters, dots in one sign, Roman numbers,
# ligatures, letters of formulas.
_OF_PARTS = re.compile(
    "[^\\W\\d_][\u0300-\u036f\u3099\u309a]++|[\u1100-\u11ff]++"
    "|[\u02b0-\u02b8\u1d2c-\u1d6a\u207f\u2026\u2103\u2109\u2113\u2160-\u217f\ufb00-\ufb06\U0001d400-\U0001d7ff]"
)
# Settings › General: where nothing opens, nothing is quoted.
_ARROW = re.compile("(?<=\\s)\u203a(?=\\s)")
_BLANK = "\t\u00a0\u1680\u2000-\u200a\u202f\u205f"
_BLANKS = re.compile(f"[ \u3000{_BLANK}]{{2,}}|[{_BLANK}]")
_DASH = re.compile("(?<=\\w)\u2014(?=\\w)")
# Most texts have none of what is read otherwise: signs of a keyboard, Latin letters, and some that stay as they are.
_PRINTED = re.compile("[^\t\n\r -~\u00a0-\u00ac\u00ae-\u00b3\u00b5-\u02af\u2013\u2028\u20ac]")
_DOUBLED = re.compile("(?<![\\w'])''(?=[^\\s'])|(?<=[^\\s'])''(?![\\w'])|,,(?=\\w)")
# What a page has for a letter, a blank or a quotation mark; what stands there for < and & stays as it is.
_OF_PAGES = re.compile(
    r"&(?:nbsp|[aeiouyAEIOU](?:acute|grave|circ|uml)|[cC]cedil|oelig|hellip|[mn]dash|[lr][sd]quo|[lr]aquo|quot|apos|"
    r"#0?3[49]|#x2[27]|#160|#19[2-9]|#2[0-5]\d|#82[0-3]\d);"
)
# Other scripts have no blank there.
_COMMA = re.compile(",(?=[A-Za-z\u00c0-\u024f])")
_AND_SO_ON = re.compile(r"(?<=\betc)\.\.\.")
_SINGLE = str.maketrans(
    "\u2010\u2011\u2212\u2012\u2014\u2015\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032\u201c\u201d\u201e\u201f\u2033\u2039\u203a"
    "\u2044\u2215\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089",
    "---\u2013\u2013\u2013'''''''\"\"\"\"\"\"\"//0123456789",
) | {sign: sign - 0xFEE0 for sign in range(0xFF01, 0xFF5F)}


SIGNS = frozenset(map(chr, _SINGLE)) | frozenset(
    "\u2026\u00a0\u2009\u202f\ufb00\ufb01\ufb02\ufb03\ufb04"
)
"""those that a vocabulary may have as they are"""


def in_plain_signs(text: Respelt, stays: frozenset[str] = frozenset()) -> Respelt:
    """stays: signs that are left as they are.

    >>> in_plain_signs(Respelt.of("\u201cCe ne\u0301tait qu\u2019un \ufb01lm\u2026\u201d\u200b")).text
    '"Ce nétait qu\\'un film..."'
    """
    text = text.with_each(_OF_PAGES, lambda match: html.unescape(match[0]), "&")
    if _PRINTED.search(text.text):
        text = text.with_each(_UNSEEN, lambda match: "")
        text = text.with_each(_OF_PARTS, lambda match: _composed(match[0], stays))
        if "\u2014" not in stays:
            text = text.with_each(_DASH, lambda match: " \u2013 ", "\u2014")
        if "\u2039" not in text.text:
            text = text.with_each(_ARROW, lambda match: ">", "\u203a")
        text = text.sign_by_sign(text.text.translate(_single_but(stays)))
    text = text.with_each(_BLANKS, lambda match: match[0] if match[0] in stays else " ")
    text = text.with_each(_DOUBLED, lambda match: '"', "''", ",,")
    text = text.with_each(_COMMA, lambda match: ", ", ",")
    return text.with_each(_AND_SO_ON, lambda match: ".", "etc...")


def plain(text: str) -> str:
    return in_plain_signs(Respelt.of(text)).text


def _composed(signs: str, stays: frozenset[str]) -> str:
    return signs if signs in stays else unicodedata.normalize("NFKC", signs)


@functools.lru_cache(1 << 4)
def _single_but(stays: frozenset[str]) -> dict[int, str | int]:
    return {sign: new for sign, new in _SINGLE.items() if chr(sign) not in stays}
