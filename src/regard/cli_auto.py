"""Lines of a stream whose language nobody has said: which model translates which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from regard.text import language
from regard.translation import Translation

if TYPE_CHECKING:
    from regard.api import Model

Open = Callable[[str, str | None], "Model"]
"""from a source and a target language to the model that translates from one to the other"""
Where = Callable[[int], str]


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
        self._seen = ""
        self._main: Model | None = None

    def translate(
        self, texts: Sequence[str], *, where: Where, **options: Any
    ) -> tuple[Model, list[Translation]]:
        """The translations, and the model of most of the text."""
        main = self._look_at(texts)
        found: dict[int, Translation] = {}
        by_model: dict[Model, list[int]] = {}
        for place, text in enumerate(texts):
            model = self._model_of(text, main)
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

    def _look_at(self, texts: Sequence[str]) -> Model:
        """The model of most of what has arrived; to change it takes enough letters to be sure."""
        from regard.catalogue import source_language_of

        if self._main is None or len(self._seen) < language.NUM_CHARACTERS_RANKED:
            self._seen = " ".join([self._seen, *texts])[: language.NUM_CHARACTERS_RANKED]
            if self._main is None:
                self._main = self._opened(
                    source_language_of([self._seen], self._wanted), self._wanted
                )
            elif sure := language.sure_language(self._seen):
                self._main = self._model_from(sure, self._wanted) or self._main
        return self._main

    def _model_of(self, text: str, main: Model) -> Model | None:
        """The model for one line; None where it is in the target language already."""
        target = main.manifest.target_language
        other = _clearly_other(text, language.main_language(main.manifest.source_language))
        if other and other == language.main_language(target):
            return None
        return (other and self._model_from(other, target)) or main

    def _model_from(self, source: str, target: str | None) -> Model | None:
        from regard.catalogue import available

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


def _clearly_other(line: str, usual: str) -> str:
    """The language of a line that is clearly not in the usual one; else nothing."""
    if not language.has_enough(line):
        return ""
    ranked = language.rank(line)
    found, probability = ranked[0]
    is_clear = probability >= max(_LEAST, _TIMES * dict(ranked).get(usual, 0.0))
    return found if is_clear else ""
