"""What `regard` offers by name: adding is easy, taking away breaks somebody's program."""

import importlib
import inspect

import regard

NAMES = sorted(
    "DataConfig DataError DecodeConfig MissingExtra Model ModelConfig ModelError RegardError RegardWarning Score Trace "
    "TrainConfig TrainingError Translation UsageError __version__ available compare load look save train translate".split()
)


def test_the_names() -> None:
    assert sorted(regard.__all__) == NAMES
    assert dir(regard) == NAMES
    assert all(getattr(regard, name) is not None for name in NAMES)
    assert not hasattr(regard, "no_such_name")


def test_no_module_hides_a_name() -> None:
    """Importing regard.x sets regard.x: two packages are named like public functions."""
    for module in ("api", "cli", "config", "errors", "files", "trace"):
        assert importlib.import_module(f"regard.{module}") is getattr(regard, module)
        assert module not in NAMES
    for package in ("translate.pipeline", "train.run", "compare.run"):
        importlib.import_module(f"regard.{package}")
    assert all(map(inspect.isfunction, (regard.translate, regard.train, regard.compare)))
