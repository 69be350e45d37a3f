"""A text as sentences that a model can read, and the untranslated text between them.

A text is cut at line ends, tabs and sentence ends. A sentence longer than the model was trained for is cut again, best at
punctuation; a single word of that length is copied. White space, list marks and emoji stand between sentences and are
not translated; `SplitText.join` puts them back.
"""

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

# Stops that end no sentence, whatever sentencex thinks of them, with what must follow: anything after a title; a small
# letter, a number or, after an hour, a day after other abbreviations. Some days are words too, la mer and le jeu: only a
# date may follow these.
_GOES_ON = r"\s*(?:[,;:)]|\d|[a-zà-öø-ÿœ])"
_DAYS = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
_MONTHS = "janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc"
_ABBREVIATIONS = {
    "M|MM|Mr|Mrs|Ms|Mme|Mlle|Dr|Pr|Prof|Mgr|Ste": "",
    r"(?i:[ap]\.\s?m)": rf"{_GOES_ON}|\s*(?:{_DAYS}|(?:[A-Z]{{1,3}}T|GMT|UTC))\b",
    "(?i:nos?|pp?|vol|art|fig|chap|t[eé]l|lun|ven|sam|dim|janv|févr|avr|juil|déc)": r"\s*\d",
    "Mon|Tue|Wed|Thu|Fri|Sat|Sun": r"\s*\d",
    "(?i:mar|mer|jeu)": rf"\s*\d{{1,2}}(?:er)?(?:\s(?:{_MONTHS})|/\d)",
    r"c|(?i:etc|c\.\sà\ss|max|min|réf|ref|i\.e|e\.g|c\.-à-d|p\.\s?ex|approx|env|av|apr|cf|vs|bd|ave)": _GOES_ON,
    r"(?i:Inc|Ltd|Co|Corp|Jr|Sr|J\.-C)": _GOES_ON,
}
_STOPS = [(re.compile(rf"(?<![\w.])(?:{stop})\.\s*\Z"), re.compile(after)) for stop, after in _ABBREVIATIONS.items()]
_LONGEST_ABBREVIATION = 20
# .NET, IMG_2031.JPG
_CAPITALS = re.compile(r"[A-Z]{2,10}\b")

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: written without spaces, so a long stretch is no word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class SplitText:
    """The sentences of a text, and what stands before, between and after them untranslated."""

    sentences: list[str]
    separators: list[str]
    """untranslated text before, between and after the sentences; one more than there are sentences"""
    num_cut: int = 0  # sentences that were too long and had to be cut
    cut: frozenset[int] = frozenset()  # indices of the parts of those sentences
    too_long: frozenset[int] = frozenset()  # parts that are one word, too long for the model

    def join(self, sentences: Sequence[str]) -> str:
        """The text with these in place of its sentences."""
        pairs = zip(sentences, self.separators[1:], strict=True)
        return self.separators[0] + "".join(sentence + separator for sentence, separator in pairs)


def split(
    text: str, language: str, count: Callable[[str], int], max_length: int, *, sentences: bool = True
) -> SplitText:
    """Cut a text into parts of at most `max_length`, as `count` measures them.

    With sentences=False only what is too long is cut.

    >>> parts = split("Oui.  Non !", "fr", len, 100)
    >>> parts.sentences, parts.separators
    (['Oui.', 'Non !'], ['', '  ', ''])
    """
    parts: list[str] = []
    separators, num_cut = [""], 0
    cut, too_long = set[int](), set[int]()
    for words, after in _sentences_and_emoji(text, language) if sentences else ((text, ""),):
        sentence = words.strip()
        if not has_word(sentence):
            separators[-1] += words + after
            continue
        before = len(words) - len(words.lstrip())
        separators[-1] += words[:before]
        found = _cut(sentence, count, max_length)
        if len(found) > 1:
            num_cut += 1
            cut |= set(range(len(parts), len(parts) + len(found)))
        for part, space in found:
            # A token is at least a byte: most parts need no counting.
            if len(part.encode()) > max_length and _is_one_word(part) and count(part) > max_length:
                too_long.add(len(parts))
            parts.append(part)
            separators.append(space)
        separators[-1] += words[before + len(sentence) :] + after
    return SplitText(parts, separators, num_cut, frozenset(cut), frozenset(too_long))


def _sentences_and_emoji(text: str, language: str) -> Iterator[tuple[str, str]]:
    """What is translated in one go, and the emoji after it; signs left alone between these are no sentence."""
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
    import sentencex

    fields = (field for line in text.splitlines(keepends=True) for field in _FIELD.findall(line))
    for stretch in itertools.chain.from_iterable(map(_stretches, fields)):
        begun, start = "", 0
        segments = sentencex.segment(language or "en", _OTHER_SPACE.sub(" ", stretch))
        for length in map(len, [*segments, stretch]):
            segment = stretch[start : start + length]
            start += length
            if begun and not _is_same_sentence(begun, segment):
                yield begun
                begun = ""
            begun += segment
        yield begun


def _is_same_sentence(left: str, right: str) -> bool:
    """Whether a sentence goes on where an end was guessed, as after "M." before "Dupont"."""
    # A stop inside of something: ./run, J.-C., <p>Yes.</p>
    is_inside = not left[-1:].isspace() and right.startswith(("/", "-", "</"))
    if is_inside or (left.endswith(".") and _CAPITALS.match(right)):
        return True
    end = left[-_LONGEST_ABBREVIATION:]
    after = next((after for stop, after in _STOPS if stop.search(end)), None)
    return after is not None and after.match(right) is not None


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
    middle = len(sentence) / 2
    # White space near the edges only: what is cut off there leaves a long word behind.
    for pattern, reach in (*((each, 0.5 - _EDGE) for each in _CUTS), (_CUTS[-1], 0.5)):
        spans = [match.span() for match in pattern.finditer(sentence)]
        nearest = min(spans, key=lambda span: abs(sum(span) / 2 - middle), default=None)
        if nearest and abs(sum(nearest) / 2 - middle) <= reach * len(sentence):
            return nearest
    return len(sentence) // 2, len(sentence) // 2


def _is_one_word(text: str) -> bool:
    return not _UNSPACED.search(text) and not any(map(str.isspace, text))


def without_emoji(text: str) -> str:
    """A text without the emoji beside its words; emoji alone stay.

    >>> without_emoji("I'm fine \U0001f634"), without_emoji("\U0001f634")
    ("I'm fine", '\U0001f634')
    """
    words = _EMOJI.sub(" ", text)
    return words.strip() if has_word(words) else text


def has_word(text: str) -> bool:
    return any(map(str.isalnum, text))
