"""The served models: loaded, found by name or by languages, and the language of a text."""

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.decode import StepModel
from regard.engine import EngineKind, open_engine
from regard.errors import ModelError, RegardError, UsageError
from regard.folder.catalogue import available, find, shown
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import Manifest, read_manifest
from regard.search.encoder import TextEncoder
from regard.serve.monitoring import Metrics
from regard.serve.request import BadField, Fields, RequestError, text_of
from regard.serve.worker import QuietTranslator, Worker
from regard.text import language
from regard.text.language import LANGUAGE_NAMES, LanguageGuess
from regard.translate.pipeline import Translator

WRITING = ("translate", "chat", "write")  # tasks of models that answer with a text
TASKS = (*WRITING, "search")
AUTO = "auto"


@dataclass(frozen=True)
class ServedModel:
    name: str
    folder: Path
    translator: Translator
    worker: Worker
    reopen: Callable[[], StepModel]  # opens the same engine again, for another thread
    encoder: TextEncoder | None = None  # encoder of a model for search
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def manifest(self) -> Manifest:
        return self.translator.manifest


Translators = tuple[ServedModel, ...]
"""the models that translate between two languages, one after the other; none where both are the same"""


class Models:
    def __init__(self, served: Sequence[ServedModel], pivot: str = "") -> None:
        """pivot: a language by way of which pairs without a model of their own are translated."""
        self.all = {each.name: each for each in served}
        self.pairs: dict[tuple[str, str], Translators] = {}
        for each in served:
            if each.manifest.task == "translate" and all(each.manifest.languages):
                self.pairs.setdefault(each.manifest.languages, (each,))
        self.languages = sorted({code for pair in self.pairs for code in pair})
        if pivot:
            self._add_pairs(pivot)

    def _add_pairs(self, pivot: str) -> None:
        code = language.known_language(pivot, self.languages)
        sources = [source for source, target in self.pairs if target == code]
        targets = [target for source, target in self.pairs if source == code]
        if code is None or not (sources and targets):
            raise UsageError(
                f"--pivot must be a language that models here translate from and into: got {pivot}; the languages are "
                + ", ".join(self.languages)
            )
        for source in sources:
            for target in targets:
                if source != target:
                    self.pairs.setdefault((source, target), self.pairs[source, code] + self.pairs[code, target])

    def direction(self, fields: Fields) -> tuple[str, str]:
        """A request's source, which may be auto, and its target, as the models name them."""
        codes = []
        for name in ("source", "target"):
            code = text_of(fields, name).strip()
            is_auto = name == "source" and code.lower() == AUTO
            known = AUTO if is_auto else language.known_language(code, self.languages)
            if known is None:
                raise BadField(name, f"{code[:20]} is not supported, only {', '.join(self.languages)}")
            codes.append(known)
        return codes[0], codes[1]

    def detect(self, text: str, target: str) -> LanguageGuess:
        """The language of a text to be translated into the target, as `--from auto` detects it."""
        if not any(map(str.isalpha, text)):
            return LanguageGuess(target, 0.0)  # it stays as it is
        return language.guess(text, [source for source, into in self.pairs if into == target], target)

    def find(self, name: str) -> ServedModel:
        if name not in self.all:
            known = ", ".join(f"{each} ({found.manifest.task})" for each, found in self.all.items())
            message = f"no model here goes by that name: ask for one of {known}"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self.all[name]

    def translators(self, source: str, target: str) -> Translators:
        if source == target:
            return ()
        if (source, target) not in self.pairs:
            source, target = (LANGUAGE_NAMES.get(code, code[:20]) for code in (source, target))
            raise BadField("target", f"no model here translates {source} into {target}")
        return self.pairs[source, target]

    @property
    def failing(self) -> list[str]:
        return [name for name, each in self.all.items() if not each.worker.is_alive]


def load_models(
    names: Sequence[str],
    *,
    queue: int,
    metrics: Metrics,
    engine: EngineKind = "auto",
    device: str = "auto",
    threads: int | None = None,
    pivot: str = "",
) -> tuple[Models, dict[str, str]]:
    """The named models, or all installed ones that can be served; of those left out the reason, by name."""
    found = [find(name) for name in names] or [info.folder for info in available()]
    served: list[ServedModel] = []
    left_out: dict[str, str] = {}
    for folder in dict.fromkeys(Path(each).resolve() for each in found):
        name = folder.name
        try:
            manifest = read_manifest(folder).toward(None)
            if manifest.task not in TASKS:
                raise ModelError(
                    f"{shown(folder)} must be a model to {', '.join(TASKS)}: got one to {manifest.task}; name another"
                )
            opening: dict[str, Any] = {"kind": engine, "device": device, "threads": threads}
            reopen = functools.partial(open_engine, folder, **opening)
            encoder = TextEncoder.open(folder, **opening) if manifest.task == "search" else None
            opened: Any = encoder.encoder if encoder else reopen()
            translator = QuietTranslator(opened, manifest, *open_tokenizers(folder, manifest.tokenizer))
            if manifest.task == "translate":
                # Warm the engine up before anyone waits.
                translator.translate(["1"], manifest.decode)
        except RegardError as error:
            if names:
                raise
            left_out[name] = str(error)
        else:
            worker = Worker(name, translator, queue, metrics)
            served.append(ServedModel(name, folder, translator, worker, reopen, encoder))
    if not served:
        reasons = "; ".join(left_out.values()) or "none is installed"
        raise UsageError(f"there must be a model to serve: {reasons}; train one or name its folder")
    return Models(served, pivot), left_out
