"""What a foreign family of models is to the import, and how what cannot be expressed is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.config import FeedForwardKind, ModelConfig
from regard.errors import ModelError, UsageError
from regard.folder.manifest import Task
from regard.folder.tensors import Tensors


@dataclass(frozen=True)
class Foreign:
    """One family: how its config.json and its tensors become ours."""

    kinds: tuple[str, ...]
    """what its config.json calls itself"""
    task: Task
    config_of: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], ModelConfig]
    tensors_of: Callable[[Mapping[str, np.ndarray], ModelConfig], Tensors]


class _FeedForwards(dict[str, FeedForwardKind]):
    def of(self, values: Mapping[str, Any], key: str) -> FeedForwardKind:
        """Ours for what their config.json names there."""
        name = str(values.get(key))
        if name not in self:
            raise ModelError(
                f"{key} must be one of {', '.join(self)} for regard to compute it: got {name!r}; "
                "import another model"
            )
        return self[name]


FEED_FORWARDS = _FeedForwards(
    {
        "relu": "relu",
        "gelu": "gelu",
        "gelu_new": "gelu-tanh",
        "gelu_pytorch_tanh": "gelu-tanh",
        "silu": "silu",
        "swish": "silu",
    }
)
ACTIVATIONS: dict[str, str] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu-tanh": "gelu_new",
    "silu": "silu",
}
"""what ours are called there"""


def same(values: Mapping[str, Any], *keys: str) -> Any:
    """The value of keys that must agree."""
    first = values[keys[0]]
    for key in keys[1:]:
        refuse_unless(values[key] == first, key, values[key], f"{first}, as {keys[0]}")
    return first


def refuse_unless(holds: bool, name: str, value: Any, expected: Any, where: str = "") -> None:
    """What one of the two formats cannot express is named, not approximated."""
    if holds:
        return
    if where:
        raise UsageError(
            f"{where} can only hold a model with {name}={expected}: got {value}; use another format"
        )
    raise ModelError(
        f"{name} must be {expected} for regard to compute it: got {value!r}; import another model"
    )
