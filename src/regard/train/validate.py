"""How good the weights are now: loss and greedy BLEU on sentences the training never sees."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

import torch

from regard.config import DecodeConfig, Precision, TrainConfig
from regard.data.batches import batches_for_inference, padded_batches
from regard.data.corpus import Corpus
from regard.decode import search
from regard.engine.torch import TorchEngine
from regard.model.transformer import Translating
from regard.text.tokenizer import EOS_ID, Tokenizer
from regard.train.device import autocast
from regard.train.loss import Tensors, batch_loss
from regard.train.memory import is_out_of_memory
from regard.train.parallel import Processes
from regard.train.prefetch import to_tensors
from regard.train.progress import Validation
from regard.translate.evaluate import evaluate

MAX_TOKENS = {"cuda": 65536, "cpu": 8192}
"""of the sentences that are translated together, counted once for each hypothesis of the search"""


class Validator:
    """Validation sentences, and how to measure a model on them."""

    def __init__(
        self,
        corpus: Corpus,
        tokenizers: tuple[Tokenizer, Tokenizer],
        settings: TrainConfig,
        processes: Processes,
    ) -> None:
        self.corpus, self.tokenizers, self.processes = corpus, tokenizers, processes
        self.precision, self.wants_bleu = settings.precision, settings.metric == "bleu"
        assert settings.batch_tokens is not None
        self.batch_tokens = settings.batch_tokens

    def __call__(self, model: Translating) -> Validation:
        if not self.wants_bleu:
            return Validation(self.loss(model), None)
        greedy = DecodeConfig(method="greedy")
        hypotheses = self.processes.shared(
            lambda sources: translate_all(model, sources, self.tokenizers, greedy, self.precision),
            self.corpus.sources,
        )
        return Validation(self.loss(model), evaluate(hypotheses, self.corpus.targets).bleu)

    @torch.no_grad()
    def loss(self, model: Translating) -> float:
        """Plain cross-entropy for each target token."""
        device = next(model.parameters()).device
        total, num_targets = 0.0, 0.0
        source, target = (
            tokenizer.encode_batch(texts)
            for tokenizer, texts in zip(
                self.tokenizers, (self.corpus.sources, self.corpus.targets), strict=True
            )
        )
        batches = padded_batches(source, target, self.batch_tokens)
        for batch in islice(batches, self.processes.rank, None, self.processes.size):
            tensors = Tensors(*(tensor.to(device) for tensor in to_tensors(batch)))
            with autocast(device, self.precision):
                sums = batch_loss(model, tensors, packed=False, longest=0, label_smoothing=0.0)
            total += float(sums.negative_log_likelihood)
            num_targets += int((batch.target_output != model.config.pad_id).sum())
        total, num_targets = self.processes.add(
            torch.tensor([total, num_targets], dtype=torch.float64)
        ).tolist()
        return total / num_targets


def translate_all(
    model: Translating,
    sources: Sequence[str],
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: DecodeConfig,
    precision: Precision,
) -> list[str]:
    """One translation for each source, in their order."""
    source_tokenizer, target_tokenizer = tokenizers
    ids = [[*pieces, EOS_ID] for pieces in source_tokenizer.encode_batch(sources)]
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
                bos_id=model.config.bos_id,
                eos_id=model.config.eos_id,
                pad_id=model.config.pad_id,
            )
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or len(group) < 2:
                raise
            middle = len(group) // 2
            groups.extendleft((group[middle:], group[:middle]))
            continue
        for i, hypotheses in zip(group, found, strict=True):
            translations[i] = target_tokenizer.decode(hypotheses[0].tokens)
    return translations
