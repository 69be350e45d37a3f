"""Which language a text is in, and which lines of a corpus are surely in another than most of their side."""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import UsageError
from regard.text.normalise import normalise_text
from regard.text.small_words import are_english

# Below these a detector guesses; a corpus this small is better looked at by a person.
MIN_LINES = 1000
_MIN_LETTERS = 40
_SURE = 0.8
_MAX_SHARE = 0.2
_NUM_CHARACTERS = 100

# For a single text: enough of it to be sure, and every language that could matter.
NUM_CHARACTERS_RANKED = 1000
_NUM_RANKED = 20
_MIN_LETTERS_RANKED = 20
# Of 604 short sentences of French and 926 of English none is taken for another language so surely.
_MIN_LETTERS_SURE, _SURE_OF_FEW = 8, 0.98
# With its small words: of 2,363 short sentences of French none is taken for English, of 2,586 of English 2,508 are.
_LEAST_WITH_SMALL_WORDS = 0.1
# Of a whole text: so much of what is sure may be in another language, such as a name or a quotation.
_MAX_SHARE_QUOTED = 0.1
# Fewer may be of several languages, but for small words: relation, long distance.
_MIN_WORDS_OF_ALL = 3

_MODEL = Path(__file__).parents[1] / "assets" / "languages" / "lid.176.ftz"

ENGLISH = "en"

Detect = Callable[[str], tuple[str, float]]


def judge(lines: Sequence[str], detect: Detect) -> list[str]:
    """The language of each line that is long enough to tell it, where the detector is sure; else nothing."""
    judged = []
    for line in lines:
        language = ""
        if len(line) >= _MIN_LETTERS and sum(map(str.isalpha, line)) >= _MIN_LETTERS:
            found, score = detect(line)
            language = found if score >= _SURE else ""
        judged.append(language)
    return judged


def right_language(
    side: str, judged: Mapping[str, int], declared: str, notes: list[str]
) -> str | None:
    """The one that lines of a side must be in: that of most of them.

    judged: how many lines are in which. None where more than a fifth would go: then the detector cannot tell the
    language from its neighbours, and the side is left alone. What is odd is said in the notes.
    """
    if not judged:
        return None
    most = max(judged, key=judged.__getitem__)
    if declared and main_language(declared) != most:
        notes.append(f"the {side} is said to be {declared} but looks like {most}")
    num_judged = sum(judged.values())
    if num_judged - judged[most] > _MAX_SHARE * num_judged:
        notes.append(f"the {side} is in several languages: none of its lines was left out for that")
        return None
    return most


def detector() -> Detect | None:
    """A function from a line to its language and how sure that is; None where no detector is installed."""
    model = _model()
    if model is None:
        return None

    def detect(line: str) -> tuple[str, float]:
        [(language, probability)] = _predict(model, line[:_NUM_CHARACTERS], 1)
        return language, probability

    return detect


def rank(text: str) -> list[tuple[str, float]]:
    """The languages that a text may be in with their probabilities, best first; none for a text without letters.

    The codes are those of ISO 639: two letters where there are two.
    """
    model = _model()
    if model is None:
        raise UsageError(
            "telling a text's language needs the package fasttext-predict, which is not installed: "
            "run  pip install fasttext-predict, or name the language"
        )
    letters = normalise_text(text[:NUM_CHARACTERS_RANKED])
    if not any(map(str.isalpha, letters)):
        return []
    # The detector, too, has hardly met capitals.
    return _predict(model, letters.lower() if letters.isupper() else letters, _NUM_RANKED)


def has_enough(text: str) -> bool:
    """Whether a single text has enough letters to tell its language."""
    return _num_letters(text) >= _MIN_LETTERS_RANKED


def _num_letters(text: str) -> int:
    return sum(map(str.isalpha, text[:NUM_CHARACTERS_RANKED]))


def sure_language(text: str) -> str:
    """The language of a single text where that is sure; else, and where no detector is installed, nothing."""
    if _num_letters(text) < _MIN_LETTERS_SURE or _model() is None:
        return ""
    ranked = rank(text)
    language, probability = ranked[0]
    if probability >= (_SURE if has_enough(text) else _SURE_OF_FEW):
        return language
    likely = [each for each, probability in ranked if probability >= _LEAST_WITH_SMALL_WORDS]
    return ENGLISH if ENGLISH in likely and are_english(text) else ""


def language_of_all(texts: Sequence[str]) -> str:
    """The language that texts are surely in from beginning to end; nothing where one of them may be in another."""
    lines = [line for text in texts for line in text.splitlines()]
    whole, num_letters = " ".join(lines), Counter[str]()
    found = sure_language(whole)
    if len(whole.split()) < _MIN_WORDS_OF_ALL and not are_english(whole):
        found = ""
    for line in lines if found else ():
        num_letters[sure_language(line)] += _num_letters(line)
    num_sure = num_letters.total() - num_letters[""]
    return found if num_sure - num_letters[found] <= _MAX_SHARE_QUOTED * num_sure else ""


def main_language(code: str) -> str:
    """Of a code its first part: that of a language without country or script."""
    return code.lower().split("-")[0].split("_")[0]


@functools.cache
def _model() -> Any:
    """Facebook's small model of 176 languages; None without the package that reads it."""
    try:
        fasttext: Any = importlib.import_module("fasttext")
    except ImportError:
        return None
    return fasttext.load_model(str(_MODEL))


def _predict(model: Any, line: str, count: int) -> list[tuple[str, float]]:
    labels, scores = model.predict(" ".join(line.split()), k=count)
    # The quantised model's numbers can be a hair above one.
    return [
        (label.removeprefix("__label__"), min(score, 1.0))
        for label, score in zip(labels, scores, strict=True)
    ]
