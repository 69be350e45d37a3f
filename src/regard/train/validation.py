"""Validation: the loss of held-out text, and BLEU, retrieval or perplexity, by the objective."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import DecodeConfig, Precision, TrainConfig
from regard.data.batches import Batch, batches_for_inference, padded_batches
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText
from regard.decode import search
from regard.engine import pad
from regard.engine.torch import TorchEngine
from regard.model.encoder import sentence_vectors
from regard.model.layout import Layout
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.text.tokenizer import EOS_ID, TokenizerBase
from regard.train.batches import chunks_for, to_tensors
from regard.train.corpora import Text, Tokenizers
from regard.train.diagnosis import MIN_GAIN
from regard.train.loss import Tensors, autocast, batch_loss, pair_loss
from regard.train.memory import is_out_of_memory
from regard.train.parallel import Processes
from regard.train.plan import Plan
from regard.train.progress import Validation
from regard.translate.evaluate import Perplexity, Retrieval, evaluate, retrieval

QUERIES_AT_ONCE = 1024  # Number of queries whose scores are in memory together, about a training batch.
VALIDATION_SEED = 1  # Seed of the validation masks: the same in all validations of all runs with one tokenizer.


def make_validator(
    plan: Plan, valid: Text, tokenizers: Tokenizers, processes: Processes
) -> Callable[[Any], Validation]:
    settings = plan.train
    if isinstance(valid, RunningText):
        measure = perplexity_of(plan, valid, tokenizers, processes)
        return lambda model: Validation(measure(model).loss, None)
    if settings.objective == "contrastive":
        return lambda model: Validation(retrieval_loss(model, valid, tokenizers[0], settings), None)

    helped: list[float] = []

    def translate(model: Translating, sources: Sequence[str]) -> list[str]:
        return translate_all(model, sources, tokenizers, DecodeConfig(method="greedy"), settings.precision)

    def validate(model: Translating) -> Validation:
        """Loss and greedy BLEU; only the loss where it is the metric."""
        bleu = None
        if settings.metric == "bleu":
            bleu = evaluate(processes.shared(partial(translate, model), valid.sources), valid.targets).bleu
        loss = translation_loss(model, valid, tokenizers, settings, processes)
        if helped or len(valid) < 2:
            return Validation(loss, bleu)
        others = Corpus([*valid.sources[1:], valid.sources[0]], valid.targets)
        exchanged = translation_loss(model, others, tokenizers, settings, processes)
        if exchanged - loss > MIN_GAIN * loss:
            helped.append(exchanged)
        return Validation(loss, bleu, exchanged)

    return validate


def translation_loss(
    model: Translating, corpus: Corpus, tokenizers: Tokenizers, settings: TrainConfig, processes: Processes
) -> float:
    """Plain cross-entropy for each target token."""
    assert settings.batch_tokens is not None
    source = tokenizers[0].encode_inputs(corpus.sources)
    target = tokenizers[1].encode_inputs(corpus.targets)
    batches = padded_batches(source, target, settings.batch_tokens, tokenizers[1])
    total, num_targets = total_loss(model, batches, settings.precision, processes)
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
    model: Translating, sources: Sequence[str], tokenizers: Tokenizers, config: DecodeConfig, precision: Precision
) -> list[str]:
    """One translation for each source, in their order."""
    ids = [[*tokens, model.config.eos_id] for tokens in tokenizers[0].encode_inputs(sources)]
    device = next(model.parameters()).device
    engine = TorchEngine(model, str(device), precision)
    num_paths = config.beam if config.method == "beam" else 1
    groups = deque(batches_for_inference(ids, _max_tokens(device) // num_paths))
    translations = [""] * len(ids)
    while groups:
        group = groups.popleft()
        try:
            found = search(engine, [ids[i] for i in group], config)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or len(group) < 2:
                raise
            middle = len(group) // 2
            groups.extendleft((group[middle:], group[:middle]))
            continue
        for i, hypotheses in zip(group, found, strict=True):
            translations[i] = tokenizers[1].decode(hypotheses[0].tokens)
    return translations


def retrieval_loss(model: EncoderOnly, corpus: Corpus, tokenizer: TokenizerBase, settings: TrainConfig) -> float:
    """The contrastive loss of the pairs, in their order."""
    queries, passages = (
        text_vectors(model, tokenizer, texts, settings.precision) for texts in (corpus.sources, corpus.targets)
    )
    total, temperature = 0.0, settings.contrast_temperature
    for some, theirs in zip(queries.split(QUERIES_AT_ONCE), passages.split(QUERIES_AT_ONCE), strict=True):
        counts = torch.ones(len(some), dtype=torch.bool, device=some.device)
        total += float(pair_loss(some, theirs, counts, temperature)) * len(some)
    return total / len(queries)


def retrieval_score(
    model: EncoderOnly,
    tokenizer: TokenizerBase,
    sources: Sequence[str],
    targets: Sequence[str],
    precision: Precision,
    name: str = "",
) -> Retrieval:
    """The rank of each source's target among all targets; equal targets count as one."""
    distinct = list(dict.fromkeys(targets))
    numbers = {text: number for number, text in enumerate(distinct)}
    passages = text_vectors(model, tokenizer, distinct, precision)
    queries = text_vectors(model, tokenizer, sources, precision)
    right = torch.tensor([numbers[text] for text in targets], device=queries.device)
    ranks: list[int] = []
    for some, theirs in zip(queries.split(QUERIES_AT_ONCE), right.split(QUERIES_AT_ONCE), strict=True):
        scores = some @ passages.T
        better = scores > scores.gather(1, theirs[:, None])
        ranks += (better.sum(dim=1) + 1).tolist()
    return retrieval(ranks, name=name)


@torch.no_grad()
def text_vectors(
    model: EncoderOnly, tokenizer: TokenizerBase, texts: Sequence[str], precision: Precision
) -> Float[Tensor, "texts d_model"]:
    ids = [[*tokens, EOS_ID] for tokens in tokenizer.encode_batch(texts)]
    device = next(model.parameters()).device
    vectors = torch.empty(len(ids), model.config.d_model, device=device)
    for group in batches_for_inference(ids, _max_tokens(device)):
        tokens, lengths = pad([ids[i] for i in group], model.config.pad_id)
        layout = Layout.padded(torch.from_numpy(lengths).to(device), tokens.shape[1])
        with autocast(device, precision):
            memory = model.encode(torch.from_numpy(tokens).to(device), layout)
        vectors[torch.tensor(group, device=device)] = sentence_vectors(memory, layout)
    return vectors


def _max_tokens(device: torch.device) -> int:
    """Maximum tokens in a batch of inference; a beam counts each hypothesis."""
    return 65536 if device.type == "cuda" else 8192


def perplexity_of(
    plan: Plan, text: RunningText, tokenizers: Tokenizers, processes: Processes, name: str = ""
) -> Callable[[Model], Perplexity]:
    """A measure of held-out running text: each token once, after those before it in its row; or always the same masks."""
    settings = plan.train
    chunks = chunks_for(plan, text, tokenizers[1])
    num_words = sum(len(line.split()) for line in text.lines())

    def measure(model: Model) -> Perplexity:
        assert settings.batch_tokens is not None
        batches = chunks.even_batches(settings.batch_tokens, VALIDATION_SEED)
        total, num_tokens = total_loss(model, batches, settings.precision, processes)
        words = None if chunks.masking else math.exp(min(total / num_words, 700.0))
        return Perplexity(loss=total / num_tokens, num_tokens=round(num_tokens), of_words=words, name=name)

    return measure
