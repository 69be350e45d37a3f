"""Which model `regard translate` uses: the one that is named, or the one for the language of the text."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardWarning
from regard.folder.catalogue import (
    DEFAULT_LANGUAGES,
    ModelInfo,
    available,
    direction_of,
    source_language_of,
)
from regard.text import language
from regard.translate.translation import Translation

if TYPE_CHECKING:
    from regard.api import Model

AUTO = "auto"

_ENOUGH_LETTERS = 2000
"""letters after which the main language of a stream is settled"""
_MIN_PROBABILITY, _MIN_RATIO = 0.5, 20
"""probability that a single line's own language must have, absolute and relative to the main language's"""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    model: str | None
    source: str | None
    target: str | None
    opening: dict[str, Any]

    def load_for(self, texts: Sequence[str]) -> Model:
        """The model for these texts."""
        source, target = self.source, self.target
        if source == AUTO:  # a model that is named has its language
            source = None if self.model else source_language_of(texts, target)
        elif not (self.model or source or target):
            source, target = direction_of(texts)
            if (source, target) != DEFAULT_LANGUAGES:
                _warn(
                    f"the text is in {source}, so it is translated into {target}: "
                    f"say --to {source} to have it read as {target}"
                )
        return self.load(source, target)

    def load(self, source: str | None, target: str | None) -> Model:
        from regard.api import load

        return load(self.model, source_language=source, target_language=target, **self.opening)

    def line_translator(self) -> Callable[..., tuple[Model | None, list[Translation]]]:
        """A function from lines to the model of most of them and their translations."""
        if self.source == AUTO and not self.model:
            return LanguageRouter(self.load, self.target).translate
        loaded, is_decided = None, bool(self.model or self.source or self.target)

        def translate(texts: Sequence[str], **options: Any) -> tuple[Model, list[Translation]]:
            """Without any language named, the first lines with enough letters decide the direction."""
            nonlocal loaded, is_decided
            is_told = direction_of(texts) != DEFAULT_LANGUAGES or language.has_enough(
                " ".join(texts)
            )
            if not is_decided and is_told:
                loaded, is_decided = self.load_for(texts), True
            loaded = loaded or self.load_for(())
            return loaded, loaded.translate(texts, details=True, **options)

        return translate


class LanguageRouter:
    """Translates lines of mixed languages, each with the model of its language.

    A line may be a title or a name, so the main language is that of all the text so far, decided anew with every
    portion until there is enough of it. A line that is clearly in another language goes to the model for that one; a
    line that is clearly in the target language stays as it is.
    """

    def __init__(self, load: Callable[[str, str | None], Model], target: str | None) -> None:
        self._load, self._target = functools.cache(load), target
        self._seen: list[str] = []
        self._main: Model | None = None

    def translate(
        self, texts: Sequence[str], *, where: Callable[[int], str], **options: Any
    ) -> tuple[Model | None, list[Translation]]:
        """The model of most of the text, None where there is nothing to translate yet; the translations."""
        main = self._choose_main(texts)
        found: dict[int, Translation] = {}
        by_model: dict[Model, list[int]] = {}
        for place, text in enumerate(texts):
            model = main and self._model_for(text, main)
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

    def _choose_main(self, texts: Sequence[str]) -> Model | None:
        """The model of most letters so far; lines in the target language do not count."""
        if sum(map(len, self._seen)) >= _ENOUGH_LETTERS:
            return self._main
        self._seen += texts
        by_language: dict[str, list[str]] = {}
        for line in self._seen:
            found = language.rank(line)[0][0] if language.has_enough(line) else ""
            by_language.setdefault(found, []).append(line)
        others = [each for each in by_language if each and each != self._target]
        most = max(others, key=lambda each: sum(map(len, by_language[each])), default="")
        if self._main is not None:
            self._main = (most and self._installed(most, self._target)) or self._main
        elif most or not self._target or self._target not in by_language:
            lines = by_language[most] if most else self._seen
            self._main = self._load(source_language_of(lines, self._target), self._target)
        return self._main

    def _model_for(self, text: str, main: Model) -> Model | None:
        """The model for one line; None where it is in the target language already."""
        target = main.manifest.target_language
        other = _clearly_other(text, language.main_language(main.manifest.source_language))
        if other and other == language.main_language(target):
            return None
        return (other and self._installed(other, target)) or main

    def _installed(self, source: str, target: str | None) -> Model | None:
        is_there = any(target in (None, "", info.languages[1]) for info in _translators(source))
        return self._load(source, target) if is_there else None


def _translators(source: str) -> list[ModelInfo]:
    models = [info for info in available() if info.manifest.task == "translate"]
    return [info for info in models if info.languages[0] == source]


def _clearly_other(line: str, usual: str) -> str:
    """The language of a line that is clearly not in the usual one, or nothing."""
    if not language.has_enough(line):
        return ""
    ranked = language.rank(line)
    found, probability = ranked[0]
    is_clear = probability >= max(_MIN_PROBABILITY, _MIN_RATIO * dict(ranked).get(usual, 0.0))
    return found if is_clear else ""


@dataclass(slots=True)
class LanguageCheck:
    """Warns once when the text is surely not in the model's source language.

    Language identification takes time, so it runs after the translation is written.
    """

    is_settled: bool
    seen: str = ""

    def add(self, texts: Sequence[str], model: Model) -> None:
        if self.is_settled:
            return
        self.seen = " ".join([self.seen, *texts])[: language.NUM_CHARACTERS_RANKED]
        found, reads = language.sure_language(self.seen), model.manifest.source_language
        if not found and not language.has_enough(self.seen):
            return
        self.is_settled = True
        if found and reads and found != language.main_language(reads):
            advice = [f"try --model {info.name}, or --from auto" for info in _translators(found)]
            advice.append("no model that is installed reads that")
            name = model.folder.name
            _warn(f"the text seems to be in {found}, and {name} reads {reads}: {advice[0]}")


def _warn(message: str) -> None:
    warnings.warn(message, RegardWarning, stacklevel=3)
