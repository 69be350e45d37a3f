"""A made-up corpus, a stream of batches over it, and what is in a batch."""

import random
from dataclasses import fields

import numpy as np

from regard.data.batch_stream import BatchStream, PairStream
from regard.data.batches import Batch
from regard.data.corpus import Corpus
from regard.text.tokenizer import Tokenizer


def texts(count: int, longest: int = 17) -> Corpus:
    """Every source differs, and names its target."""
    generator = random.Random(count)
    words = ["ka", "tomi", "re", "sunal", "bi", "dorando"]
    sources = []
    for number in range(count):
        drawn = generator.choices(words, k=generator.randrange(1, longest))
        sources.append(" ".join([str(number), *drawn]))
    return Corpus(sources, [f"{source} ya" for source in sources])


TOKENIZER = Tokenizer.train(texts(211).sources + texts(211).targets, vocabulary=300, kind="bpe", exact=False)
BOTH = (TOKENIZER, TOKENIZER)


def stream(corpus: Corpus, **changes: object) -> PairStream:
    values = dict(batch_tokens=509, packing=True, max_length=97, seed=3)
    return PairStream(corpus, BOTH, **{**values, **changes})  # type: ignore[arg-type]


def epoch(batches: BatchStream, number: int = 0) -> list[Batch]:
    taken = []
    for batch in batches:
        if batches.epoch > number:
            return taken
        if batches.epoch == number:
            taken.append(batch)
    raise AssertionError("a stream has no end")


def sequences(batch: Batch) -> list[tuple[list[int], list[int], list[int]]]:
    """Source, target input and target output of each real sequence, cut out by the lengths alone."""
    found = []
    source_end = target_end = 0
    lengths = zip(batch.source_lengths, batch.target_lengths, strict=True)
    for number, (source_length, target_length) in enumerate(lengths):
        row = 0 if batch.packed else number
        source_start, target_start = (source_end, target_end) if batch.packed else (0, 0)
        source_end, target_end = source_start + source_length, target_start + target_length
        target = slice(target_start, target_end)
        source = batch.source[row, source_start:source_end].tolist()
        arrays = (batch.target_input, batch.target_output)
        given, asked = (array[row, target].tolist() for array in arrays)
        found.append((source, given, asked))
    return [item for item in found if any(item[1])]


def same(left: Batch, right: Batch) -> bool:
    pairs = [[getattr(batch, field.name) for batch in (left, right)] for field in fields(Batch)]
    return all(np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None) for a, b in pairs)
