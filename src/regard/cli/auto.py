"""Lines of a stream whose language nobody has said: which model translates which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from regard.text import language
from regard.translate.translation import Translation

if TYPE_CHECKING:
    from regard.api import Model

Open = Callable[[str, str | None], "Model"]
"""from a source and a target language to the model that translates from one to the other"""
Where = Callable[[int], str]


_ENOUGH_LETTERS = 2000
"""after which the language of the text is settled"""

_LEAST, _TIMES = 0.5, 20
"""how probable another language must be for a single line, and how many times as probable as that of the text"""


class ByLanguage:
    """Opens the model of the language that most of the text so far is in, and others for lines clearly in theirs.

    A line may be a title or a name: what the language is, is decided by all that has arrived, anew with every
    portion until there is enough of it. A line that is clearly in the target language already stays as it is.
    """

    def __init__(self, open_model: Open, target: str | None) -> None:
        self._open, self._wanted = open_model, target
        self._models: dict[tuple[str, str | None], Model] = {}
        self._seen: list[str] = []
        self._main: Model | None = None

    def translate(
        self, texts: Sequence[str], *, where: Where, **options: Any
    ) -> tuple[Model | None, list[Translation]]:
        """The translations, and the model of most of the text; None where there was none to choose."""
        main = self._look_at(texts)
        found: dict[int, Translation] = {}
        by_model: dict[Model, list[int]] = {}
        for place, text in enumerate(texts):
            model = main and self._model_of(text, main)
            if model is None:
                found[place] = Translation(text, text, [text], [])
            else:
                by_model.setdefault(model, []).append(place)
        for model, places in by_model.items():
            answers = model.translate(
                [texts[place] for place in places],
                details=True,
                where=lambda number, places=places: where(places[number]),
                **options,
            )
            found |= dict(zip(places, answers, strict=True))
        return main, [found[place] for place in range(len(texts))]

    def _look_at(self, texts: Sequence[str]) -> Model | None:
        """The model of most of what has arrived; lines that are in the wanted language have no say."""
        from regard.folder.catalogue import source_language_of

        if sum(map(len, self._seen)) >= _ENOUGH_LETTERS:
            return self._main
        self._seen += texts
        votes: Counter[str] = Counter()
        languages = [_language_of(line) for line in self._seen]
        for line, found in zip(self._seen, languages, strict=True):
            votes[found] += len(line) if found else 0
        most = [each for each, _ in votes.most_common() if each and each != self._wanted]
        if self._main is None and not (most or votes[self._wanted or ""]):
            self._main = self._opened(source_language_of(self._seen, self._wanted), self._wanted)
        elif self._main is None and most:
            lines = [
                line for line, each in zip(self._seen, languages, strict=True) if each == most[0]
            ]
            self._main = self._opened(source_language_of(lines, self._wanted), self._wanted)
        elif most:
            self._main = self._model_from(most[0], self._wanted) or self._main
        return self._main

    def _model_of(self, text: str, main: Model) -> Model | None:
        """The model for one line; None where it is in the target language already."""
        target = main.manifest.target_language
        other = _clearly_other(text, language.main_language(main.manifest.source_language))
        if other and other == language.main_language(target):
            return None
        return (other and self._model_from(other, target)) or main

    def _model_from(self, source: str, target: str | None) -> Model | None:
        from regard.folder.catalogue import available

        for info in available():
            if (
                info.manifest.task == "translate"
                and info.languages[0] == source
                and target in (None, "", info.languages[1])
            ):
                return self._opened(source, target)
        return None

    def _opened(self, source: str, target: str | None) -> Model:
        if (source, target) not in self._models:
            self._models[source, target] = self._open(source, target)
        return self._models[source, target]


def _language_of(line: str) -> str:
    """The most probable language of a line; nothing for one too short to tell."""
    return language.rank(line)[0][0] if language.has_enough(line) else ""


def _clearly_other(line: str, usual: str) -> str:
    """The language of a line that is clearly not in the usual one; else nothing."""
    if not language.has_enough(line):
        return ""
    ranked = language.rank(line)
    found, probability = ranked[0]
    is_clear = probability >= max(_LEAST, _TIMES * dict(ranked).get(usual, 0.0))
    return found if is_clear else ""
