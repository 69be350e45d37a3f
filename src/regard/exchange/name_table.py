"""Name tables: which tensor or setting of a foreign format is which of ours, read in both directions.

Also what all families of foreign models share: activations, positions as a table, and how a setting that one of the two
formats cannot express is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.config import FeedForwardKind, ModelConfig
from regard.errors import ModelError, UsageError
from regard.folder.manifest import Task
from regard.folder.tensors import Tensors

POSITION_BASE = 10000.0
FEED_FORWARDS: dict[str, FeedForwardKind] = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh",
    "silu": "silu", "swish": "silu",
}  # fmt: skip
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}
"""our feed-forward kinds as Hugging Face names them"""


@dataclass(frozen=True)
class Family:
    """A family of foreign models: how its config.json and its tensors become ours."""

    kinds: tuple[str, ...]
    """values of model_type in its config.json"""
    task: Task
    config_of: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], ModelConfig]
    tensors_of: Callable[[Mapping[str, np.ndarray], ModelConfig], Tensors]


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One of their tensors."""

    theirs: str
    ours: tuple[str, ...]
    """our tensors that it holds, one below the other"""
    transposed: bool = False
    """laid out [inputs, outputs]"""


def entry(theirs: str, *ours: str) -> TensorEntry:
    return TensorEntry(theirs, ours)


def linear(theirs: str, *ours: str, transposed: bool = False) -> Iterator[TensorEntry]:
    """Weight and bias of a linear map that holds one or several of ours, or of a norm."""
    for part in ("weight", "bias"):
        held = tuple(f"{name}.{part}" for name in ours)
        yield TensorEntry(f"{theirs}.{part}", held, transposed and part == "weight")


def to_ours(
    table: Iterable[TensorEntry], theirs: Mapping[str, np.ndarray], ignored: str
) -> Tensors:
    """Their tensors under our names; a missing or an unknown one is refused.

    ignored: a pattern of names without content of their own.
    """
    tensors: Tensors = {}
    left = dict(theirs)
    for each in table:
        if each.theirs not in left:
            raise ModelError(
                f"the model must have a tensor {each.theirs}, as its config.json says: it has none; "
                "the two files are not of one model, get it again"
            )
        value = left.pop(each.theirs)
        value = value.T if each.transposed else value
        if len(value) % len(each.ours):
            raise ModelError(
                f"tensor {each.theirs} must be {len(each.ours)} tensors of one size: got {list(value.shape)}; "
                "get the model again"
            )
        for name, part in zip(each.ours, np.split(value, len(each.ours)), strict=True):
            tensors[name] = np.ascontiguousarray(part, dtype=np.float32)
    unknown = [name for name in left if not re.search(ignored, name)]
    if unknown:
        raise ModelError(
            f"tensor {min(unknown)} is none that a model of this kind has in regard, and it would change what "
            f"the model computes; {len(unknown)} such: import another model"
        )
    return tensors


def to_theirs(table: Iterable[TensorEntry], ours: Mapping[str, np.ndarray]) -> Tensors:
    tensors: Tensors = {}
    for each in table:
        value = np.concatenate([ours[name] for name in each.ours])
        tensors[each.theirs] = np.ascontiguousarray(value.T if each.transposed else value)
    return tensors


def reordered(tensors: Mapping[str, np.ndarray], order: np.ndarray) -> Tensors:
    """The same model with the features of d_model in another order."""
    moved: Tensors = {}
    for name, tensor in tensors.items():
        axis = _feature_axis(name)
        moved[name] = tensor if axis is None else np.ascontiguousarray(tensor.take(order, axis))
    return moved


def _feature_axis(name: str) -> int | None:
    """The axis of a tensor that holds the features of d_model; None where there is none."""
    if name.endswith(("embedding.weight", "position.weight")) or name == "output.weight":
        return 1
    *_, part, kind = name.split(".")
    if part in ("query", "key", "value", "hidden", "gate"):
        return 1 if kind == "weight" else None
    return 0 if part in ("norm", "final_norm", "output") and name != "output.bias" else None


def position_table(config: ModelConfig, num_positions: int) -> np.ndarray:
    """What is added at each position (`regard.model.position`), for formats that have only tables."""
    if config.position == "none":
        return np.zeros((num_positions, config.d_model), np.float32)
    assert config.position == "sinusoidal"
    pairs = np.arange(0, config.d_model, 2) / config.d_model
    angle = np.arange(num_positions)[:, None] * POSITION_BASE**-pairs
    rows = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return np.asarray(rows.reshape(num_positions, config.d_model), np.float32)


def feed_forward_of(
    values: Mapping[str, Any], key: str, default: str | None = None
) -> FeedForwardKind:
    """Our feed-forward kind for the activation that their config.json names."""
    name = str(values.get(key, default))
    if name not in FEED_FORWARDS:
        raise ModelError(
            f"{key} must be one of {', '.join(FEED_FORWARDS)} for regard to compute it: got {name!r}; "
            "import another model"
        )
    return FEED_FORWARDS[name]


def settings_of(table: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Our settings from a config.json; keys that hold one of our settings must agree."""
    first: dict[str, str] = {}
    for theirs, ours in table.items():
        wanted = values[first.setdefault(ours, theirs)]
        require({theirs: values[theirs]}, theirs, wanted, f"{wanted}, as {first[ours]}")
    return {ours: values[theirs] for ours, theirs in first.items()}


def settings_for(table: Mapping[str, str], config: ModelConfig) -> dict[str, Any]:
    """The keys of a config.json, from our settings."""
    return {theirs: getattr(config, ours) for theirs, ours in table.items()}


def require(values: Mapping[str, Any], key: str, wanted: Any, expected: Any = None) -> None:
    """Refuse a foreign config.json with a value that regard cannot compute; a missing key is right."""
    if values.get(key, wanted) != wanted:
        expected = wanted if expected is None else expected
        raise ModelError(
            f"{key} must be {expected} for regard to compute it: got {values[key]!r}; import another model"
        )


def require_exportable(where: str, config: ModelConfig, **allowed: tuple[Any, ...]) -> None:
    """Refuse to export a model with a setting that the foreign format cannot express."""
    for name, values in allowed.items():
        value = getattr(config, name)
        if value not in values:
            *others, last = (str(each) for each in values if each is not None)
            expected = f"{', '.join(others)} or {last}" if others else last
            raise UsageError(
                f"{where} can only hold a model with {name}={expected}: got {value}; use another format"
            )
