"""French and English pairs: one way of spelling them, and which are fit to train on."""

from __future__ import annotations

import random
import re
import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from regard.text.language import Detect, detector

FILES = {
    "europarl": ("europarl",),
    "docs": ("docs",),
    "pivot": ("phrases_pivot",),
    "games": ("games",),
    "it": ("itnews", "itweb"),
    "literature": ("literature",),
    "everyday": ("tatoeba", "phrases", "chat"),
    "news": ("news", "ntrex", "talks", "health"),
}
"""prepared file: the domains in it, with all their parts (docs-debian, games/andor)"""
_FILE_OF = {domain: file for file, domains in FILES.items() for domain in domains}

COLUMNS = "not two or three columns"
DOMAIN = "unknown domain"
CHARACTERS = "broken characters or hardly a letter"
LENGTH = "empty or too long"
RATIO = "unlike lengths"
NUMBERS = "other numbers"
QUESTION = "a question on one side"
COPY = "not translated"
LANGUAGE = "wrong language"
HELD_OUT = "held out"
DUPLICATE = "(nearly) the same again"

_MAX_CHARACTERS = 1000
_MAX_RATIO = 2.2
_RATIO_GRACE = 20
_USUAL_RATIO = 0.9
"""usual number of English characters for each French one"""
_BROKEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\u2028\u2029]|Ã[\x80-\xbf©¨ª®´»¢]|â€")
_FOREIGN = re.compile(r"[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufeff]")
_MAX_FOREIGN_SHARE = 0.1
_MIN_LETTER_SHARE = 0.5
_MIN_WORDS_COPIED = 4
_MAX_COPIED_SHARE = 0.75
_SURE, _LETTERS_TO_JUDGE = 0.8, 40
_MIN_WORDS_HELD_OUT = 6
"""words of a held-out sentence that no other corpus has by chance"""
_VALID_SHARE = 1000
"""one pair of so many goes into the validation files"""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CleanPair:
    """A pair worth training on, and the file it goes into."""

    file: str
    source: str
    target: str
    key: int
    """the same for pairs that differ only in case, punctuation or spaces"""


class PairCleaner:
    """Judges lines of French TAB English TAB domain, one at a time."""

    def __init__(self, held_out: Collection[int] = (), *, vary: bool = False) -> None:
        """held_out: keys of sentences that must not be trained on. vary: spell the French in many ways."""
        self._held_out, self._vary = held_out, vary
        self._detect = detector()

    def __call__(self, line: str) -> CleanPair | str:
        """The pair, or why it is left out."""
        columns = line.split("\t")
        if len(columns) != 3:
            return COLUMNS
        file = _FILE_OF.get(re.split("[-/]", columns[2])[0])
        if file is None:
            return DOMAIN
        if any(_BROKEN.search(side) for side in columns[:2]):
            return CHARACTERS
        french, english = plain_french(columns[0]), plain(columns[1])
        english = english_quotes(english, french)
        reason = _flaw(french, english) or _wrong_language(french, english, self._detect)
        if reason:
            return reason
        if is_held_out(french, english, self._held_out):
            return HELD_OUT
        key = key_of(f"{french}\t{english}")
        if is_drawn(key, _VALID_SHARE):
            file = "valid"
        return CleanPair(file, as_typed(french) if self._vary else french, english, key)


def key_of(text: str) -> int:
    """A hash of the words of a text, whatever their case and punctuation."""
    words = " ".join(_WORD.findall(text.lower())).encode()
    return zlib.crc32(words) << 32 | zlib.adler32(words)


def is_drawn(key: int, share: int) -> bool:
    """Whether this text is the one of so many that is drawn."""
    return (key >> 32) % share == 0


def is_held_out(french: str, english: str, held_out: Collection[int]) -> bool:
    """Both sides are held out, or one that is too long to be there by chance."""
    if not held_out:
        return False
    found = [side for side in (french, english) if key_of(side) in held_out]
    return len(found) == 2 or any(len(_WORD.findall(side)) >= _MIN_WORDS_HELD_OUT for side in found)


