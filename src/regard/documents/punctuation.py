"""Punctuation: at the ends of a translation as at those of its source, and around the words of a tag.

A model has learnt sentences. It may make one of a heading, a table cell or a button, and it may end a line of subtitles
that goes on in the next. So a translation begins and ends as its source does.
"""

import re
from collections.abc import Sequence, Set
from itertools import takewhile

_MARKS = ".…:;,!?。：；，！？、؟۔।"
_WESTERN = str.maketrans("。：；，！？、؟۔।", ".:;,!?,?..")
_CLOSERS = " \t\xa0\u202f\"'’”»)]}*_"
_DASHES = "-–—•·*"
_DASH = re.compile(rf"[{_DASHES}]\s+")
_INITIALS = re.compile(r"\b\w\.\w\.$|(?<!\S)[A-Z]\.$")
"""a last word to which the full stop belongs, such as p.m."""
_NUM_INITIALS = 20  # characters at the end that are searched for initials
_LAST_WESTERN = "\u052f"  # last letter of the scripts with the end marks of English: Latin, Greek, Cyrillic
KINDS = {sign: kind for kind in (".,:;!?…", '"“”«»', "()[]", "-–—") for sign in kind} | {"...": ".,:;!?…"}
"""signs by what they are: ends, quotation marks, brackets, dashes"""
_PARTNERS = {'"': '"', "“": "”", "«": "»", "(": ")", "[": "]"}


def with_edges_of(source: str, target: str, language: str) -> tuple[str, int]:
    """The translation with the source's capital and end marks, and how many characters its beginning lost.

    >>> with_edges_of("Name", "– Nom :", "fr"), with_edges_of("Save…", "Enregistrer.", "fr")
    (('Nom', 2), ('Enregistrer…', 0))
    >>> with_edges_of("Je sais,", "I know.", "en"), with_edges_of("à 17 h", "at 5 p.m.", "en")
    (('I know,', 0), ('at 5 p.m.', 0))
    """
    dash = None if source[:1] in _DASHES else _DASH.match(target)
    num_lost = dash.end() if dash else 0
    target = _with_end_of(source, target[num_lost:], language)
    if source[:1].isupper() and target[:1].islower() and len(target[0].upper()) == 1:
        target = target[0].upper() + target[1:]
    return target, num_lost


def _with_end_of(source: str, target: str, language: str) -> str:
    wanted, got = _end_marks(source), _end_marks(target)
    words = target[: len(target) - len(got)]
    if not any(map(str.isalnum, words)) or wanted == got:
        return target
    if _ends(wanted) == _ends(got):
        # Only the spelling of three dots may differ.
        return words + wanted if "…" in wanted + got else target
    if any(_INITIALS.search(text[-_NUM_INITIALS:]) for text in (source, target)):
        return target
    if not wanted:
        return target if _ends(_end_marks(source.rstrip(_CLOSERS))) else words
    has_them_inside = _ends(_end_marks(target.rstrip(_CLOSERS))) == _ends(wanted)
    if has_them_inside or words.rstrip(_CLOSERS)[-1:] > _LAST_WESTERN:
        return target
    marks = wanted.strip().translate(_WESTERN)
    is_spaced = language[:2] == "fr" and marks[0] in ":;!?"
    return f"{words} {marks}" if is_spaced else words + marks


def _end_marks(text: str) -> str:
    """The marks at the end of a text, with the space before them."""
    words = text.rstrip(_MARKS)
    return text[len(words.rstrip()) :] if len(words) < len(text) else ""


def _ends(marks: str) -> frozenset[str]:
    return frozenset(marks.strip().translate(_WESTERN).replace("...", "…"))


def with_own_signs(own: Sequence[str], goes_on: bool, run: range, words: Sequence[str], free: Set[int]) -> range:
    """A run of free words with the signs at its ends that its own source has there, and both signs of a pair or neither."""
    kinds, own_kinds, pairs = [KINDS.get(word) for word in words], [KINDS.get(word) for word in own], _pairs(words)
    inside = [at for at in run if not kinds[at] or all(own_kinds) and kinds[at] in own_kinds] or run
    first, last = inside[0], inside[-1]

    def reach(at: int, step: int, wanted: list[str | None]) -> int:
        reached, of_others = at, {pair[step < 0] for pair in pairs}
        while (at := at + step) in free and kinds[at] and at not in of_others:
            if kinds[at] in wanted:
                wanted.remove(kinds[at])
                reached = at
            elif step < 0 or kinds[at] != KINDS["."]:
                break  # a comma may stand before a quotation mark, not the other way round
        return reached

    before, after = (list(takewhile(bool, each)) for each in (own_kinds, reversed(own_kinds)))
    if goes_on and not after and last + 1 in run and words[last + 1] == "." and last + 2 < len(words):
        after = [KINDS["."]]  # a full stop like that of Mrs.
    first, last = reach(first, -1, before), reach(last, 1, after)
    for opening, closing in pairs:
        is_cut = (first <= opening <= last) != (first <= closing <= last)
        if is_cut and not own_kinds.count(kinds[opening]) % 2:
            low, high = min(first, opening), max(last, closing)
            if all(kinds[at] and at in free for at in (*range(low, first), *range(last + 1, high + 1))):
                first, last = low, high
            elif first < last:
                first, last = first + (first == closing), last - (last == opening)
    return range(first, last + 1)


def _pairs(words: Sequence[str]) -> list[tuple[int, int]]:
    """Quotation marks and brackets that belong together."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for at, word in enumerate(words):
        if opened and word == _PARTNERS[words[opened[-1]]]:
            found.append((opened.pop(), at))
        elif word in _PARTNERS:
            opened.append(at)
    return found
