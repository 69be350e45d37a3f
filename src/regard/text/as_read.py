"""A text as a model has learnt to read it: the signs of a keyboard, one blank at a time, words in full and in small letters.

What is typed otherwise is rare in any corpus, and is read badly for that reason alone. Which way of writing a word a
model knows, its vocabulary tells: it is the one of fewer pieces. A text that was all in capitals gets a translation in
capitals.
"""

from __future__ import annotations

import functools
import re

from regard.text.alphabet import Alphabet
from regard.text.haste import written_out
from regard.text.respelling import Respelt
from regard.text.signs import SIGNS, in_plain_signs, plain
from regard.text.tokenizer_base import TokenizerBase

_WORD = re.compile(r"[^\W\d_]++")
# A list has a number of this name, and a program a variable: for i in, i = 0, i++.
_ENGLISH_I = re.compile(r"(?<![\w(.\[-])(?<!for )i(?!\w|[.)-]\w|\)| ?[=+<>*/\[\]])")
# What stands between single quotation marks, apostrophes inside allowed; or has no such end and is passed over, for none
# that begins inside it has one either. Before a year and before words that have lost their beginning it is an apostrophe.
_QUOTED = re.compile(
    r"(?<![\w'])'(?=\w)(?!(?:\d\ds?|(?i:em|til|cause|tis|twas|n|bout))\b)([^']++(?:'\w[^']*+)*+)((?<=[\w.,!?])'(?!\w))?"
)
_CAPITAL = "A-ZÀ-ÖØ-ÞŒŸ"
_CAPITALS = re.compile(
    rf"(?<![\w-])[{_CAPITAL}]{{2,}}+(?: [{_CAPITAL}]{{2,}}+(?![\w-]))*+(?![\w-])"
)
# Soooo; but www, xxx, iii and viii are something else.
_DRAWN_OUT = re.compile(r"([a-hj-vyzàâçèéêëîïôöùûü])\1{2,}+|(?<=[a-uyzà-öø-ÿ])i{3,}+")
# The languages whose reading was measured; and whose words have no letter thrice, as German Schifffahrt has.
_OURS = ("en", "fr")
# A word that was broken at the end of a line.
_BROKEN = re.compile(r"(?<![\w-])([^\W\d_]{2,20}+)-\s([a-zà-öø-ÿ]{2,20}+)(?![\w-])")
# After a name or a title capitals are a name: John BAKER, Mr. BAKER.
_NAMED = re.compile(rf"(?<!\w)[{_CAPITAL}](?:[^\W\d_]++\.?|\.) \Z")
_THRICE = [3 * letter for letter in "abcdefghijklmnopqrstuvyzàâçèéêëîïôöùûü"]
_LETTERS = re.compile(r"[^\W\d_]*+")
_LONGEST = 20
"""letters on one side of those that are drawn out"""

# Known with a capital only, as a name or as the beginning of one, and in small letters no name: turkey for dinner, en lin.
_NO_NAMES = frozenset(
    "turkey bush trump ruby barn bran ash dad bow mug nap pin bay ale jar oak hen hug jet sin pal cub lad pad ram "
    "bol coton gal gré lin maman papa verts vil".split()
)

# A single short word in capitals is an abbreviation, such as NATO.
_LEAST_SHOUT = 5
_LEAST_STRESSED = 4


def in_double_quotes(text: str) -> str:
    """With double quotation marks for single ones, as most people type them.

    >>> in_double_quotes("It's 'time for the future'.")
    'It\\'s "time for the future".'
    """
    return _QUOTED.sub(lambda match: f'"{match[1]}"' if match[2] else match[0], text)


def with_english_i(text: str) -> str:
    """
    >>> with_english_i("i think i'm in (i), i.e. here")
    "I think I'm in (i), i.e. here"
    """
    return _ENGLISH_I.sub("I", text)


