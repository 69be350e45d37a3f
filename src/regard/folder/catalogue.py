"""Which models there are, and how one is found: by its name, by its languages, or as a folder.

Names are looked for in the user's models folder and then among the bundled models, so that a user's own
`fr-en` comes before the one that was shipped.
"""

import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ModelError, RegardWarning, UsageError, suggest
from regard.folder.checkpoint import WEIGHTS
from regard.folder.manifest import CONFIG, Manifest, read_manifest
from regard.folder.tensors import expected_tensors
from regard.text.language import guess, known_language, language_of_all

BUNDLED = Path(__file__).parents[1] / "assets"
DEFAULT_LANGUAGES = ("fr", "en")  # direction of the default translation model
HUB, ORIGIN = "hf:", "origin.json"
OPUS, OPUS_REPOSITORY = "opus-mt:", "hf:Helsinki-NLP/opus-mt-"


class ModelInfo(NamedTuple):
    """A model that can be loaded by its name."""

    name: str
    folder: Path
    bundled: bool
    manifest: Manifest
    num_bytes: int  # size of its weights

    @property
    def languages(self) -> tuple[str, str]:
        return self.manifest.languages

    @property
    def num_parameters(self) -> int:
        return sum(math.prod(shape) for shape in expected_tensors(self.manifest.model).values())

    def to_dict(self) -> dict[str, Any]:
        names = ("task", "source_language", "target_language", "weights")
        told = {name: getattr(self.manifest, name) for name in names}
        own = {"num_parameters": self.num_parameters, "num_bytes": self.num_bytes, "bundled": self.bundled}
        return {"name": self.name, **told, **own, "folder": str(self.folder)}


def user_folder() -> Path:
    """Where models that the user adds are looked for."""
    if chosen := os.environ.get("REGARD_MODELS"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "regard" / "models"


def available() -> list[ModelInfo]:
    """Every installed model, the user's first."""
    found: dict[str, ModelInfo] = {}
    for parent, bundled in ((user_folder(), False), (BUNDLED, True)):
        for config in sorted(parent.glob(f"*/{CONFIG}")):
            folder = config.parent
            with suppress(ModelError, OSError):  # a broken folder, or one without weights
                size = (folder / WEIGHTS).stat().st_size
                info = ModelInfo(folder.name, folder, bundled, read_manifest(folder), size)
                found.setdefault(info.name, info)
    return list(found.values())


def _models_for(task: str) -> list[ModelInfo]:
    return [info for info in available() if info.manifest.task == task]


def find(name_or_folder: str | Path) -> Path:
    """The folder of a model, given by its name, its path, or the address that it was got from, such as hf:owner/name."""
    name, folder = str(name_or_folder), Path(name_or_folder)
    known = {info.name: info.folder for info in available()}
    if name in known:
        return known[name]
    if (folder / CONFIG).is_file():
        return folder
    if name.startswith((HUB, OPUS)):
        return _got_from(name)
    if folder.exists() or folder.name != name:
        read_manifest(folder)  # says what is wrong with it
    raise UsageError(
        f"a model must be a folder or the name of an installed one ({', '.join(known) or 'there is none'}): "
        f"got {name!r}{suggest(name, known)}"
    )


def _got_from(address: str) -> Path:
    """The installed model that came from a repository of the hub."""
    repository = address.partition("@")[0].replace(OPUS, OPUS_REPOSITORY, 1)
    for info in available():
        with suppress(OSError, ValueError):
            if json.loads((info.folder / ORIGIN).read_bytes())["from"] == repository:
                return info.folder
    raise UsageError(f"{address} must be on this machine to be used: it is not; run  regard models get {address}")


def shown(folder: Path) -> str:
    """A model in a message: a bundled one by its name, another by its folder."""
    return folder.name if folder.resolve().parent == BUNDLED.resolve() else str(folder)


def installed_language(code: str | None) -> str | None:
    """A language as the installed models name it: en_US is en, unless a model says more."""
    known = [each for info in _models_for("translate") for each in info.languages]
    return code and (known_language(code, known) or code)


def directions() -> list[tuple[str, str]]:
    """Source and target of each installed translator."""
    return [info.languages for info in _models_for("translate")]


def source_language_of(texts: Sequence[str], target: str | None = None) -> str:
    """The language of the texts, among those that a model translates (into the target, if given)."""
    target = installed_language(target)
    known = [source for source, writes in directions() if target in (None, "", writes)]
    found = guess(" ".join(texts), known)
    if found.language not in known:
        find_by_languages(found.language or None, target)  # says which there are
    if not found.is_sure:
        told = f"the language of the text is not sure: it is read as {found.language}"
        warnings.warn(f"{told}; say so with --from {found.language}", RegardWarning, stacklevel=2)
    return found.language


def direction_of(texts: Sequence[str]) -> tuple[str, str]:
    """The default direction, reversed if all texts are surely in its target language."""
    source, target = DEFAULT_LANGUAGES
    is_reversed = language_of_all(texts, DEFAULT_LANGUAGES) == target
    return (target, source) if is_reversed else (source, target)


def find_by_task(task: str) -> Path:
    """The first model for this task."""
    for info in _models_for(task):
        return info.folder
    raise UsageError(f"no model is there to {task}: name one with --model, or put its folder into {user_folder()}")


def find_model(
    name_or_folder: str | Path | None, source_language: str | None = None, target_language: str | None = None
) -> Path:
    if name_or_folder is None:
        return find_by_languages(source_language, target_language)
    folder = find(name_or_folder)
    manifest = read_manifest(folder)
    for side, wanted in (("source", source_language), ("target", target_language)):
        got = getattr(manifest, f"{side}_language")
        if wanted and got and not known_language(wanted, [got]):
            raise UsageError(f"the {side} language of {folder.name} is {got}: got {wanted}; name another model")
    return folder


def find_by_languages(source: str | None, target: str | None) -> Path:
    """The first model that translates between these languages; None is any language."""
    if not source and not target:
        source, target = DEFAULT_LANGUAGES
    source, target = map(installed_language, (source, target))
    models = _models_for("translate")
    for info in models:
        reads, writes = info.languages
        if source in (None, "", reads) and target in (None, "", writes):
            return info.folder
    wanted = f"{source or 'any language'} to {target or 'any language'}"
    known = ", ".join(" to ".join(info.languages) for info in models) or "none"
    pair = f"{source or 'XX'}-{target or 'YY'}"
    raise UsageError(
        f"no model translates from {wanted}: there is {known}; regard models get opus-mt:{pair} may have one, or train one"
    )
