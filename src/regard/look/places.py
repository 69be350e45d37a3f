"""Where each box of the page is computed: the file and line where its value is kept in the trace."""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import TypedDict

from regard import decode
from regard.decode import beam, single_path
from regard.model import (
    attention,
    embedding,
    feedforward,
    network,
    norm,
    position,
    recurrent,
    transformer,
)
from regard.model.recurrent import attention as alignment
from regard.text import tokenizer

_KEPT = {
    embedding: "embedding input",
    attention: "query key value scores scaled masked weights context concatenated output",
    norm: "residual norm",
    feedforward: "hidden gate activated",
    transformer: "memory",
    network: "logits probabilities",
}
"""by file: the boxes, which have the names of the trace"""

_DEFINED = {
    "feed_forward": (feedforward, 'keep(trace, "output"'),
    "tokens": (tokenizer, "def encode("),
    "position": (position, "def sinusoidal("),
    "rotation": (position, "def rotate("),
    "attention": (attention, "def written_out("),
    "encoder": (transformer, "def encode("),
    "decoder": (transformer, "def decode("),
    "step": (transformer, "def step("),
    "search": (decode, "def search("),
    "beam": (beam, "class BeamSearch"),
    "greedy": (single_path, "class SinglePaths"),
}


_RECURRENT = {
    "memory": (recurrent, 'keep(trace, "memory"'),
    "attention": (alignment, "class Alignment("),
    "query": (alignment, '_keep(trace, "query"'),
    "scores": (alignment, '_keep(trace, "energies"'),
    "weights": (alignment, '_keep(trace, "weights"'),
    "context": (alignment, '_keep(trace, "context"'),
    "encoder": (recurrent, "def encode("),
    "decoder": (recurrent, "def decode("),
    "step": (recurrent, "def step("),
}
"""boxes that a recurrent model computes elsewhere"""


class Place(TypedDict):
    file: str
    line: int


@functools.cache
def places(is_recurrent: bool = False) -> dict[str, Place]:
    """The place of each box."""
    found = {
        box: _place(module, f'keep(trace, "{box}"')
        for module, boxes in _KEPT.items()
        for box in boxes.split()
    }
    defined = _DEFINED | (_RECURRENT if is_recurrent else {})
    return found | {box: _place(module, text) for box, (module, text) in defined.items()}


def text_of(place: Place) -> str:
    """The whole file."""
    name = place["file"].removeprefix("src/regard/")
    return (resources.files("regard") / name).read_text(encoding="utf-8")


def _place(module: ModuleType, text: str) -> Place:
    """The line with this text in the module's file, or in another file of its folder."""
    assert module.__file__ is not None
    own = Path(module.__file__)
    for path in (own, *sorted(own.parent.glob("*.py"))):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if text in line:
                folder = (module.__package__ or "").replace(".", "/")
                return {"file": f"src/{folder}/{path.name}", "line": number}
    raise AssertionError(f"{text} stands in no file beside {own.name}")
