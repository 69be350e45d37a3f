"""Which language a text is in, and which lines of a corpus are surely in another than most of their side."""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.errors import UsageError

# Below these a detector guesses; a corpus this small is better looked at by a person.
_MIN_LINES = 1000
_MIN_LETTERS = 40
_SURE = 0.8
_MAX_SHARE = 0.2
_NUM_CHARACTERS = 100

# For a single text: enough of it to be sure, and every language that could matter.
_NUM_CHARACTERS_RANKED = 1000
_NUM_RANKED = 20

_MODEL = Path(__file__).parents[1] / "assets" / "languages" / "lid.176.ftz"

Detect = Callable[[str], tuple[str, float]]


def find_strangers(
    sources: Sequence[str],
    targets: Sequence[str],
    declared: tuple[str, str],
    notes: list[str],
) -> set[int]:
    """Indices of pairs with a side in the wrong language; what was not judged is said in the notes.

    The right language of a side is that of most of its lines. A line is judged when it is long enough,
    and left out only when the detector is sure. Where more than a fifth of a side would go, the detector
    cannot tell the language from its neighbours, and the side is left alone.
    """
    if len(sources) < _MIN_LINES:
        return set()
    detect = detector()
    if detect is None:
        notes.append("languages were not checked: the package fasttext-predict is not installed")
        return set()
    strangers: set[int] = set()
    for side, lines, language in zip(
        ("source", "target"), (sources, targets), declared, strict=True
    ):
        strangers |= _strangers_of_side(side, lines, language, detect, notes)
    return strangers


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
    letters = text[:_NUM_CHARACTERS_RANKED]
    if not any(map(str.isalpha, letters)):
        return []
    return _predict(model, letters, _NUM_RANKED)


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


def _strangers_of_side(
    side: str, lines: Sequence[str], declared: str, detect: Detect, notes: list[str]
) -> set[int]:
    judged: dict[int, str] = {}
    for index, line in enumerate(lines):
        if len(line) >= _MIN_LETTERS and sum(map(str.isalpha, line)) >= _MIN_LETTERS:
            language, score = detect(line)
            if score >= _SURE:
                judged[index] = language
    if not judged:
        return set()
    ((most, _),) = Counter(judged.values()).most_common(1)
    if declared and declared.lower().split("-")[0].split("_")[0] != most:
        notes.append(f"the {side} is said to be {declared} but looks like {most}")
    strangers = {index for index, language in judged.items() if language != most}
    if len(strangers) > _MAX_SHARE * len(judged):
        notes.append(f"the {side} is in several languages: none of its lines was left out for that")
        return set()
    return strangers
