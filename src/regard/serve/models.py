"""The served models: loaded, found by name or by languages, and the language of a text."""

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from regard.decode import StepModel
from regard.engine import EngineKind, open_engine
from regard.errors import ModelError, RegardError, UsageError
from regard.folder.catalogue import available, find, shown
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import Manifest, read_manifest
from regard.serve.monitoring import Metrics
from regard.serve.request import BadField, Fields, RequestError, text_of
from regard.serve.worker import Worker
from regard.text import language
from regard.translate.pipeline import Translator

TASKS = ("translate", "chat", "write")
AUTO = "auto"

_ENOUGH_LETTERS, _SURE = 40, 0.8
"""letters and probability from which a text is believed to be in a language that no model here knows"""

_LANGUAGES = (resources.files("regard.serve") / "languages.txt").read_text(encoding="utf-8")
_NAME_OF = dict(line.split(" ", 1) for line in _LANGUAGES.splitlines())


def language_name(code: str) -> str:
    """The English name of a language, or the code of an unknown one.

    >>> language_name("fr"), language_name("tlh")
    ('French', 'tlh')
    """
    return _NAME_OF.get(code, code)


class Detected(NamedTuple):
    language: str
    probability: float


@dataclass(frozen=True)
class ServedModel:
    name: str
    folder: Path
    translator: Translator
    worker: Worker
    reopen: Callable[[], StepModel]
    """opens the same engine again, for another thread"""
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def manifest(self) -> Manifest:
        return self.translator.manifest

    @property
    def languages(self) -> tuple[str, str]:
        return self.manifest.source_language, self.manifest.target_language


class Models:
    def __init__(self, served: Sequence[ServedModel]) -> None:
        self.all = {each.name: each for each in served}
        self.pairs: dict[tuple[str, str], ServedModel] = {}
        for each in served:
            if each.manifest.task == "translate" and all(each.languages):
                self.pairs.setdefault(each.languages, each)
        self.languages = sorted({code for pair in self.pairs for code in pair})

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

    def detect(self, text: str) -> Detected:
        """The language of a text.

        A few words tell little, so the languages of our models are preferred unless another one is sure.
        """
        ranked = [Detected(*each) for each in language.rank(text)]
        known = [each for each in ranked if each.language in self.languages]
        is_sure = sum(map(str.isalpha, text)) >= _ENOUGH_LETTERS and ranked[0].probability >= _SURE
        if known and (known[0] == ranked[0] or not is_sure):
            return known[0]
        if is_sure or (ranked and not self.languages):
            return ranked[0]
        return Detected(min((source for source, _ in self.pairs), default="en"), 0.0)

    def find(self, name: str) -> ServedModel:
        if name not in self.all:
            known = ", ".join(f"{each} ({found.manifest.task})" for each, found in self.all.items())
            message = f"no model here goes by that name: ask for one of {known}"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self.all[name]

    def translator(self, source: str, target: str) -> ServedModel | None:
        """The model from one language into another; None where they are the same."""
        if source == target:
            return None
        if (source, target) not in self.pairs:
            names = f"{language_name(source[:20])} into {language_name(target[:20])}"
            raise BadField("target", f"no model here translates {names}")
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
) -> tuple[Models, dict[str, str]]:
    """The named models, or all installed ones that can be served; of those left out the reason, by name."""
    found = [find(name) for name in names] or [info.folder for info in available()]
    served: list[ServedModel] = []
    left_out: dict[str, str] = {}
    for folder in dict.fromkeys(Path(each).resolve() for each in found):
        name = folder.name
        try:
            manifest = read_manifest(folder)
            if manifest.task not in TASKS:
                raise ModelError(
                    f"{shown(folder)} must be a model to {', '.join(TASKS)}: got one to {manifest.task}; name another"
                )
            reopen = functools.partial(open_engine, folder, engine, device=device, threads=threads)
            translator = Translator(reopen(), manifest, *open_tokenizers(folder, manifest.tokenizer))
            if manifest.task == "translate":
                # Warm the engine up before anyone waits.
                translator.translate(["1"], manifest.decode)
        except RegardError as error:
            if names:
                raise
            left_out[name] = str(error)
        else:
            worker = Worker(name, translator, queue, metrics)
            served.append(ServedModel(name, folder, translator, worker, reopen))
    if not served:
        reasons = "; ".join(left_out.values()) or "none is installed"
        raise UsageError(f"there must be a model to serve: {reasons}; train one or name its folder")
    return Models(served), left_out
