"""One sentence through the model, every value kept: what the search saw, and one full pass over its output.

Needs torch. Arrays are those of a single sentence: the batch axis is taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from regard.config import DecodeConfig, to_dict
from regard.decode import StepRecord, search
from regard.engine.torch import TorchEngine
from regard.model.layout import Layout
from regard.model.transformer import EncoderDecoder
from regard.trace import Trace

Edits = Mapping[str, Callable[[Any], Any]]


def trace_search(
    model: EncoderDecoder, source: Sequence[int], config: DecodeConfig, edits: Edits | None = None
) -> Trace:
    """The trace of the best output that the search finds, and of the search."""
    history: list[StepRecord] = []
    [hypotheses] = search(
        TorchEngine(model),
        [source],
        config,
        bos_id=model.config.bos_id,
        eos_id=model.config.eos_id,
        pad_id=model.config.pad_id,
        history=history,
    )
    trace = trace_pair(model, source, hypotheses[0].tokens, edits)
    for step, record in enumerate(history):
        for name in ("beams", "scores", "top_tokens", "top_probabilities"):
            trace.record(f"steps.{step}.{name}", getattr(record, name))
    return trace


@torch.inference_mode()
def trace_pair(
    model: EncoderDecoder, source: Sequence[int], target: Sequence[int], edits: Edits | None = None
) -> Trace:
    """The trace of one full masked pass over a source (its end included) and a target (without ends)."""
    tokens = [model.config.bos_id, *target]
    batched = Trace(edits)
    model(
        torch.tensor([source]),
        Layout.padded(torch.tensor([len(source)]), len(source)),
        torch.tensor([tokens]),
        Layout.padded(torch.tensor([len(tokens)]), len(tokens)),
        trace=batched,
    )
    trace = Trace()
    for name, value in batched.items():
        trace.record(name, value[0].numpy())
    trace.metadata["config"] = to_dict(model.config)
    return trace
