"""Runs over running text: what is read, held out and measured where the next piece or a blank is to be found."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch

from regard.config import DataConfig, TrainConfig
from regard.data.lm_batches import ProseStream, TextChunks, even_batches
from regard.data.masking import MASK, Masking
from regard.data.prose import Prose, encode_documents, read_prose
from regard.errors import TrainingError, UsageError
from regard.model.transformer import Model
from regard.text.tokenizer import Tokenizer, default_vocabulary
from regard.train.device import autocast
from regard.train.loss import Tensors, batch_loss
from regard.train.parallel import Processes
from regard.train.prefetch import to_tensors
from regard.train.prepare import save_tokenizers
from regard.train.progress import Validation
from regard.train.request import Plan
from regard.translate.evaluate import Perplexity

HELD_OUT_SHARE = 0.02
MOST_HELD_OUT = 400_000
"""characters"""
LEAST_DOCUMENTS = 50
"""of fewer none can be spared, and the end of the longest is held out"""
CHARACTERS_OF_A_PAIR = 200
"""by which as much running text is called as many pairs"""
NUM_SAMPLED = 2000
"""lines whose length is measured to estimate the tokens of the text"""
VALIDATION_SEED = 1
"""of the blanks, which are the same in all validations of all runs with one tokenizer"""


def read_texts(data: DataConfig, seed: int, say: Callable[[str], None]) -> tuple[Prose, Prose]:
    """Training and validation text; without validation files some is held out of the training."""
    for file in data.test_text:  # better known before the training
        read_prose([file], each_line=data.each_line, strict=True)
    advice = "mend it, or set strict=false to drop such lines"
    prose = read_prose(data.text, each_line=data.each_line, strict=data.strict, advice=advice)
    say(str(prose.report))
    if data.valid_text:
        valid = read_prose(data.valid_text, each_line=data.each_line, strict=True)
    else:
        prose, valid = hold_out(prose, seed)
        say(f"{valid.num_lines:,} lines held out for validation")
    say(f"{len(prose):,} documents of {prose.num_lines:,} lines")
    return prose, valid


def hold_out(prose: Prose, seed: int) -> tuple[Prose, Prose]:
    """Whole documents drawn at random; of few documents the last lines of the longest."""
    wanted = min(MOST_HELD_OUT, int(prose.num_characters * HELD_OUT_SHARE))
    if len(prose) < LEAST_DOCUMENTS:
        longest = max(range(len(prose)), key=lambda number: len(prose.documents[number]))
        lines = prose.documents[longest]
        count = max(1, round(len(lines) * wanted / sum(len(line) + 1 for line in lines)))
        if count >= len(lines):
            raise TrainingError(
                f"training needs at least two lines of a document: got {len(lines)}; give more text, or name "
                "a validation text"
            )
        kept = [*prose.documents]
        kept[longest] = lines[:-count]
        return Prose(kept), Prose([lines[-count:]])
    order = list(range(len(prose)))
    random.Random(seed).shuffle(order)
    held_out, size = set(), 0
    for number in order[: len(order) // 2]:
        if size >= wanted:
            break
        held_out.add(number)
        size += sum(len(line) + 1 for line in prose.documents[number])
    parts: tuple[Prose, Prose] = Prose([]), Prose([])
    for number, document in enumerate(prose.documents):
        parts[number in held_out].documents.append(document)
    return parts


def learn_tokenizer(
    data: DataConfig, prose: Prose, folder: Path, seed: int, *, masked: bool
) -> Tokenizer:
    if data.tokenizer_file:
        tokenizer = Tokenizer.load(data.tokenizer_file)
    else:
        tokenizer = Tokenizer.train(
            prose.lines(),
            vocabulary=data.vocabulary or default_vocabulary(as_pairs(prose)),
            kind=data.tokenizer,
            seed=seed,
            exact=data.vocabulary is not None,
            signs=[MASK] if masked else [],
        )
    save_tokenizers((tokenizer, tokenizer), folder)
    return tokenizer


def as_pairs(prose: Prose) -> int:
    """The number of pairs that would be as much text, by which settings are chosen."""
    return max(1, prose.num_characters // CHARACTERS_OF_A_PAIR)


def num_pieces(prose: Prose, tokenizer: Tokenizer) -> int:
    """TokenizerBase of the text, from an even sample of its lines."""
    stride = max(1, prose.num_lines // NUM_SAMPLED)
    sampled = list(islice(prose.lines(), 0, None, stride))
    found = sum(len(ids) + 1 for ids in tokenizer.encode_batch(sampled))
    num_characters = sum(len(line) + 1 for line in sampled)
    return round(found * prose.num_characters / num_characters)


def masking_for(settings: TrainConfig, tokenizer: Tokenizer) -> Masking | None:
    if settings.objective != "masked":
        return None
    return Masking(tokenizer, settings.mask_share, settings.mask_hidden, settings.mask_random)


def prose_stream(plan: Plan, prose: Prose, tokenizer: Tokenizer) -> ProseStream:
    assert plan.train.batch_tokens is not None
    if plan.model.position == "learned" and plan.data.max_length > plan.model.max_positions:
        raise UsageError(
            f"a row has at most as many tokens as the model has positions, {plan.model.max_positions}: got "
            f"max_length={plan.data.max_length}; lower it, or raise max_positions"
        )
    return ProseStream(
        _chunks(plan, prose, tokenizer),
        batch_tokens=plan.train.batch_tokens,
        packing=bool(plan.train.packing),
        masking=masking_for(plan.train, tokenizer),
        seed=plan.train.seed,
    )


def _chunks(plan: Plan, prose: Prose, tokenizer: Tokenizer) -> TextChunks:
    pieces = encode_documents(tokenizer, prose.documents)
    return TextChunks.of(pieces, plan.data.max_length, masked=plan.train.objective == "masked")


class ProseValidator:
    """A text that the training never sees, and how well a model foretells it."""

    def __init__(
        self,
        plan: Plan,
        prose: Prose,
        tokenizers: tuple[Tokenizer, Tokenizer],
        processes: Processes,
    ) -> None:
        self.tokenizers, self.settings, self.processes = tokenizers, plan.train, processes
        self._masking = masking_for(plan.train, tokenizers[1])
        self._chunks = _chunks(plan, prose, tokenizers[1])
        self._num_words = sum(len(line.split()) for line in prose.lines())

    def __call__(self, model: Model) -> Validation:
        return Validation(self.measure(model).loss, None)

    @torch.no_grad()
    def measure(self, model: Model, name: str = "") -> Perplexity:
        """Every piece once, after what stands before it in its row; or always the same blanks."""
        assert self.settings.batch_tokens is not None
        device = next(model.parameters()).device
        batches = even_batches(
            self._chunks, self.settings.batch_tokens, self._masking, VALIDATION_SEED
        )
        total, num_pieces = 0.0, 0.0
        for batch in islice(batches, self.processes.rank, None, self.processes.size):
            tensors = Tensors(*(tensor.to(device) for tensor in to_tensors(batch)))
            with autocast(device, self.settings.precision):
                sums = batch_loss(model, tensors, packed=False, longest=0, label_smoothing=0.0)
            total += float(sums.negative_log_likelihood)
            num_pieces += int((batch.target_output != model.config.pad_id).sum())
        total, num_pieces = self.processes.add(
            torch.tensor([total, num_pieces], dtype=torch.float64)
        ).tolist()
        words = None if self._masking else math.exp(min(total / self._num_words, 700.0))
        return Perplexity(
            loss=total / num_pieces, num_pieces=round(num_pieces), of_words=words, name=name
        )


def measure_texts(
    plan: Plan,
    model: Model,
    valid: Prose,
    tokenizers: tuple[Tokenizer, Tokenizer],
    processes: Processes,
) -> list[Perplexity]:
    """Of the validation text, and of each test text."""
    texts = [("validation", valid)]
    for file in plan.data.test_text:
        name = Path(file.removesuffix(".gz").removesuffix(".xz")).stem
        texts.append((name, read_prose([file], each_line=plan.data.each_line, strict=True)))
    return [
        ProseValidator(plan, prose, tokenizers, processes).measure(model, name)
        for name, prose in texts
    ]
