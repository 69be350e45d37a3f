"""One sentence through the model, every value kept: what the search saw, and one full pass over its output.

Needs torch. Arrays are those of a single sentence: the batch axis is taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.config import DecodeConfig, to_dict
from regard.decode import Constraints, Hypothesis, StepRecord, search
from regard.engine.edited import Edits, UncachedEngine
from regard.engine.torch import TorchEngine
from regard.generate.blanks import with_blanks
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, EncoderOnly, Model
from regard.text.alphabet import in_known_signs
from regard.trace import Trace
from regard.translate.translator import Translator


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first, and what it saw on its way, a record for each step."""

    hypotheses: list[Hypothesis]
    history: list[StepRecord]


def find(
    engine: TorchEngine, source: Sequence[int], config: DecodeConfig, prefix: Sequence[int] = ()
) -> Found:
    """Search for the outputs of one source (empty for a decoder-only model) that begin with a prefix."""
    history: list[StepRecord] = []
    [hypotheses] = search(
        engine,
        [source],
        config,
        bos_id=engine.config.bos_id,
        eos_id=engine.config.eos_id,
        pad_id=engine.config.pad_id,
        constraints=[Constraints(prefix=prefix)] if prefix else None,
        history=history,
    )
    return Found(hypotheses, history)


def trace_text(
    translator: Translator,
    model: Model,
    source: str,
    target: str | None,
    *,
    search: DecodeConfig | None,
    edits: Edits | None,
) -> Trace:
    """The trace of a text and its target, or of the one that a search finds; with what was read and written.

    A model that goes on from a text reads it as the beginning of its target.
    """
    manifest, own = translator.manifest, translator.target
    has_encoder = manifest.model.has_encoder
    ids = with_blanks(manifest, translator.source, source) if has_encoder else []
    given = [] if has_encoder else own.encode(in_known_signs(source, own))
    if search is not None:
        trace = trace_search(model, ids, search, edits, given)
    else:
        trace = trace_pair(model, ids, [*own.beginning, *given, *own.encode(target or "")], edits)
        trace.check_names(edits or ())
    read, written = (
        trace[f"{side}.tokens"].tolist() if f"{side}.tokens" in trace else []
        for side in ("source", "target")
    )
    trace.metadata |= {
        "source": source,
        "target": own.decode(written),
        "source_pieces": translator.source.token_strings(read),
        "target_pieces": own.token_strings(written),
        "source_language": manifest.source_language,
        "target_language": manifest.target_language,
    }
    return trace


def trace_search(
    model: Model,
    source: Sequence[int],
    config: DecodeConfig,
    edits: Edits | None = None,
    prefix: Sequence[int] = (),
) -> Trace:
    """The trace of the best output that the search finds, and of the search; both under the edits.

    An edit sees the whole of what is written so far in each step, as it does in the pass that is traced.
    """
    engine = UncachedEngine(model, lambda position: edits) if edits else TorchEngine(model)
    found = find(engine, source, config, prefix)
    trace = trace_pair(model, source, found.hypotheses[0].tokens, edits)
    trace.check_names(edits or ())
    record_steps(trace, found.history)
    return trace


def record_steps(trace: Trace, history: Sequence[StepRecord]) -> None:
    """Add what the search saw."""
    for step, record in enumerate(history):
        for name in ("beams", "scores", "top_tokens", "top_probabilities"):
            trace.record(f"steps.{step}.{name}", getattr(record, name))


@torch.inference_mode()
def trace_pair(
    model: Model, source: Sequence[int], target: Sequence[int], edits: Edits | None = None
) -> Trace:
    """The trace of one full masked pass over a source (its end included) and a target (without ends).

    A decoder-only model has no source, an encoder-only one no target: it is empty.
    """
    tokens = [model.config.bos_id, *target]
    written = (torch.tensor([tokens]), Layout.padded(torch.tensor([len(tokens)]), len(tokens)))
    batched = Trace(edits)
    if isinstance(model, DecoderOnly):
        model(*written, trace=batched)
    else:
        read = (torch.tensor([source]), Layout.padded(torch.tensor([len(source)]), len(source)))
        if isinstance(model, EncoderOnly):
            model(*read, trace=batched)
        else:
            model(*read, *written, trace=batched)
    trace = Trace()
    for name, value in batched.items():
        trace.record(name, value[0].numpy())
    trace.metadata["config"] = to_dict(model.config)
    return trace
