"""Attention weights of any framework on the same page: arrays and tokens in, a page out. Needs only NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError, UsageError
from regard.look.single_file import as_frame, encoded, fill_page


@dataclass(frozen=True, eq=False, repr=False)
class AttentionView:
    """Attention weights and tokens as a page; a notebook displays it."""

    weights: dict[str, np.ndarray]  # by trace name: [heads, query_len, key_len]
    source: Sequence[str] | None
    target: Sequence[str] | None
    title: str

    def html(self) -> str:
        """One file that works from disk, without a network."""
        tensors = {name: encoded(value) for name, value in self.weights.items()}
        return fill_page(self.title, {"document": self.document(), "tensors": tensors})

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return as_frame(self.html())

    def document(self) -> dict[str, Any]:
        """The document of a run that has no numbers but the weights."""

        counts = {
            stack: len({name.split(".")[2] for name in self.weights if name.startswith(stack)})
            for stack in ("encoder", "decoder")
        }
        both = self.source is not None and self.target is not None
        architecture = "encoder-decoder" if both else "decoder-only" if counts["decoder"] else "encoder-only"
        own = [e for name, e in self.weights.items() if name.startswith("decoder") and "self_attention" in name]
        hides = bool(own) and not any(np.triu(each, 1).any() for each in own)
        config = {
            "architecture": architecture,
            **{f"num_{stack}_layers": count for stack, count in counts.items()},
            "num_heads": max(len(value) for value in self.weights.values()),
            # Nothing else of the model was given.
            **dict.fromkeys("d_model d_ff source_vocab_size target_vocab_size max_positions norm_epsilon".split(), 0),
            **dict.fromkeys(("norm", "norm_placement", "feed_forward", "tied"), ""),
            "position": "none",
            "embedding_norm": False,
        }
        return {
            "version": 2,
            "run": 0,
            "title": self.title,
            "model": {"name": self.title, "architecture": architecture, "config": config, "num_parameters": 0},
            "source": _side(self.source),
            "target": _side(self.target),
            "tensors": {name: {"shape": list(value.shape)} for name, value in self.weights.items()},
            "hidden": {"encoder.self": None, "decoder.self": "future" if hides else None, "cross": None},
            **{name: [] for name in ("steps", "hypotheses", "output")},
            **{name: {} for name in ("parameters", "code")},
            **dict.fromkeys(("changes", "compare")),
        }


def attention(
    *,
    encoder: Any = None,
    decoder: Any = None,
    cross: Any = None,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    title: str = "attention",
) -> AttentionView:
    """A page of attention weights from anywhere: NumPy arrays, torch tensors, lists.

    Each of `encoder` (source to source), `decoder` (target to target) and `cross` (target to source) is
    [layers, heads, query_len, key_len], or a list with an array for each layer, as Hugging Face gives them; the
    batch of one may stay. The three may differ in layers and heads. `source` and `target` are the words.
    """
    weights: dict[str, np.ndarray] = {}
    for name, value, path, queries, keys in (
        ("encoder", encoder, "encoder.layers.{}.self_attention.weights", source, source),
        ("decoder", decoder, "decoder.layers.{}.self_attention.weights", target, target),
        ("cross", cross, "decoder.layers.{}.cross_attention.weights", target, source),
    ):
        if value is None:
            continue
        if queries is None or keys is None:
            missing = "target" if queries is None else "source"
            raise UsageError(f"{name} needs the words it is between: {missing} is missing")
        for i, layer in enumerate(_layers(name, value)):
            if layer.ndim != 3 or layer.shape[1:] != (len(queries), len(keys)) or not len(layer):
                raise DataError(
                    f"{name}, layer {i} must be [heads, {len(queries)}, {len(keys)}], as many as the words: "
                    f"got {list(layer.shape)}; check the words and the order of the axes"
                )
            if not np.isfinite(layer).all():
                raise DataError(f"{name}, layer {i} must be finite: got others; give the weights after softmax")
            weights[path.format(i)] = layer
    if not weights:
        raise UsageError("give at least one of encoder, decoder and cross: got none")
    return AttentionView(weights, source, target, title)


def _layers(name: str, value: Any) -> list[np.ndarray]:
    """One array [heads, query_len, key_len] a layer."""
    if not isinstance(value, list | tuple):
        value = _array(name, value)
        # A single matrix is a single head's.
        value = [value] if value.ndim == 2 else value
    layers = [_array(name, each) for each in value]
    layers = [each[0] if each.ndim == 4 and len(each) == 1 else each for each in layers]
    return [each[None] if each.ndim == 2 else each for each in layers]


def _array(name: str, value: Any) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    try:
        return np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers [layers, heads, query_len, key_len]: {error}") from error


def _side(tokens: Sequence[str] | None) -> dict[str, Any] | None:
    """The words of a side; each token is one."""
    if tokens is None:
        return None
    numbers = range(len(tokens))
    described = {"text": " ".join(tokens), "tokens": list(numbers), "token_strings": list(tokens)}
    return described | {"words": [[i, i] for i in numbers]}
