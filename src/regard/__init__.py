"""regard: the Transformer of 2017, to translate with, to train, and to look into.

Names are imported when first used, so `import regard` costs nothing.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard import look
    from regard.api import Model, Translation, available, load, translate
    from regard.compare.run import compare
    from regard.config import DataConfig, DecodeConfig, ModelConfig, TrainConfig
    from regard.errors import DataError, MissingExtra, ModelError, RegardError, RegardWarning, TrainingError, UsageError
    from regard.trace import Trace
    from regard.train.library import save, train
    from regard.translate.evaluate import Score

_HOME = {
    "regard.api": ("Model", "Translation", "available", "load", "translate"),
    "regard.compare.run": ("compare",),
    "regard.config": ("DataConfig", "DecodeConfig", "ModelConfig", "TrainConfig"),
    "regard.errors": "DataError MissingExtra ModelError RegardError RegardWarning TrainingError UsageError".split(),
    "regard.train.library": ("save", "train"),
    "regard.translate.evaluate": ("Score",),
    "regard.trace": ("Trace",),
}

__all__ = [
    "DataConfig", "DataError", "DecodeConfig", "MissingExtra", "Model", "ModelConfig", "ModelError", "RegardError",
    "RegardWarning", "Score", "Trace", "TrainConfig", "TrainingError", "Translation", "UsageError", "__version__",
    "available", "compare", "load", "look", "save", "train", "translate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name == "look":
        return importlib.import_module("regard.look")
    for module, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """`regard.translate`, `regard.train` and `regard.compare` are functions, though packages have these names too.

    Importing a submodule would otherwise put the module in the function's place.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in ("translate", "train", "compare")):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