def _flaw(french: str, english: str) -> str | None:
    sides = (french, english)
    if not all(sides) or max(map(len, sides)) > _MAX_CHARACTERS:
        return LENGTH
    for side in sides:
        letters = sum(map(str.isalpha, side))
        if letters < _MIN_LETTER_SHARE * (len(side) - side.count(" ")) or not letters:
            return CHARACTERS
        if len(_FOREIGN.findall(side)) > _MAX_FOREIGN_SHARE * letters:
            return CHARACTERS
    shorter, longer = sorted((len(french) * _USUAL_RATIO, float(len(english))))
    if longer > _MAX_RATIO * shorter and longer - shorter > _RATIO_GRACE:
        return RATIO
    if french.endswith("?") != english.endswith("?") and ("?" in french) != ("?" in english):
        return QUESTION
    if not numbers_agree(french, english):
        return NUMBERS
    return COPY if _is_copied(french, english) else None


def _is_copied(french: str, english: str) -> bool:
    """Most words are the same: right for a name or a number, wrong for a sentence."""
    left, right = _WORD.findall(french.lower()), _WORD.findall(english.lower())
    if min(len(left), len(right)) < _MIN_WORDS_COPIED:
        return False
    same = len(set(left) & set(right))
    return same > _MAX_COPIED_SHARE * max(len(set(left)), len(set(right)))


def _wrong_language(french: str, english: str, detect: Detect | None) -> str | None:
    if detect is None:
        return None
    for side, language in ((french, "fr"), (english, "en")):
        if sum(map(str.isalpha, side)) >= _LETTERS_TO_JUDGE:
            found, score = detect(side)
            if found != language and score >= _SURE:
                return LANGUAGE
    return None


# Spelling

_PLAIN: dict[str, str | None] = {
    **dict.fromkeys("\u2019\u2018\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e", '"'),
    **dict.fromkeys("\u00a0\u202f\u2009", " "),
    **dict.fromkeys("\u00ad\u200b\ufeff"),
}
_PLAIN_CHARACTERS = str.maketrans(_PLAIN)
_SPACES = re.compile(r"\s+")
_GUILLEMETS = re.compile(r"« ?| ?»")
_HIGH = re.compile(r"(?<=[\w»\")\]%…'])\s*([?!;:]+)(?=[\s»\"]|$)")
"""two-part punctuation at the end of a word"""
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_PAIR = re.compile(r'(?<![\w"])"([^"]+)"(?![\w"])')
_SINGLE_QUOTES = re.compile(
    r"(?<![\w'])'(?=\w)(?!(?:\d\ds?|(?i:em|til|cause|tis|twas|n|bout))\b)([^']++(?:'\w[^']*+)*+)((?<=[\w.,!?])'(?!\w))?"
)

# Shares of the spellings that people use: most keyboards lack the marks of print.
_PRINTED_APOSTROPHE = 0.25
_QUOTES = ('"{}"', "« {} »", "«\u00a0{}\u00a0»", "«{}»", "\u201c{}\u201d")
_QUOTE_WEIGHTS = (5, 2, 1, 1, 1)
_BEFORE = (" ", "", "\u00a0", "\u202f")
_BEFORE_WEIGHTS = (5, 3, 1, 1)


def plain(text: str) -> str:
    """Straight apostrophes and quotation marks, ordinary single spaces."""
    return _SPACES.sub(" ", text.translate(_PLAIN_CHARACTERS)).strip()


def plain_french(text: str) -> str:
    """
    >>> plain_french("«Qu\u2019est-ce que c\u2019est?» dit-il: rien.")
    '"Qu\\'est-ce que c\\'est ?" dit-il : rien.'
    """
    return _HIGH.sub(r" \1", _GUILLEMETS.sub('"', plain(text)))


def english_quotes(text: str, french: str) -> str:
    """Single quotation marks become double where the French has quotation marks.

    >>> english_quotes("It's 'time for the future'.", 'Le "temps".')
    'It\\'s "time for the future".'
    """
    if '"' not in french:
        return text
    return _SINGLE_QUOTES.sub(lambda match: f'"{match[1]}"' if match[2] else match[0], text)


