"""Where each box of the page is computed: the file and line where its value gets its name."""

from __future__ import annotations

import functools
import importlib
import inspect
from types import ModuleType
from typing import TypedDict

from regard.decode import beam, walk
from regard.model import attention, embedding, feedforward, norm, position, transformer
from regard.text import tokenizer

_KEPT = {
    embedding: {"embedding": "embedding", "input": "input"},
    attention: {
        name: name
        for name in (
            "query",
            "key",
            "value",
            "scores",
            "scaled",
            "masked",
            "weights",
            "context",
            "concatenated",
            "output",
        )
    },
    norm: {"residual": "residual", "norm": "norm"},
    feedforward: {
        "hidden": "hidden",
        "gate": "gate",
        "activated": "activated",
        "feed_forward": "output",
    },
    transformer: {"memory": "memory", "logits": "logits", "probabilities": "probabilities"},
}
"""by file, the boxes and the trace names they are kept under"""

_DEFINED = {
    "pieces": (tokenizer, "def encode("),
    "position": (position, "def sinusoidal("),
    "rotation": (position, "def rotate("),
    "attention": (attention, "def written_out("),
    "encoder": (transformer, "def encode("),
    "decoder": (transformer, "def decode("),
    "step": (transformer, "def step("),
    "search": (importlib.import_module("regard.decode.search"), "def search("),
    "beam": (beam, "class BeamSearch"),
    "greedy": (walk, "def greedy("),
}


class Place(TypedDict):
    file: str
    line: int


@functools.cache
def places() -> dict[str, Place]:
    """For each box, where to read on."""
    found = {
        box: _place(module, f'"{name}"')
        for module, boxes in _KEPT.items()
        for box, name in boxes.items()
    }
    return found | {box: _place(module, text) for box, (module, text) in _DEFINED.items()}


def _place(module: ModuleType, text: str) -> Place:
    lines = inspect.getsource(module).split("\n")
    if text.startswith('"'):
        numbers = [i for i, line in enumerate(lines, 1) if f"keep(trace, {text}" in line]
    else:
        numbers = [i for i, line in enumerate(lines, 1) if text in line]
    return {"file": f"src/{module.__name__.replace('.', '/')}.py", "line": numbers[0]}
