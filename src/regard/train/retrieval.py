"""How well a model finds: each source of a set looks for its own target among all of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import Precision, TrainConfig
from regard.data.batches import batches_for_inference
from regard.data.corpus import Corpus
from regard.engine import pad
from regard.model.layout import Layout
from regard.model.pooling import sentence_vectors
from regard.model.transformer import EncoderOnly
from regard.text.tokenizer import EOS_ID, Tokenizer
from regard.train.device import autocast
from regard.train.loss import pair_loss
from regard.train.progress import Validation
from regard.translate.evaluate import Retrieval, retrieval

MAX_TOKENS = {"cuda": 65536, "cpu": 8192}
"""of the texts that are read together"""
QUERIES_AT_ONCE = 1024
"""of a loss, whose scores all lie in memory together: about as many as in a batch of training"""


class RetrievalValidator:
    """Validation pairs, and how well a model tells them apart."""

    def __init__(
        self, corpus: Corpus, tokenizers: tuple[Tokenizer, Tokenizer], settings: TrainConfig
    ) -> None:
        self.corpus, self.tokenizers = corpus, tokenizers
        self.precision, self.temperature = settings.precision, settings.contrast_temperature

    def __call__(self, model: EncoderOnly) -> Validation:
        """The loss of training over pairs in the order of the set."""
        queries, passages = _both(
            model, self.tokenizers[0], self.corpus.sources, self.corpus.targets, self.precision
        )
        total = 0.0
        for parts in zip(
            queries.split(QUERIES_AT_ONCE), passages.split(QUERIES_AT_ONCE), strict=True
        ):
            counts = torch.ones(len(parts[0]), dtype=torch.bool, device=queries.device)
            total += float(pair_loss(*parts, counts, self.temperature)) * len(parts[0])
        return Validation(total / len(queries), None)


def find_own(
    model: EncoderOnly,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    precision: Precision,
    name: str = "",
) -> Retrieval:
    """The place of each source's target among all targets; those that are the same text count as one."""
    different = list(dict.fromkeys(targets))
    numbers = {text: number for number, text in enumerate(different)}
    queries, passages = _both(model, tokenizer, sources, different, precision)
    places: list[int] = []
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        part = slice(start, start + QUERIES_AT_ONCE)
        scores = queries[part] @ passages.T
        right = torch.tensor([numbers[text] for text in targets[part]], device=scores.device)
        better = scores > scores.gather(1, right[:, None])
        places += (better.sum(dim=1) + 1).tolist()
    return retrieval(places, name=name)


def _both(
    model: EncoderOnly,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    precision: Precision,
) -> tuple[Float[Tensor, "sources d_model"], Float[Tensor, "targets d_model"]]:
    return (
        vectors_of(model, tokenizer, sources, precision),
        vectors_of(model, tokenizer, targets, precision),
    )


@torch.no_grad()
def vectors_of(
    model: EncoderOnly, tokenizer: Tokenizer, texts: Sequence[str], precision: Precision
) -> Float[Tensor, "texts d_model"]:
    """A vector for each text, in their order."""
    ids = [[*pieces, EOS_ID] for pieces in tokenizer.encode_batch(texts)]
    device = next(model.parameters()).device
    found = torch.empty(len(ids), model.config.d_model, device=device)
    for group in batches_for_inference(ids, MAX_TOKENS.get(device.type, MAX_TOKENS["cpu"])):
        tokens, lengths = pad([ids[i] for i in group], model.config.pad_id)
        layout = Layout.padded(torch.from_numpy(lengths).to(device), tokens.shape[1])
        with autocast(device, precision):
            memory = model.encode(torch.from_numpy(tokens).to(device), layout)
        found[torch.tensor(group, device=device)] = sentence_vectors(memory, layout)
    return found
