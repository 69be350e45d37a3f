"""A text through the pipeline with every value kept: its stages, what the search saw, and one full pass over its output.

The text is translated by the translator's own engine, so a trace ends in the text that `translate` gives. Then torch makes
one masked pass over exactly the tokens that were read and written. Arrays are those of one sentence, without batch axis.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.config import DecodeConfig, to_dict
from regard.decode import Constraints, EnsembleModel, Hypothesis, StepModel, StepRecord
from regard.engine.torch import Edits, TorchEngine, UncachedEngine
from regard.errors import UsageError
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, EncoderOnly, Model
from regard.text.normalise import known_signs
from regard.trace import Trace
from regard.translate.pipeline import Translator
from regard.translate.search import DEFAULT_OPTIONS, SearchInput, TranslateOptions, search_in_batches
from regard.translate.translation import Sentence, Translation

STAGES = ("given", "normalised", "protected", "written", "restored")


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """The hypotheses of a search, best first, and a record of each of its steps."""

    hypotheses: list[Hypothesis]
    history: list[StepRecord]


@dataclass(frozen=True, slots=True)
class TranslationRecord:
    """A translation, and the record of the search of one of its sentences."""

    translation: Translation
    sentence: int
    source: list[int]  # tokens that the encoder read of that sentence, its end included
    search: SearchRecord  # empty where the sentence was copied, or the text has none

    @property
    def output(self) -> list[int]:
        """Tokens that the model wrote, without beginning and end."""
        return self.search.hypotheses[0].tokens if self.search.hypotheses else []

    def stages(self) -> dict[str, Any]:
        """The metadata of a trace: the text at every stage, whole and sentence by sentence."""
        translation = self.translation
        return {
            **{f"text.{name}": translation.stage(name) for name in STAGES},
            "sentences": [each.stages for each in searched_sentences(translation)],
            "sentence": self.sentence,
        }


def translate_recorded(
    translator: Translator,
    text: str,
    decode: DecodeConfig,
    options: TranslateOptions = DEFAULT_OPTIONS,
    sentence: int = 0,
) -> TranslationRecord:
    """Translate a text as `translate` does, and search one of its sentences again with a record of each step."""
    if options.mbr or isinstance(translator.engine, EnsembleModel):
        raise UsageError("a trace must be of one search by one model: got mbr or an ensemble; leave it out")
    history: list[StepRecord] = []
    recorded = copy.copy(translator)
    # An engine's own search, which is faster, has no steps to record.
    if isinstance(translator.engine, TorchEngine) and translator.engine.search_whole is None:
        recorded.history = history
    [translation] = recorded.translate([text], decode, options)
    sentences = searched_sentences(translation)
    if sentence and not 0 <= sentence < len(sentences):
        raise UsageError(
            f"sentence must be one of the text's: got number {sentence + 1} of {len(sentences)}; choose an earlier one"
        )
    chosen = sentences[sentence] if sentences else None
    if chosen is None or chosen.search is None:
        source = [*translator.source.beginning, translator.config.eos_id]
        return TranslationRecord(translation, sentence, source, SearchRecord([], []))
    if not history or len(sentences) > 1:
        history.clear()
        search_in_batches(translator.engine, [chosen.search], history)
    found = chosen.candidates
    hypotheses = [Hypothesis(a.token_ids, a.score, a.log_probability, a.token_log_probabilities, a.stop) for a in found]
    return TranslationRecord(translation, sentence, chosen.search.source, SearchRecord(hypotheses, history))


def searched_sentences(translation: Translation) -> list[Sentence]:
    """The sentences of a text as the model read them: parts stand for a sentence that was translated in parts."""
    return [one for each in translation.sentences for one in each.searched]


def search_recorded(
    engine: StepModel, source: Sequence[int], config: DecodeConfig, prefix: Sequence[int] = ()
) -> SearchRecord:
    """Search for the outputs of one source (empty for a decoder-only model) that begin with a prefix."""
    history: list[StepRecord] = []
    searched = SearchInput(list(source), config, Constraints(prefix))
    [hypotheses] = search_in_batches(engine, [searched], history)
    return SearchRecord(hypotheses, history)


def trace_text(
    translator: Translator,
    model: Model,
    text: str,
    target: str | None,
    *,
    decode: DecodeConfig | None,
    options: TranslateOptions = DEFAULT_OPTIONS,
    sentence: int = 0,
    edits: Edits | None = None,
) -> Trace:
    """The trace of a text and its target, or, with a search configuration, of the one that the search finds.

    With edits torch searches too, and each edit sees the whole of what is written so far. A model that goes on from a
    text reads it as the beginning of its target.
    """
    manifest, own = translator.manifest, translator.target
    has_encoder = manifest.model.has_encoder
    source = translator.source_ids(text, options.plain) if has_encoder else []
    given = [] if has_encoder else own.encode(known_signs(text, own))
    history: list[StepRecord] = []
    metadata: dict[str, Any] = {}
    engine = UncachedEngine(model, edits_at=lambda position: edits) if edits else TorchEngine(model)
    if decode is not None and manifest.task == "translate":
        if edits:
            translator = Translator(engine, manifest, translator.source, own)
        record = translate_recorded(translator, text, decode, options, sentence)
        source, output, history = record.source, record.output, record.search.history
        metadata = {**record.stages(), "target": record.translation.text}
    elif decode is not None:
        found = search_recorded(engine, source, decode, given)
        output, history = found.hypotheses[0].tokens, found.history
    else:
        output = [*own.beginning, *given, *own.encode(target or "")]
        if manifest.task == "translate":
            read = text if options.plain else translator.normaliser(text)
            stages = dict(zip(STAGES, (text, read, read, target, target), strict=True))
            whole = {f"text.{name}": stage for name, stage in stages.items()}
            metadata = {**whole, "sentences": [stages], "sentence": 0}
    trace = trace_pair(model, source, output, edits)
    trace.check_names(edits or ())
    record_run(trace, translator, text, history)
    trace.metadata |= metadata
    return trace


def record_run(trace: Trace, translator: Translator, text: str, history: Sequence[StepRecord]) -> None:
    """Add to the trace of a full pass what the search saw, and the text and the strings of its tokens."""
    for step, record in enumerate(history):
        for name in ("beams", "scores", "top_tokens", "top_probabilities"):
            trace.record(f"steps.{step}.{name}", getattr(record, name))
    names = ("source.tokens", "target.tokens")
    source_tokens, target_tokens = (trace[name].tolist() if name in trace else [] for name in names)
    trace.metadata |= {
        "source": text,
        "target": translator.target.decode(target_tokens),
        "source_tokens": translator.source.token_strings(source_tokens),
        "target_tokens": translator.target.token_strings(target_tokens),
        "source_language": translator.manifest.source_language,
        "target_language": translator.manifest.target_language,
    }


def trace_pair(model: Model, source: Sequence[int], target: Sequence[int], edits: Edits | None = None) -> Trace:
    """The trace of one full masked pass over a source (its end included) and a target (without ends).

    A decoder-only model has no source, an encoder-only one no target: it is empty.
    """
    trace = Trace()
    for name, value in trace_copies(model, source, target, edits).items():
        trace.record(name, value[0].numpy())
    trace.metadata["config"] = to_dict(model.config)
    return trace


@torch.inference_mode()
def trace_copies(
    model: Model, source: Sequence[int], target: Sequence[int], edits: Edits | None = None, copies: int = 1
) -> Trace:
    """The same for several copies of the sentence in one batch, each of which an edit may change in its own way."""
    trace = Trace(edits)
    full_pass(model, source, target, trace, copies)
    return trace


def full_pass(model: Model, source: Sequence[int], target: Sequence[int], trace: Trace, copies: int = 1) -> None:
    """Record every value of a pass; with gradients where torch is told to keep them."""

    def batch(tokens: Sequence[int]) -> tuple[torch.Tensor, Layout]:
        return torch.tensor([tokens] * copies), Layout.padded(torch.tensor([len(tokens)] * copies), len(tokens))

    written = batch([model.config.bos_id, *target])
    if isinstance(model, DecoderOnly):
        model(*written, trace=trace)
    elif isinstance(model, EncoderOnly):
        model(*batch(source), trace=trace)
    else:
        model(*batch(source), *written, trace=trace)
