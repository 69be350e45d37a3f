"""Normalisation: a text in the signs and letters that a model's vocabulary knows, with offsets into the given text.

Typographic signs become those of a keyboard, white space becomes single blanks, letters and their accents are composed,
and a text all in capitals is read in small letters. What is rare in any corpus is translated badly for that reason alone.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from regard.text import Span
from regard.text.tokenizer import TokenizerBase

# Zero-width joiners have a meaning in scripts other than Latin.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
    "|(?<![^\x00-\u024f])[\u200c\u200d\ufe0e\ufe0f]"
)
# Combining accents, Korean jamo; raised letters, the ellipsis, Roman numerals, ligatures, mathematical letters.
_COMPOSED = re.compile(
    "[^\\W\\d_][\u0300-\u036f\u3099\u309a]++|[\u1100-\u11ff]++"
    "|[\u02b0-\u02b8\u1d2c-\u1d6a\u207f\u2026\u2103\u2109\u2113\u2160-\u217f\ufb00-\ufb06\U0001d400-\U0001d7ff]"
)
_BLANK = "\t\u00a0\u1680\u2000-\u200a\u202f\u205f"
_BLANKS = re.compile(f"[ \u3000{_BLANK}]{{2,}}|[{_BLANK}]")
_EM_DASH = re.compile("(?<=\\w)\u2014(?=\\w)")
# Characters outside of this set are checked for; most texts have none of them.
_TYPOGRAPHIC = re.compile("[^\t\n\r -~\u00a0-\u00ac\u00ae-\u00b3\u00b5-\u02af\u2013\u2028\u20ac]")
_DOUBLED_QUOTE = re.compile("(?<![\\w'])''(?=[^\\s'])|(?<=[^\\s'])''(?![\\w'])|,,(?=\\w)")
# HTML entities of letters, blanks and quotation marks; &lt; and &amp; are protected spans.
_ENTITY = re.compile(
    r"&(?:nbsp|[aeiouyAEIOU](?:acute|grave|circ|uml)|[cC]cedil|oelig|hellip|[mn]dash|[lr][sd]quo|[lr]aquo|quot|apos|"
    r"#0?3[49]|#x2[27]|#160|#19[2-9]|#2[0-5]\d|#82[0-3]\d);"
)
# Other scripts have no blank after a comma.
_COMMA = re.compile(",(?=[A-Za-z\u00c0-\u024f])")
_KEYBOARD = str.maketrans(
    "\u2010\u2011\u2212\u2012\u2014\u2015\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032\u201c\u201d\u201e\u201f\u2033\u2039\u203a"
    "\u2044\u2215\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089",
    "---\u2013\u2013\u2013'''''''\"\"\"\"\"\"\"//0123456789",
) | {sign: sign - 0xFEE0 for sign in range(0xFF01, 0xFF5F)}
_SIGNS = frozenset(map(chr, _KEYBOARD)) | frozenset("\u2026\u00a0\u2009\u202f\ufb00\ufb01\ufb02\ufb03\ufb04")
# Languages whose typographic signs become those of a keyboard even where the vocabulary has both.
_PREFERS_KEYBOARD = ("en", "fr")
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_WORD = re.compile(r"[^\W\d_]++")
_MIN_CAPITALS = 5  # letters of a single word in capitals that is no abbreviation, such as NATO


@dataclass(frozen=True, slots=True)
class Normalised:
    """A text, and for each of its characters, and for its end, the offset in the given text."""

    text: str
    offsets: Sequence[int]
    in_capitals: bool = False  # whether the given text was all in capitals

    @classmethod
    def of(cls, text: str) -> Normalised:
        return cls(text, range(len(text) + 1))

    def sub(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> Normalised:
        """Replace every match.

        >>> Normalised.of("a -- b").sub(re.compile("--"), lambda match: "-").offsets
        [0, 1, 2, 4, 5, 6]
        """
        parts: list[str] = []
        offsets: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            written = new(match)
            parts += [self.text[done:start], written]
            offsets += self.offsets[done:start]
            last = max(end - 1, start)
            offsets += [self.offsets[min(start + number, last)] for number in range(len(written))]
            done = end
        if not parts:
            return self
        return Normalised("".join(parts) + self.text[done:], [*offsets, *self.offsets[done:]])


class Normaliser:
    """Normalises the texts of a language for a vocabulary."""

    def __init__(self, language: str, vocabulary: TokenizerBase) -> None:
        self._language, self._has = language[:2], functools.partial(_has_token, vocabulary)
        # Whether the vocabulary has a character, or what it is normalised to.
        self.knows = functools.cache(
            lambda sign: all(each.isascii() or self._has(each) for each in normalise_text(sign))
        )
        self._num_tokens = functools.lru_cache(1 << 14)(lambda word: len(vocabulary.encode(word)))

    def __call__(self, text: str) -> str:
        return self.normalise(text).text

    def normalise(self, text: str, untouched: Sequence[Span] = ()) -> Normalised:
        """The text with everything normalised but the untouched spans, which are in order."""
        edges = [0, *(edge for span in untouched for edge in span), len(text)]
        spans = list(zip(edges, edges[1:], strict=False))
        is_capitals = is_in_capitals("".join(text[slice(*span)] for span in spans[::2]))
        parts: list[Normalised] = []
        is_first = True
        for number, (start, end) in enumerate(spans):
            part = Normalised(text[start:end], range(start, end + 1))
            if number % 2 == 0:
                part = normalise_signs(part, frozenset() if text.isascii() else self._kept_signs)
                if is_capitals:
                    small = self._lower(part.text)
                    if is_first:
                        small = _WORD.sub(lambda match: capitals(match[0][0]) + match[0][1:], small, 1)
                    part = replace(part, text=small)
                    is_first = is_first and not _WORD.search(small)
            parts.append(part)
        if len(parts) == 1:
            return replace(parts[0], in_capitals=is_capitals) if is_capitals else parts[0]
        offsets = [offset for part in parts for offset in part.offsets[:-1]]
        return Normalised("".join(part.text for part in parts), [*offsets, len(text)], is_capitals)

    @functools.cached_property
    def _kept_signs(self) -> frozenset[str]:
        """Typographic signs that stay: the vocabulary has them, and lacks the keyboard's or may need them."""
        found = filter(self._has, _SIGNS)
        if self._language not in _PREFERS_KEYBOARD:
            return frozenset(found)
        return frozenset(sign for sign in found if not all(map(self._has, normalise_text(sign))))

    def _lower(self, text: str) -> str:
        """Each word in the case that takes the fewest tokens: small letters, a name's, or an abbreviation's."""

        def lower(match: re.Match[str]) -> str:
            word = match[0]
            if word == "I" and self._language == "en":
                return word
            small = "".join(each.lower() if len(each.lower()) == 1 else each for each in word)
            return min(small, word[0] + small[1:], word, key=self._num_tokens)

        return _WORD.sub(lower, text)


