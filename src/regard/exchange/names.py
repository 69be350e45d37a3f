"""A name table of a foreign format: which of its tensors is which of ours, to be read both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from regard.errors import ModelError
from regard.folder.tensors import Tensors


@dataclass(frozen=True, slots=True)
class Entry:
    """One of their tensors."""

    theirs: str
    ours: tuple[str, ...]
    """the tensors it holds, one below the other"""
    transposed: bool = False
    """laid [inputs, outputs]"""


def entry(theirs: str, *ours: str, transposed: bool = False) -> Entry:
    return Entry(theirs, ours, transposed)


def linear(theirs: str, *ours: str, transposed: bool = False) -> Iterator[Entry]:
    """The weight and the bias of a linear map, or of several that are one of theirs; a norm has the same two."""
    for part in ("weight", "bias"):
        flipped = transposed and part == "weight"
        yield Entry(f"{theirs}.{part}", tuple(f"{name}.{part}" for name in ours), flipped)


def to_ours(table: Iterable[Entry], theirs: Mapping[str, np.ndarray], ignored: str) -> Tensors:
    """Their tensors under our names; one that is missing or that nothing is known about is refused.

    ignored: a pattern of names that hold nothing of their own.
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


def to_theirs(table: Iterable[Entry], ours: Mapping[str, np.ndarray]) -> Tensors:
    tensors: Tensors = {}
    for each in table:
        value = np.concatenate([ours[name] for name in each.ours])
        tensors[each.theirs] = np.ascontiguousarray(value.T if each.transposed else value)
    return tensors


def feature_axis(name: str) -> int | None:
    """Which axis of a tensor are the features of d_model; None where none is."""
    if name.endswith(("embedding.weight", "position.weight")):
        return 1
    *_, part, kind = name.split(".")
    if part in ("query", "key", "value", "hidden", "gate"):
        return 1 if kind == "weight" else None
    if part in ("norm", "final_norm", "output"):
        return 0
    return None


def in_order(tensors: Mapping[str, np.ndarray], order: np.ndarray) -> Tensors:
    """With the features of d_model in another order, everywhere; the model stays the same."""
    moved: Tensors = {}
    for name, tensor in tensors.items():
        axis = 1 if name == "output.weight" else feature_axis(name)
        if axis is None or name == "output.bias":
            moved[name] = tensor
        else:
            moved[name] = np.ascontiguousarray(tensor.take(order, axis=axis))
    return moved
