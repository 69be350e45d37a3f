"""Language identification: of a single text, and of the lines of a corpus."""

import functools
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import UsageError
from regard.text.normalise import normalise_text

MIN_LINES = 200  # lines of a corpus whose languages are judged; a smaller one is better looked at by a person
_MIN_LETTERS, _SURE = 40, 0.8  # letters and probability of a line that is judged
_MAX_SHARE = 0.2
_NUM_CHARACTERS = 100
NUM_CHARACTERS_RANKED = 1000
_NUM_RANKED = 20
_MIN_LETTERS_RANKED = 20
# Of 604 short French and 926 short English sentences the detector is this sure of another language for none.
_MIN_LETTERS_SURE, _SURE_OF_FEW = 8, 0.98
_TIMES_LIKELIER = 20
"""ratio of probabilities above which a short text is in one of two languages and not in the other"""
_MIN_CHARACTERS_FOREIGN, _SURE_FOREIGN = 25, 0.7
"""minimum characters and probability of a text in a language other than the expected ones"""
_MAX_SHARE_QUOTED = 0.1  # share of a text that may be in another language, such as a name or a quotation

_MODEL = Path(__file__).parents[1] / "assets" / "languages" / "lid.176.ftz"

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
LANGUAGE_NAMES = dict(line.split(" ", 1) for line in _LINES)
"""English names by code"""

Detect = Callable[[str], tuple[str, float]]


def judge(lines: Sequence[str], detect: Detect) -> list[str]:
    """The language of each line if it is long enough and the detector is sure; else an empty string."""
    found = [detect(each) if _num_letters(each) >= _MIN_LETTERS else ("", 0.0) for each in lines]
    return [code if score >= _SURE else "" for code, score in found]


def right_language(side: str, judged: Mapping[str, int], declared: str, notes: list[str]) -> str | None:
    """The language of most lines of a side.

    judged: the number of lines in each language. None if more than a fifth would be dropped: then the detector cannot
    tell the language from its neighbours, and all lines are kept. Notes say what is odd.
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
    """A function from a line to its language and the probability of it; None if no detector is installed."""
    return None if _model() is None else lambda line: _predict(line[:_NUM_CHARACTERS], 1)[0]


def rank(text: str) -> list[tuple[str, float]]:
    """The likely languages of a text with their probabilities, best first; none for a text without letters.

    The codes are those of ISO 639: two letters where there are two.
    """
    if _model() is None:
        raise UsageError("a text's language must be named, or run  pip install fasttext-predict: that is not installed")
    letters = normalise_text(text[:NUM_CHARACTERS_RANKED])
    if not any(map(str.isalpha, letters)):
        return []
    # The detector, too, was trained on few texts in capitals.
    return _predict(letters.lower() if letters.isupper() else letters, _NUM_RANKED)


class LanguageGuess(NamedTuple):
    language: str
    probability: float
    is_sure: bool = True


def guess(text: str, sources: Sequence[str], target: str | None = None) -> LanguageGuess:
    """The language to read a text in that is to be translated from one of the sources.

    It is the target or a foreign language where that is sure, and empty where there is no source.
    """
    scores = dict(rank(text))
    best = max(scores, key=lambda code: scores[code], default="")
    named = {main_language(code): code for code in (*([target] if target else ()), *sources)}
    if best in named:
        return LanguageGuess(named[best], scores[best])
    if not sources or scores.get(best, 0) > _SURE_FOREIGN and len(text) >= _MIN_CHARACTERS_FOREIGN:
        return LanguageGuess(best, scores.get(best, 0.0))
    chosen = max(sources, key=lambda code: scores.get(main_language(code), 0.0))
    return LanguageGuess(chosen, scores.get(main_language(chosen), 0.0), not any(map(str.isalpha, text)))


def has_enough(text: str) -> bool:
    """Whether a single text has enough letters to tell its language."""
    return _num_letters(text) >= _MIN_LETTERS_RANKED


def _num_letters(text: str) -> int:
    return sum(map(str.isalpha, text[:NUM_CHARACTERS_RANKED]))


def sure_language(text: str, either: tuple[str, str] | None = None) -> str:
    """The language of a single text if that is sure; else, or if no detector is installed, an empty string.

    either: two languages of which a short text is taken to be in the much likelier one.
    """
    if _num_letters(text) < _MIN_LETTERS_SURE or _model() is None:
        return ""
    ranked = rank(text)
    language, probability = ranked[0]
    if probability >= (_SURE if has_enough(text) else _SURE_OF_FEW):
        return language
    scores = [(dict(ranked).get(each, 0.0), each) for each in either or ()]
    return max(scores)[1] if scores and max(scores)[0] > _TIMES_LIKELIER * min(scores)[0] else ""


def language_of_all(texts: Sequence[str], either: tuple[str, str]) -> str:
    """The one of two languages that all of the texts are surely in; an empty string if there may be another."""
    lines = [line for text in texts for line in text.splitlines()]
    whole, num_letters = " ".join(lines), Counter[str]()
    # A single word may be of several languages: relation, occasion.
    found = sure_language(whole, either) if " " in whole.strip() else ""
    for line in lines if found else ():
        num_letters[sure_language(line, either)] += _num_letters(line)
    num_sure = num_letters.total() - num_letters[""]
    return found if num_sure - num_letters[found] <= _MAX_SHARE_QUOTED * num_sure else ""


def main_language(code: str) -> str:
    """A language code without country or script."""
    return code.lower().split("-")[0].split("_")[0]


def known_language(code: str, known: Iterable[str]) -> str | None:
    """The one of the known languages that a code in any spelling names.

    >>> known_language("en_US", ["en", "pt", "pt-BR"]), known_language("PT_br", ["en", "pt", "pt-BR"])
    ('en', 'pt-BR')
    """
    spelt = {each.replace("_", "-").lower(): each for each in known}
    return spelt.get(code.strip().replace("_", "-").lower()) or spelt.get(main_language(code.strip()))


@functools.cache
def _model() -> Any:
    """Facebook's small model of 176 languages; None without the package that reads it."""
    try:
        fasttext: Any = importlib.import_module("fasttext")
    except ImportError:
        return None
    return fasttext.load_model(str(_MODEL))


def _predict(line: str, count: int) -> list[tuple[str, float]]:
    labels, scores = _model().predict(" ".join(line.split()), k=count)
    # The quantized model's numbers can be slightly above one.
    return [(label.removeprefix("__label__"), min(score, 1.0)) for label, score in zip(labels, scores, strict=True)]