class AsRead:
    """How texts of a language are read by a model with these pieces."""

    def __init__(self, language: str, pieces: TokenizerBase, *, in_full: bool = True) -> None:
        """in_full: what was typed in haste is written out, for a model that has not met it."""
        self._language, self._in_full = language[:2], in_full
        self._alphabet = Alphabet(pieces)
        # A sentence is read to be measured, and again to be translated.
        self._read = functools.lru_cache(1 << 10)(lambda text: self.respelt(text).text)
        self._num_pieces = functools.lru_cache(1 << 14)(lambda word: len(pieces.encode(word)))

    def __call__(self, text: str) -> str:
        return self._read(text)

    def respelt(self, text: str) -> Respelt:
        read = in_plain_signs(Respelt.of(text), frozenset() if text.isascii() else self._stays)
        if self._language == "en":
            read = read.sign_by_sign(in_double_quotes(read.text))
        read = read.sign_by_sign(self._in_small_letters(read.text))
        if self._language in _OURS:
            read = read.with_each(_DRAWN_OUT, self._not_drawn_out, *_THRICE)
        read = read.with_each(_BROKEN, self._whole, "- ", "-\n", "-\r")
        return written_out(read, self._language) if self._in_full else read

    @functools.cached_property
    def _stays(self) -> frozenset[str]:
        """Signs of print that the vocabulary has, where it lacks those of a keyboard, or its language may need them."""
        learnt = self._alphabet.has_learnt
        is_ours = self._language in _OURS
        return frozenset(
            sign
            for sign in SIGNS
            if learnt(sign) and not (is_ours and all(map(learnt, plain(sign))))
        )

    def _in_small_letters(self, text: str) -> str:
        """Where everything was in capitals, or words of a sentence are; names that began with none get theirs."""
        if is_shouted(text):
            small = _WORD.sub(lambda match: self._of_capitals(match[0]), text)
            text = _with_capital(small)
        elif text.islower():
            text = _WORD.sub(lambda match: self._name(match[0]), text)
        elif self._language == "en":
            text = _CAPITALS.sub(self._without_stress, text)
        return with_english_i(text) if self._language == "en" else text

    def _of_capitals(self, word: str) -> str:
        """A word, a name or an abbreviation, whichever the vocabulary knows."""
        small = _small(word)
        return min(small, word[0] + small[1:], word, key=self._num_pieces)

    def _name(self, word: str) -> str:
        if word in _NO_NAMES or (self._language == "en" and self._is_plural(word)):
            return word
        name = word[0].upper() + word[1:]
        known = self._num_pieces(name) == 1 < self._num_pieces(word)
        return name if known and len(name) == len(word) else word

    def _is_plural(self, word: str) -> bool:
        """Of a word that is known in small letters: windows, heads."""
        return word.endswith("s") and self._num_pieces(word[:-1]) == 1

    def _without_stress(self, match: re.Match[str]) -> str:
        """Words in capitals are said with stress where one is long and known in small letters only.

        In French they are names as often.
        """
        words = match[0].split(" ")
        named = _NAMED.search(match.string[max(0, match.start() - _LONGEST) : match.start()])
        if named or not any(map(self._is_stressed, words)):
            return match[0]
        small = " ".join(map(self._of_capitals, words))
        return _with_capital(small) if match.start() == 0 else small

    def _is_stressed(self, word: str) -> bool:
        known = self._num_pieces(self._of_capitals(word)) == 1
        return len(word) >= _LEAST_STRESSED and known and self._num_pieces(word) > 1

    def _whole(self, match: re.Match[str]) -> str:
        """One word, unless it is two: pre- and post-war."""
        parts = sum(map(self._num_pieces, match.groups()))
        whole = match[1] + match[2]
        return whole if self._num_pieces(whole) < parts else match[0]

    def _not_drawn_out(self, match: re.Match[str]) -> str:
        """A letter once or twice, as the word is known."""
        text, (start, end) = match.string, match.span()
        reversed_ = _LETTERS.match(text[max(0, start - _LONGEST) : start][::-1])
        before, after = reversed_, _LETTERS.match(text, end, end + _LONGEST)
        assert before and after
        if not before[0] and not after[0]:
            return match[0]
        once = match[0][0]
        return min(
            (once, 2 * once),
            key=lambda each: self._num_pieces(before[0][::-1] + each + after[0]),
        )


def is_shouted(text: str) -> bool:
    """Is everything in capitals, and more than an abbreviation?

    >>> is_shouted("HELLO"), is_shouted("I LOVE YOU"), is_shouted("NATO"), is_shouted("Hello")
    (True, True, False, False)
    """
    if not text.isupper():
        return False
    words = [word for word in _WORD.findall(text) if len(word) > 1 or word == "I"]
    return len(words) > 1 or any(len(word) >= _LEAST_SHOUT for word in words)


def shouted(text: str) -> str:
    """In capitals, where that leaves every letter one letter."""
    return "".join(sign.upper() if len(sign.upper()) == 1 else sign for sign in text)


def _small(text: str) -> str:
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _with_capital(text: str) -> str:
    first = next(place for place, sign in enumerate(text) if sign.isalpha())
    return text[:first] + shouted(text[first]) + text[first + 1 :]
