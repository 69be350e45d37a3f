"""Validation: the loss of held-out text, and BLEU, retrieval or perplexity, by the objective."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import DecodeConfig, Precision, TrainConfig
from regard.data.batches import Batch, Masking, batches_for_inference, padded_batches
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText, TextChunks, encode_documents
from regard.decode import search
from regard.engine import pad
from regard.engine.torch import TorchEngine
from regard.model.layout import Layout
from regard.model.pooling import sentence_vectors
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.text.tokenizer import EOS_ID, Tokenizer
from regard.train.device import autocast
from regard.train.loss import Tensors, batch_loss, pair_loss
from regard.train.memory import is_out_of_memory
from regard.train.parallel import Processes
from regard.train.plan import Plan
from regard.train.prefetch import to_tensors
from regard.train.progress import Validation
from regard.translate.evaluate import Perplexity, Retrieval, evaluate, retrieval

MAX_TOKENS = {"cuda": 65536, "cpu": 8192}
"""Maximum tokens in a batch of inference, by device; a beam counts each hypothesis."""
QUERIES_AT_ONCE = 1024
"""Number of queries whose scores are in memory together, about a training batch."""
VALIDATION_SEED = 1
"""Seed of the validation masks: the same in all validations of all runs with one tokenizer."""


@dataclass(frozen=True)
class Validator:
    """Loss and greedy BLEU on validation pairs."""

    corpus: Corpus
    tokenizers: tuple[Tokenizer, Tokenizer]
    settings: TrainConfig
    processes: Processes

    def __call__(self, model: Translating) -> Validation:
        if self.settings.metric != "bleu":
            return Validation(self.loss(model), None)
        greedy, precision = DecodeConfig(method="greedy"), self.settings.precision
        hypotheses = self.processes.shared(
            lambda sources: translate_all(model, sources, self.tokenizers, greedy, precision),
            self.corpus.sources,
        )
        return Validation(self.loss(model), evaluate(hypotheses, self.corpus.targets).bleu)

    def loss(self, model: Translating) -> float:
        """Plain cross-entropy for each target token."""
        assert self.settings.batch_tokens is not None
        source = self.tokenizers[0].encode_batch(self.corpus.sources)
        target = self.tokenizers[1].encode_batch(self.corpus.targets)
        batches = padded_batches(source, target, self.settings.batch_tokens)
        total, num_targets = total_loss(model, batches, self.settings.precision, self.processes)
        return total / num_targets


@torch.no_grad()
def total_loss(
    model: Model, batches: Iterable[Batch], precision: Precision, processes: Processes
) -> tuple[float, float]:
    """Summed plain cross-entropy and the number of target tokens; each process computes some batches."""
    device = next(model.parameters()).device
    total, num_targets = 0.0, 0.0
    for batch in islice(batches, processes.rank, None, processes.size):
        tensors = Tensors(*(tensor.to(device) for tensor in to_tensors(batch)))
        with autocast(device, precision):
            sums = batch_loss(model, tensors, packed=False, longest=0, label_smoothing=0.0)
        total += float(sums.negative_log_likelihood)
        num_targets += int((batch.target_output != model.config.pad_id).sum())
    counts = torch.tensor([total, num_targets], dtype=torch.float64)
    total, num_targets = processes.add(counts).tolist()
    return total, num_targets


def translate_all(
    model: Translating,
    sources: Sequence[str],
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: DecodeConfig,
    precision: Precision,
) -> list[str]:
    """One translation for each source, in their order."""
    ids = [[*tokens, EOS_ID] for tokens in tokenizers[0].encode_batch(sources)]
    device = next(model.parameters()).device
    engine = TorchEngine(model, str(device), precision)
    max_tokens = MAX_TOKENS.get(device.type, MAX_TOKENS["cpu"])
    translations = [""] * len(ids)
    num_paths = config.beam if config.method == "beam" else 1
    groups = deque(batches_for_inference(ids, max_tokens // num_paths))
    while groups:
        group = groups.popleft()
        try:
            found = search(
                engine,
                [ids[i] for i in group],
                config,
            )
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or len(group) < 2:
                raise
            middle = len(group) // 2
            groups.extendleft((group[middle:], group[:middle]))
            continue
        for i, hypotheses in zip(group, found, strict=True):
            translations[i] = tokenizers[1].decode(hypotheses[0].tokens)
    return translations


@dataclass(frozen=True)
class RetrievalValidator:
    """The contrastive loss on validation pairs, in their order."""

    corpus: Corpus
    tokenizers: tuple[Tokenizer, Tokenizer]
    settings: TrainConfig

    def __call__(self, model: EncoderOnly) -> Validation:
        queries, passages = (
            text_vectors(model, self.tokenizers[0], texts, self.settings.precision)
            for texts in (self.corpus.sources, self.corpus.targets)
        )
        total = 0.0
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            part = slice(start, start + QUERIES_AT_ONCE)
            counts = torch.ones(len(queries[part]), dtype=torch.bool, device=queries.device)
            loss = pair_loss(
                queries[part], passages[part], counts, self.settings.contrast_temperature
            )
            total += float(loss) * len(counts)
        return Validation(total / len(queries), None)


def retrieval_score(
    model: EncoderOnly,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    precision: Precision,
    name: str = "",
) -> Retrieval:
    """The rank of each source's target among all targets; equal targets count as one."""
    distinct = list(dict.fromkeys(targets))
    numbers = {text: number for number, text in enumerate(distinct)}
    queries = text_vectors(model, tokenizer, sources, precision)
    passages = text_vectors(model, tokenizer, distinct, precision)
    ranks: list[int] = []
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        part = slice(start, start + QUERIES_AT_ONCE)
        scores = queries[part] @ passages.T
        right = torch.tensor([numbers[text] for text in targets[part]], device=scores.device)
        better = scores > scores.gather(1, right[:, None])
        ranks += (better.sum(dim=1) + 1).tolist()
    return retrieval(ranks, name=name)


