"""A text as sentences that a model can read, and the untranslated text between them.

A text is cut at line ends, tabs and sentence ends. A sentence longer than the model was trained for is cut again, best at
punctuation; a single word of that length is copied. White space, list marks and emoji stand between sentences and are
not translated; `Parts.join` puts them back.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# Emoji with their modifiers, flags, keycaps, faces of punctuation, and line break tags. "x <3" is a comparison.
_EMOJI = re.compile(
    "(?:[\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
    "[\u200d\u20e3\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*|[0-9#*]\ufe0f?\u20e3|<[bBhH][rR] ?/?>"
    r"|(?<!\S)(?:[:;=]'?-?(?:\)++|\(++|[DPpoO/|*])|(?<!\b\w )<3|xD|XD(?=\s*+\Z)|\^\^)(?![^\s.,!?]))+"
)
# The mark of a list item, of direct speech, or of a quoted line.
_BULLETS = "-\u2013\u2014\u2015*+\u2022\u2023\u2043\u00b7\u2219\u25e6\u2192\u21d2\uf0a7\uf0b7\uf0d8"
_BULLET = re.compile(rf"\s*+(?:[{_BULLETS}]\s++|>\s*+)++(?=\S)")

# Where a sentence that is too long is cut, best first: after a stop, after a comma or bracket, at a space.
_CUTS = (re.compile(r"(?<=[;:.!?…])\s+"), re.compile(r"(?<=[,)\]»”])\s+"), re.compile(r"\s+"))
_NEARBY = 500
# A cut nearer to the edge than this share would leave the other part almost as long as before.
_EDGE = 0.2

# A cell of a table: what stands in one column does not go on in the next.
_FIELD = re.compile(r"[^\t]*\t+|[^\t]+")

# sentencex 1.0 panics at some white space of more than one byte (a no-break space before a full stop);
# an ordinary space in its place has the same length in characters and the same meaning.
_OTHER_SPACE = re.compile(r"[^\S \n]")

# sentencex 1.0 takes the square of the number of sentences that no space parts: of a longer line it is given stretches.
_LONGEST_LINE = 4000
_END_WITHOUT_SPACE = re.compile(r"""(?:[。！？।]|[!?](?=\w))[」』”’）)"']*""")

# Stops that end no sentence, whatever sentencex thinks of them: after a title; and after other abbreviations where the
# sentence goes on with a small letter, a number or, after an hour, a day.
_TITLE = re.compile(r"(?<![\w.])(?:M|MM|Mr|Mrs|Ms|Mme|Mlle|Dr|Pr|Prof|Mgr|Ste)\.\s*\Z")
_HOUR = re.compile(r"(?<![\w.])[ap]\.\s?m\.\s*\Z", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?<![\w.])(?:etc|c\.\sà\ss|(?-i:c)|max|min|réf|ref|i\.e|e\.g|c\.-à-d|p\.\s?ex|approx|env|av|apr|cf|vs|bd|ave|Inc|Ltd|Co|Corp|Jr|Sr|J\.-C)"
    r"\.\s*\Z",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?<![\w.])(?:nos?|pp?|vol|art|fig|chap|t[eé]l|lun|ven|sam|dim|janv|févr|avr|juil|déc|(?-i:Mon|Tue|Wed|Thu|Fri|Sat|Sun))"
    r"\.\s*\Z",
    re.IGNORECASE,
)
# Days whose names are words too, la mer and le jeu: before a day of a month.
_WEEKDAY = re.compile(r"(?<![\w.])(?:mar|mer|jeu)\.\s*\Z", re.IGNORECASE)
_DATE = re.compile(
    r"\s*\d{1,2}(?:er)?(?:\s(?:janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc)|/\d)"
)
_LONGEST_ABBREVIATION = 20
# .NET, IMG_2031.JPG
_CAPITALS = re.compile(r"[A-Z]{2,10}\b")
_GOES_ON = re.compile(r"\s*(?:[,;:)]|\d|[a-zà-öø-ÿœ])")
_DAY = re.compile(r"\s*(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?:[A-Z]{1,3}T|GMT|UTC))\b")

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: written without spaces, so a long stretch is no word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class Parts:
    """The sentences of a text, and what stands before, between and after them untranslated."""

    sentences: list[str]
    glue: list[str]
    """one more than there are sentences"""
    num_cut: int = 0
    """sentences that were too long and had to be cut"""
    cut: frozenset[int] = frozenset()
    """which parts come from those"""
    endless: frozenset[int] = frozenset()
    """which parts are one word, too long for the model"""

    def join(self, sentences: Sequence[str]) -> str:
        """The text with these in place of its sentences."""
        pairs = zip(sentences, self.glue[1:], strict=True)
        return self.glue[0] + "".join(sentence + glue for sentence, glue in pairs)


def split(
    text: str,
    language: str,
    count: Callable[[str], int],
    max_length: int,
    *,
    sentences: bool = True,
) -> Parts:
    """Cut a text into parts of at most `max_length`, as `count` measures them.

    With sentences=False only what is too long is cut.

    >>> parts = split("Oui.  Non !", "fr", len, 100)
    >>> parts.sentences, parts.glue
    (['Oui.', 'Non !'], ['', '  ', ''])
    """
    parts: list[str] = []
    glue, num_cut = [""], 0
    cut, endless = set[int](), set[int]()
    for piece, picture in _pieces(text, language) if sentences else ((text, ""),):
        sentence = piece.strip()
        if not has_word(sentence):
            glue[-1] += piece + picture
            continue
        before = len(piece) - len(piece.lstrip())
        glue[-1] += piece[:before]
        pieces = _cut(sentence, count, max_length)
        if len(pieces) > 1:
            num_cut += 1
            cut |= set(range(len(parts), len(parts) + len(pieces)))
        for part, space in pieces:
            if _is_endless(part, count, max_length):
                endless.add(len(parts))
            parts.append(part)
            glue.append(space)
        glue[-1] += piece[before + len(sentence) :] + picture
    return Parts(parts, glue, num_cut, frozenset(cut), frozenset(endless))