def known_signs(text: str, vocabulary: TokenizerBase) -> str:
    """The text with keyboard signs for those that the vocabulary lacks; white space stays."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    lacking = {sign for sign in composed if not (sign.isascii() or _has_token(vocabulary, sign))}
    return composed.translate({ord(sign): normalise_text(sign) for sign in lacking})


def _has_token(vocabulary: TokenizerBase, sign: str) -> bool:
    """Whether a character is a token, not bytes or unknown."""
    ids = vocabulary.encode(sign)
    in_bytes = any(map(_BYTE.fullmatch, vocabulary.token_strings(ids)))
    return not in_bytes and vocabulary.special_ids.isdisjoint(ids)


def normalise_signs(text: Normalised, kept: frozenset[str] = frozenset()) -> Normalised:
    """
    >>> normalise_signs(Normalised.of("\u201cCe ne\u0301tait qu\u2019un \ufb01lm\u2026\u201d\u200b")).text
    '"Ce nétait qu\\'un film..."'
    """
    # A search for a string takes a tenth of the time of a regular expression.
    if "&" in text.text:
        text = text.sub(_ENTITY, lambda match: html.unescape(match[0]))
    if _TYPOGRAPHIC.search(text.text):
        text = text.sub(_INVISIBLE, lambda match: "")
        composed = functools.partial(unicodedata.normalize, "NFKC")
        text = text.sub(_COMPOSED, lambda match: match[0] if match[0] in kept else composed(match[0]))
        if "\u2014" not in kept:
            text = text.sub(_EM_DASH, lambda match: " \u2013 ")
        table = {sign: new for sign, new in _KEYBOARD.items() if chr(sign) not in kept}
        text = replace(text, text=text.text.translate(table))
    if "  " in text.text or "\t" in text.text or not text.text.isascii():
        text = text.sub(_BLANKS, lambda match: match[0] if match[0] in kept else " ")
    if "''" in text.text or ",," in text.text:
        text = text.sub(_DOUBLED_QUOTE, lambda match: '"')
    return text.sub(_COMMA, lambda match: ", ")


def normalise_text(text: str) -> str:
    return normalise_signs(Normalised.of(text)).text


def is_in_capitals(text: str) -> bool:
    """Whether a text is all in capitals, and more than an abbreviation: I LOVE YOU, not NATO."""
    words = [word for word in _WORD.findall(text) if len(word) > 1 or word == "I"] if text.isupper() else []
    return len(words) > 1 or any(len(word) >= _MIN_CAPITALS for word in words)


def capitals(text: str) -> str:
    """In capitals, one character for each."""
    return "".join(sign.upper() if len(sign.upper()) == 1 else sign for sign in text)
