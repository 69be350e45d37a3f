"""Which model `regard translate` uses: the one that is named, or the one for the language of the text."""

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from regard.api import Model, load
from regard.errors import RegardWarning
from regard.folder.catalogue import DEFAULT_LANGUAGES, available, direction_of, installed_language, source_language_of
from regard.text import language
from regard.translate.translation import Translation

AUTO = "auto"
_MIN_PROBABILITY, _MIN_RATIO = 0.5, 20
"""probability that a single line's own language must have, absolute and relative to the main language's"""


class ModelChoice:
    def __init__(self, model: Sequence[str] | None, source: str | None, target: str | None, **opening: Any) -> None:
        source, target = map(installed_language, (source, target))
        self._model, self._source, self._target, self._opening = model, source, target, opening
        self._is_decided, self._is_checked = bool(model or source or target), source is not None
        self._seen = ""
        self._loaded: Model | None = None
        self._router = LanguageRouter(self._load, target)

    def load_for(self, texts: Sequence[str], declared: tuple[str, str] = ("", "")) -> Model:
        """The model that was named, else the one for the declared languages, else for that of the texts."""
        source, target = self._source, self._target
        if any(declared) and not self._model and source in (None, AUTO):
            return self._load(declared[0] or None, target or declared[1])
        if source == AUTO:  # a model that is named has its language
            source = None if self._model else source_language_of(texts, target)
        elif not (self._model or source or target):
            source, target = direction_of(texts)
            if (source, target) != DEFAULT_LANGUAGES:
                told = f"the text is in {source}, so it is translated into {target}: say --to {source}"
                _warn(f"{told} to have it read as {target}")
        return self._load(source, target)

    def _load(self, source: str | None, target: str | None) -> Model:
        return load(self._model, source_language=source, target_language=target, **self._opening)

    def translate_lines(self, texts: Sequence[str], **options: Any) -> tuple[Model | None, list[Translation]]:
        """The model of most of the lines that have arrived, and the translations of these.

        Without any language named, the first lines with enough letters decide the direction.
        """
        if self._source == AUTO and not self._model:
            return self._router.translate(texts, **options)
        if not self._is_decided:
            is_reversed = direction_of(texts) != DEFAULT_LANGUAGES
            self._is_decided = is_reversed or language.has_enough(" ".join(texts))
            self._loaded = self.load_for(texts) if self._is_decided else self._loaded
        self._loaded = self._loaded or self.load_for(())
        return self._loaded, self._loaded.translate(texts, details=True, **options)

    def check(self, texts: Sequence[str], model: Model) -> None:
        """Warn once when the text is surely not in the model's source language.

        Language identification takes time, so this runs after the translation is written.
        """
        if self._is_checked:
            return
        self._seen = " ".join([self._seen, *texts])[: language.NUM_CHARACTERS_RANKED]
        found, reads = language.sure_language(self._seen), model.manifest.source_language
        self._is_checked = bool(found) or language.has_enough(self._seen)
        if found and reads and found != language.main_language(reads):
            advice = [f"try --model {name}, or --from auto" for name in _translators(found)]
            advice.append("no model that is installed reads that")
            _warn(f"the text seems to be in {found}, and {model.folder.name} reads {reads}: {advice[0]}")


class LanguageRouter:
    """Translates lines of mixed languages, each with the model of its language.

    A line may be a title or a name, so the main language is that of most of the text so far. A line that is clearly in
    another language goes to the model for that one; a line that is clearly in the target language stays as it is.
    """

    def __init__(self, load: Callable[[str, str | None], Model], target: str | None) -> None:
        self._load, self._target = functools.cache(load), target
        self._num_letters: Counter[str] = Counter()
        self._main: Model | None = None

    def translate(
        self, texts: Sequence[str], *, where: Callable[[int], str], **options: Any
    ) -> tuple[Model | None, list[Translation]]:
        """The model of most of the text, None where there is nothing to translate yet; the translations."""
        self._main = self._choose_main(texts)
        models = [self._main and self._model_for(text, self._main) for text in texts]
        answers = [Translation(text, text, [text], []) for text in texts]
        for model in dict.fromkeys(each for each in models if each):
            places = [place for place, each in enumerate(models) if each is model]
            asked = [texts[place] for place in places]
            found = model.translate(asked, details=True, where=lambda number, at=places: where(at[number]), **options)
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return self._main, answers

    def _choose_main(self, texts: Sequence[str]) -> Model | None:
        """The model of most letters so far; lines in the target language do not count."""
        for text in texts:
            if language.has_enough(text):
                self._num_letters[language.rank(text)[0][0]] += len(text)
        others = {code: num for code, num in self._num_letters.items() if code != self._target}
        most = max(others, key=others.__getitem__, default="")
        if most and _translators(most, self._target):
            return self._load(most, self._target)
        if self._main is None and (most or self._target not in self._num_letters):
            return self._load(source_language_of(texts, self._target), self._target)
        return self._main

    def _model_for(self, text: str, main: Model) -> Model | None:
        """The model for one line; None where it is in the target language already."""
        if not language.has_enough(text):
            return main
        usual, target = main.manifest.source_language, main.manifest.target_language
        ranked = dict(language.rank(text))
        other = max(ranked, key=lambda code: ranked[code])
        least = max(_MIN_PROBABILITY, _MIN_RATIO * ranked.get(language.main_language(usual), 0.0))
        if ranked[other] < least:
            return main
        if other == language.main_language(target):
            return None
        return self._load(other, target) if _translators(other, target) else main


def _translators(source: str, target: str | None = None) -> list[str]:
    """The names of models that translate from one language, and into another if it is given."""
    models = [each for each in available() if each.manifest.task == "translate" and each.languages[0] == source]
    return [each.name for each in models if target in (None, "", each.languages[1])]


def _warn(message: str) -> None:
    warnings.warn(message, RegardWarning, stacklevel=3)
