"""Tokenizers, sentences, languages, normalisation, protected spans, words; here what counts as a text."""

import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from regard.errors import DataError, UsageError

Span = tuple[int, int]  # start and end of a part of a text, in characters

_MIN_TIMES, _MIN_LENGTH = 3, 8  # repetitions and tokens of a loop


def check_text(text: object, what: str = "a text") -> str:
    """The text itself, if it is one that can be written as UTF-8."""
    if not isinstance(text, str):
        raise UsageError(f"{what} must be a str: got {type(text).__name__}; convert it first")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # What the command line holds of a byte that it could not decode is a lone surrogate.
        raise UsageError(
            f"{what} must be UTF-8 text: got {text[error.start]!a}, which is not a character, at position "
            f"{error.start + 1}; convert it with iconv"
        ) from error
    return text


def check_texts(texts: object) -> list[str]:
    """The texts of a list, or of whatever else gives one after another."""
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise UsageError(f"texts must be a str or a list of them: got {type(texts).__name__}; convert it first")
    return [check_text(text) for text in texts]


def check_words(name: str, words: Sequence[str]) -> list[str]:
    """The words themselves; a str would be taken for its letters."""
    if isinstance(words, str):
        raise UsageError(f"{name} must be a list of words: got a str; write  {name}=[{words!r}]")
    return check_texts(words)


def check_pairs(what: str, left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Texts of two lists that belong together one by one."""
    pairs = check_texts(left), check_texts(right)
    if len(pairs[0]) != len(pairs[1]):
        raise DataError(
            f"{what} must be as many lines: got {len(pairs[0])} and {len(pairs[1])}; pair them line by line"
        )
    return pairs


def is_looping(tokens: Sequence[Hashable]) -> bool:
    """Whether some stretch comes three times or more in a row, and at least eight tokens in all.

    >>> is_looping("we go and we go and we go and stop".split()), is_looping("ha ha ha".split())
    (True, False)
    """
    # Every token of a loop comes three times or more: few texts have enough of these.
    if len(tokens) - len(set(tokens)) < _MIN_LENGTH - _MIN_TIMES + 1:
        return False
    num_often = sum(times for times in Counter(tokens).values() if times >= _MIN_TIMES)
    if num_often < _MIN_LENGTH:
        return False
    for period in range(1, num_often // _MIN_TIMES + 1):
        needed = max(_MIN_TIMES * period, _MIN_LENGTH) - period
        if b"\1" * needed in bytes(map(operator.eq, tokens[period:], tokens)):
            return True
    return False
