"""The models that are served, each with its thread, and which of them answers what."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from regard.engine import EngineKind, open_engine
from regard.errors import ModelError, RegardError, UsageError
from regard.folder.catalogue import available, find, shown
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import Manifest, read_manifest
from regard.serve.metrics import Metrics
from regard.serve.worker import Worker
from regard.translate.translator import Translator

TASKS = ("translate", "chat", "write")


@dataclass(frozen=True)
class Served:
    """A loaded model."""

    name: str
    folder: Path
    translator: Translator
    worker: Worker
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def manifest(self) -> Manifest:
        return self.translator.manifest

    @property
    def languages(self) -> tuple[str, str]:
        return self.manifest.source_language, self.manifest.target_language


class Models:
    """Those that are served, by name and by what they do."""

    def __init__(self, served: Sequence[Served]) -> None:
        self.all = {each.name: each for each in served}
        self.pairs: dict[tuple[str, str], Served] = {}
        for each in served:
            if each.manifest.task == "translate" and all(each.languages):
                self.pairs.setdefault(each.languages, each)

    @property
    def sources(self) -> list[str]:
        return sorted({source for source, _ in self.pairs})

    @property
    def languages(self) -> list[str]:
        return sorted({code for pair in self.pairs for code in pair})

    def targets(self, source: str) -> list[str]:
        """What a language can become; it can always stay what it is."""
        return sorted({source, *(target for start, target in self.pairs if start == source)})

    def known(self, code: str) -> str | None:
        """The language that a code names, however it is written: FR, fr_FR and fr-CA are fr, where there is no nearer."""
        wanted = code.replace("_", "-").lower()
        by_code = {each.lower(): each for each in self.languages}
        return by_code.get(wanted) or by_code.get(wanted.partition("-")[0])

    def start(self) -> None:
        for each in self.all.values():
            each.worker.start()

    def stop(self) -> None:
        for each in self.all.values():
            each.worker.stop()

    @property
    def unwell(self) -> list[str]:
        return [name for name, each in self.all.items() if not each.worker.is_well]


class Loaded(NamedTuple):
    """What a server has, and what it has not."""

    models: Models
    other_tasks: list[str]
    """models that do something else, each with what it does: nothing is wrong with them"""
    failed: list[str]
    """models that cannot be opened, each with the reason"""


def load_models(
    names: Sequence[str],
    *,
    queue: int,
    metrics: Metrics,
    engine: EngineKind = "auto",
    device: str = "auto",
    threads: int | None = None,
) -> Loaded:
    """The models of these names or folders, or all there are; and why some of all are not served."""
    folders = {Path(find(name)).resolve(): None for name in names}
    if not names:
        folders = {info.folder.resolve(): None for info in available()}
    served: list[Served] = []
    other_tasks: list[str] = []
    failed: list[str] = []
    for folder in folders:
        try:
            task = read_manifest(folder).task
            if not names and task not in TASKS:
                other_tasks.append(
                    f"{folder.name}: made to {task}, which a server is not asked for"
                )
                continue
            served.append(_load(folder, queue, metrics, engine, device, threads))
        except RegardError as error:
            if names:
                raise
            failed.append(f"{folder.name}: {error}")
    if not served:
        reasons = "; ".join([*failed, *other_tasks]) or "none is installed"
        raise UsageError(f"there must be a model to serve: {reasons}; train one or name its folder")
    return Loaded(Models(served), other_tasks, failed)


def _load(
    folder: Path,
    queue: int,
    metrics: Metrics,
    engine: EngineKind,
    device: str,
    threads: int | None,
) -> Served:
    manifest = read_manifest(folder)
    if manifest.task not in TASKS:
        raise ModelError(
            f"{shown(folder)} must be a model to {', '.join(TASKS)}: got one to {manifest.task}; "
            "name another"
        )
    opened = open_engine(folder, engine, device=device, threads=threads)
    translator = Translator(opened, manifest, *open_tokenizers(folder, manifest.tokenizer))
    if manifest.task == "translate":
        # What an engine does only once, it does before anyone waits.
        translator.translate(["1"], manifest.decode, sentences=False)
    return Served(folder.name, folder, translator, Worker(folder.name, translator, queue, metrics))