def _pieces(text: str, language: str) -> Iterator[tuple[str, str]]:
    """What is translated in one go, and the pictures after it; signs that are left alone between these are no sentence."""
    for sentence in _sentences(text, language):
        start = 0
        if (mark := _BULLET.match(sentence)) and has_word(sentence[mark.end() :]):
            start = mark.end()
            yield "", mark[0]
        for match in _EMOJI.finditer(sentence, start):
            words = sentence[start : match.start()]
            yield (words, match[0]) if has_word(words) else ("", words + match[0])
            start = match.end()
        rest = sentence[start:]
        yield (rest, "") if not start or has_word(rest) else ("", rest)


def _sentences(text: str, language: str) -> Iterator[str]:
    """The text in order; only its sentence ends are guessed, no character is lost."""
    fields = (field for line in text.splitlines(keepends=True) for field in _FIELD.findall(line))
    for stretch in itertools.chain.from_iterable(map(_stretches, fields)):
        begun = ""
        for piece in _segments(stretch, language):
            if begun and not _is_same_sentence(begun, piece):
                yield begun
                begun = ""
            begun += piece
        yield begun


def _segments(stretch: str, language: str) -> Iterator[str]:
    import sentencex

    start = 0
    for piece in sentencex.segment(language or "en", _OTHER_SPACE.sub(" ", stretch)):
        yield stretch[start : start + len(piece)]
        start += len(piece)
    if start < len(stretch):
        yield stretch[start:]


def _is_same_sentence(left: str, right: str) -> bool:
    """Whether a sentence goes on where an end was guessed.

    >>> _is_same_sentence("Je vois M. ", "Dupont."), _is_same_sentence("Until 5 p.m. ", "She left.")
    (True, False)
    """
    end = left[-_LONGEST_ABBREVIATION:]
    # A stop inside of something: ./run, J.-C., <p>Yes.</p>
    is_inside = not left[-1:].isspace() and right.startswith(("/", "-", "</"))
    if is_inside or (left.endswith(".") and _CAPITALS.match(right)) or _TITLE.search(end):
        return True
    if _HOUR.search(end):
        return bool(_GOES_ON.match(right) or _DAY.match(right))
    if _NUMBERED.search(end):
        return right.lstrip()[:1].isdigit()
    if _WEEKDAY.search(end):
        return bool(_DATE.match(right))
    return bool(_ABBREVIATION.search(end) and _GOES_ON.match(right))


def _stretches(line: str) -> Iterator[str]:
    start = 0
    if len(line) > _LONGEST_LINE:
        for match in _END_WITHOUT_SPACE.finditer(line):
            if match.end() - start > _LONGEST_LINE:
                yield line[start : match.end()]
                start = match.end()
    yield line[start:]


def _cut(sentence: str, count: Callable[[str], int], max_length: int) -> list[tuple[str, str]]:
    """The sentence as (part, white space after it), each part short enough."""
    if len(sentence) == 1 or count(sentence) <= max_length or _is_one_word(sentence):
        return [(sentence, "")]
    start, end = _best_cut(sentence)
    left = _cut(sentence[:start], count, max_length)
    right = _cut(sentence[end:], count, max_length)
    left[-1] = (left[-1][0], sentence[start:end])
    return left + right


def _best_cut(sentence: str) -> tuple[int, int]:
    """The white space nearest to the middle, of the best kind there is; else the middle itself."""
    inner = round(len(sentence) * (0.5 - _EDGE))
    for cut in _CUTS:
        if found := _nearest(cut, sentence, inner):
            return found
    # White space near the edges only: what is cut off there leaves a long word behind.
    return _nearest(_CUTS[-1], sentence, len(sentence)) or (len(sentence) // 2, len(sentence) // 2)


def _nearest(cut: re.Pattern[str], sentence: str, reach: int) -> tuple[int, int] | None:
    """The match nearest to the middle; looked for nearby first, for most sentences have one there."""
    middle = len(sentence) / 2
    radius = min(_NEARBY, reach)
    while True:
        low, high = max(0, int(middle - radius)), min(len(sentence), int(middle + radius) + 1)
        spans = [
            match.span()
            for match in cut.finditer(sentence, low, high)
            # White space that goes on beyond the window is a match of the next one.
            if not (match.start() == low > 0 and sentence[low - 1].isspace())
            and not (match.end() == high < len(sentence) and sentence[high].isspace())
        ]
        if spans:
            return min(spans, key=lambda span: abs(sum(span) / 2 - middle))
        if radius >= reach:
            return None
        radius = min(4 * radius, reach)


def _is_one_word(text: str) -> bool:
    return not _UNSPACED.search(text) and not any(map(str.isspace, text))


def _is_endless(part: str, count: Callable[[str], int], max_length: int) -> bool:
    # A piece is at least a byte: most parts need no counting.
    return len(part.encode()) > max_length and _is_one_word(part) and count(part) > max_length


def without_emoji(text: str) -> str:
    """A text without the emoji beside its words; emoji alone stay.

    >>> without_emoji("I'm fine \U0001f634"), without_emoji("\U0001f634")
    ("I'm fine", '\U0001f634')
    """
    words = _EMOJI.sub(" ", text)
    return words.strip() if has_word(words) else text


def has_word(text: str) -> bool:
    return any(sign.isalnum() for sign in text)
