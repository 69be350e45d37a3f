"""The torch engine with edited activations: what a search finds under an edit.

An edit is a function of one value of a pass, by the value's trace name. A pass over the whole target begins at
position 0, a cached step at the position of its one token. So edits are asked for by position, and an edit of
one word knows whether that word is in the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from regard.decode.interface import State
from regard.engine import pad
from regard.engine.torch import TorchEngine
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, Model, Translating
from regard.trace import Trace

Edits = Mapping[str, Callable[[Any], Any]]
EditsAt = Callable[[int], Edits]
"""From the position of a pass's first target word to the edits of that pass."""


class EditedEngine(TorchEngine):
    """Cached steps with the edits of their position; the source with those of position 0."""

    def __init__(self, model: Model, edits_at: EditsAt) -> None:
        super().__init__(model)
        self.edits_at = edits_at

    def _trace(self, position: int) -> Trace:
        return Trace(self.edits_at(position))


@dataclass(frozen=True)
class WrittenState:
    """The tokens so far and the encoder's output, no cache."""

    tokens: Tensor
    """[rows, written]"""
    memory: Tensor | None
    source_lengths: Tensor | None
    attention: Tensor | None = None

    def select(self, indices: Tensor) -> WrittenState:
        chosen = {
            name: values.index_select(0, indices)
            for name, values in vars(self).items()
            if values is not None
        }
        return replace(self, **chosen)


class UncachedEngine(EditedEngine):
    """Every step is one whole pass over the tokens so far.

    An edit that lets a word see later ones changes the earlier vectors with every new word, so that they
    cannot be cached.
    """

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> Any:
        empty = torch.zeros((len(sources), 0), dtype=torch.int64)
        if isinstance(self.model, DecoderOnly):
            return WrittenState(empty, None, None)
        source, lengths = (torch.from_numpy(each) for each in pad(sources, self.config.pad_id))
        layout = Layout.padded(lengths, source.shape[1])
        memory = cast(Translating, self.model).encode(source, layout, trace=self._trace(0))
        return WrittenState(empty, memory, lengths)

    @torch.inference_mode()
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Any]:
        written = cast(WrittenState, state)
        target = torch.cat([written.tokens, tokens[:, None]], dim=1)
        layout = Layout.padded(target.new_full((len(target),), target.shape[1]), target.shape[1])
        trace = self._trace(0)
        if isinstance(self.model, DecoderOnly):
            logits = self.model(target, layout, trace=trace)[:, -1]
        else:
            model = cast(Translating, self.model)
            assert written.memory is not None and written.source_lengths is not None
            source_layout = Layout.padded(written.source_lengths, written.memory.shape[1])
            hidden = model.decode(target, layout, written.memory, source_layout, trace=trace)
            logits = model.project(hidden[:, -1], trace=trace)
        return logits, replace(written, tokens=target, attention=self._attention_of(trace))
