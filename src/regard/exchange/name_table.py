"""Name tables: what each of our modules is called in a foreign format, both ways; and what all foreign formats share.

The tables stand in names.toml.
"""

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.config.model import FeedForwardKind, ModelConfig
from regard.errors import ModelError, UsageError
from regard.folder.manifest import Task
from regard.folder.tensors import Tensors

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}  # as Hugging Face names them
_FEED_FORWARDS: dict[str, FeedForwardKind] = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh",
    "silu": "silu", "swish": "silu", "gated-gelu": "gated-gelu-tanh", "gated-silu": "gated-silu",
}  # fmt: skip
_TENSOR = re.compile(r"(?:(encoder|decoder)\.layers\.(\d+)\.)?(.+)\.(weight|bias)")

NameTable = Mapping[str, str]
"""from our modules, such as self_attention.query or only that of the decoder.self_attention.query, to theirs; {stack}
and {i} are those of the layer"""
Values = Mapping[str, Any]  # of a foreign config.json


class Family(NamedTuple):
    """How config.json and tensors of a family of foreign models become ours."""

    task: Task
    config_of: Callable[[Values, Tensors], ModelConfig]
    tensors_of: Callable[[Tensors, ModelConfig], Tensors]


@functools.cache
def tables() -> dict[str, dict[str, dict[str, str]]]:
    """For each format the names of `modules`, and those of `settings` that are called otherwise there."""
    return tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))


def their_name(table: NameTable, ours: str) -> str:
    """
    >>> their_name({"feed_forward.hidden": "{stack}.{i}.fc1"}, "encoder.layers.3.feed_forward.hidden.bias")
    'encoder.3.fc1.bias'
    """
    match = _TENSOR.fullmatch(ours)
    assert match, ours
    stack, i, module, kind = match.groups()
    theirs = table.get(f"{stack}.{module}") or table[module]
    return f"{theirs.format(stack=stack, i=i)}.{kind}"


def to_ours(table: NameTable, names: Iterable[str], theirs: Mapping[str, np.ndarray], ignored: str) -> Tensors:
    """Their tensors under these names of ours; a missing or an unknown one is refused.

    ignored: a pattern of names without content of their own.
    """
    sources = {ours: their_name(table, ours) for ours in names}
    if missing := sorted({*sources.values()} - theirs.keys()):
        raise ModelError(
            f"the model must have a tensor {missing[0]}, as its config.json says: it has none; get the model again"
        )
    unknown = theirs.keys() - {*sources.values()}
    for name in sorted(name for name in unknown if not re.search(ignored, name)):
        raise ModelError(f"tensor {name} is unknown in a model of this kind: import another model")
    return {ours: np.ascontiguousarray(theirs[name], np.float32) for ours, name in sources.items()}


def position_table(config: ModelConfig, num_positions: int) -> np.ndarray:
    """What is added at each position (`regard.model.position`), for formats that have only tables."""
    if config.position == "none":
        return np.zeros((num_positions, config.d_model), np.float32)
    assert config.position == "sinusoidal"
    pairs = np.arange(0, config.d_model, 2) / config.d_model
    angle = np.arange(num_positions)[:, None] * 10000.0**-pairs
    rows = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return np.asarray(rows.reshape(num_positions, config.d_model), np.float32)


def feed_forward_of(values: Values, key: str, default: str | None = None) -> FeedForwardKind:
    """Our feed-forward kind for the activation that their config.json names."""
    name = str(values.get(key, default))
    if name not in _FEED_FORWARDS:
        known = ", ".join(_FEED_FORWARDS)
        raise ModelError(f"{key} must be one of {known} for regard to compute it: got {name!r}; import another model")
    return _FEED_FORWARDS[name]


def settings_of(table: Mapping[str, str], values: Values) -> dict[str, Any]:
    """Our settings from a config.json; keys that hold one of our settings must agree."""
    first: dict[str, str] = {}
    for theirs, ours in table.items():
        wanted = values[first.setdefault(ours, theirs)]
        require({theirs: values[theirs]}, theirs, wanted, f"{wanted}, as {first[ours]}")
    return {ours: values[theirs] for ours, theirs in first.items()}


def require(values: Values, key: str, wanted: Any, expected: Any = None) -> None:
    """Refuse a foreign config.json with a value that regard cannot compute; a missing key is right."""
    if values.get(key, wanted) != wanted:
        expected = wanted if expected is None else expected
        raise ModelError(f"{key} must be {expected} for regard to compute it: got {values[key]!r}; import another")


def require_exportable(where: str, config: ModelConfig, **allowed: tuple[Any, ...]) -> None:
    """Refuse to export a model with a setting that the foreign format cannot express."""
    own: dict[str, tuple[Any, ...]] = {
        "d_k": (None, config.d_model // config.num_heads),
        "num_key_value_heads": (None, config.num_heads),
        "rotary_base": (10000.0,),
        "rotary_factor": (1.0,),
    }
    own |= {"biases": ("all",), "query_key_norm": (False,), "window": (None,)}
    for name, values in {**own, **allowed}.items():
        if (got := getattr(config, name)) not in values:
            expected = " or ".join(str(each) for each in values if each is not None)
            raise UsageError(f"{where} can only hold a model with {name}={expected}: got {got}; use another format")