def as_typed(french: str) -> str:
    """Plain French in one of the spellings that people use; the sentence itself seeds the choice."""
    draw = random.Random(zlib.crc32(french.encode()))
    if "'" in french and draw.random() < _PRINTED_APOSTROPHE:
        french = _APOSTROPHE.sub("\u2019", french)
    [form] = draw.choices(_QUOTES, _QUOTE_WEIGHTS)
    french = _PAIR.sub(lambda match: form.format(match[1]), french)
    [before] = draw.choices(_BEFORE, _BEFORE_WEIGHTS)
    return _HIGH.sub(rf"{before}\1", french)


# Numbers

_NUMBER = re.compile(r"\d+(?:(?:[., ]|, )\d{3}(?!\d))*(?:[.,]\d+)?")
_DECIMAL = re.compile(r"(.*?)[.,](\d{1,2}|\d{4,})")
_ROMAN = re.compile(r"\b([IVX]{1,5})e\b")
"""French centuries"""
_SMALL = (
    "zéro zero;un une premier première 1er one first once;deux second seconde two twice;trois three third;"
    "quatre four;cinq five;six;sept seven;huit eight;neuf nine;dix ten;onze eleven;"
    "douze douzaine midi minuit twelve dozen noon midnight;treize thirteen;quatorze fourteen;quinze fifteen;"
    "seize sixteen;dix-sept seventeen;dix-huit eighteen;dix-neuf nineteen;vingt twenty"
)
_LARGE = {30: "trente thirty", 40: "quarante forty", 50: "cinquante fifty"}
_LARGE |= {100: "cent hundred", 1000: "mille thousand"}
_VALUES = {word: value for value, words in (*enumerate(_SMALL.split(";")), *_LARGE.items()) for word in words.split()}
_NUMBER_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(r"\b(?:[ap]\.?m\b|o'clock)", re.IGNORECASE)


def numbers_agree(french: str, english: str) -> bool:
    """Whether every number in digits is on the other side too: in digits, as a word, or as an hour after noon.

    >>> numbers_agree("Il est 14 h 30, le 3 mai.", "It is 2:30 p.m. on May third."), numbers_agree("1 200 m", "1,300 m")
    (True, False)
    """
    if not (_DIGIT.search(french) or _DIGIT.search(english)):
        return True
    french = _ROMAN.sub(lambda match: str(_roman(match[1])), french)
    left, right = _numbers(french), _numbers(english)
    only_left, only_right = left - right, right - left
    if _CLOCK.search(english):
        for value in [each for each in only_left if each.isdecimal() and 12 < int(each) <= 24]:
            hour = str(int(value) - 12)
            both = min(only_left[value], only_right[hour])
            only_left[value] -= both
            only_right[hour] -= both
    return _in_words(+only_left, english) and _in_words(+only_right, french)


def _numbers(text: str) -> Counter[str]:
    """The numbers in digits, without what groups their thousands; a decimal mark is a point."""
    found: Counter[str] = Counter()
    for match in _NUMBER.finditer(text):
        whole, mark, fraction = match[0], "", ""
        if decimal := _DECIMAL.fullmatch(whole):
            whole, mark, fraction = decimal[1], ".", decimal[2]
        digits = re.sub(r"\D", "", whole).lstrip("0") or "0"
        found[digits + mark + fraction] += 1
    return found


def _roman(letters: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in letters]
    return sum(
        -value if any(after > value for after in values[place + 1 : place + 2]) else value
        for place, value in enumerate(values)
    )


def _in_words(numbers: Counter[str], text: str) -> bool:
    if not numbers:
        return True
    words = {
        _VALUES[word]
        for found in _NUMBER_WORD.findall(text.lower())
        for word in (found, *found.split("-"))
        if word in _VALUES
    }
    return all(value.isdecimal() and int(value) in words for value in numbers)