@torch.no_grad()
def text_vectors(
    model: EncoderOnly, tokenizer: Tokenizer, texts: Sequence[str], precision: Precision
) -> Float[Tensor, "texts d_model"]:
    ids = [[*tokens, EOS_ID] for tokens in tokenizer.encode_batch(texts)]
    device = next(model.parameters()).device
    vectors = torch.empty(len(ids), model.config.d_model, device=device)
    for group in batches_for_inference(ids, MAX_TOKENS.get(device.type, MAX_TOKENS["cpu"])):
        tokens, lengths = pad([ids[i] for i in group], model.config.pad_id)
        layout = Layout.padded(torch.from_numpy(lengths).to(device), tokens.shape[1])
        with autocast(device, precision):
            memory = model.encode(torch.from_numpy(tokens).to(device), layout)
        vectors[torch.tensor(group, device=device)] = sentence_vectors(memory, layout)
    return vectors


class TextValidator:
    """Perplexity on held-out running text."""

    def __init__(
        self,
        plan: Plan,
        text: RunningText,
        tokenizers: tuple[Tokenizer, Tokenizer],
        processes: Processes,
    ) -> None:
        self.settings, self.processes = plan.train, processes
        self._masking = masking_for(plan.train, tokenizers[1])
        self._chunks = chunks_for(plan, text, tokenizers[1])
        self._num_words = sum(len(line.split()) for line in text.lines())

    def __call__(self, model: Model) -> Validation:
        return Validation(self.measure(model).loss, None)

    def measure(self, model: Model, name: str = "") -> Perplexity:
        """Each token once, after those before it in its row; or always the same masks."""
        assert self.settings.batch_tokens is not None
        batches = self._chunks.even_batches(
            self.settings.batch_tokens, self._masking, VALIDATION_SEED
        )
        total, num_tokens = total_loss(model, batches, self.settings.precision, self.processes)
        words = None if self._masking else math.exp(min(total / self._num_words, 700.0))
        return Perplexity(
            loss=total / num_tokens, num_tokens=round(num_tokens), of_words=words, name=name
        )


def masking_for(settings: TrainConfig, tokenizer: Tokenizer) -> Masking | None:
    if settings.objective != "masked":
        return None
    return Masking(tokenizer, settings.mask_share, settings.mask_hidden, settings.mask_random)


def chunks_for(plan: Plan, text: RunningText, tokenizer: Tokenizer) -> TextChunks:
    tokens = encode_documents(tokenizer, text.documents)
    return TextChunks.of(tokens, plan.data.max_length, masked=plan.train.objective == "masked")
