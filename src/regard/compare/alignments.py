"""What a decoder attends to while it writes: alignment matrices, and how far two of them agree.

All models write the same references in the same tokens, so row i and column j of every matrix are the same tokens.
Two matrices agree on a target token where both attend most to the same source token. Where the links between the words
are known, a matrix is right on a target word where it attends most to a word that is linked to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.compare.study import AlignmentConfig
from regard.engine.torch import load_model
from regard.folder.checkpoint import open_tokenizers
from regard.model.transformer import Translating
from regard.text.tokenizer import EOS_ID
from regard.trace import cross_attentions
from regard.translate.trace import trace_pair

Links = Sequence[Sequence[int]]


def measure_alignments(
    folder: Path,
    sources: Sequence[str],
    references: Sequence[str],
    links: Sequence[Links] | None,
    config: AlignmentConfig,
) -> dict[str, Any] | None:
    """The most attended source token of every head and target token; None for a model without attention."""
    model, manifest = load_model(folder)
    assert isinstance(model, Translating)
    paths = cross_attentions(manifest.model)
    if not paths:
        return None
    source_tokenizer, target_tokenizer = open_tokenizers(folder, manifest.tokenizer)
    num_heads = 1 if manifest.model.is_recurrent else manifest.model.num_heads
    names = [f"layer {i + 1} head {j + 1}" for i in range(len(paths)) for j in range(num_heads)]
    sentences: list[dict[str, Any]] = []
    # The longest sentences that are short enough: they have the most to align.
    lengths = [len(each.split()) for each in sources]
    short = [i for i, length in enumerate(lengths) if length <= config.longest]
    for i in sorted(short, key=lambda i: (-lengths[i], i))[: config.num_scored]:
        read = source_tokenizer.encode(sources[i])
        written = target_tokenizer.encode(references[i])
        trace = trace_pair(model, [*read, EOS_ID], written)
        # The last row writes the end token, the last column reads it: neither is a word.
        layers = np.concatenate([trace[f"{path}.weights"] for path in paths])
        weights = layers[:, : len(written), : len(read)]
        sentence: dict[str, Any] = {"index": i, "most": weights.argmax(axis=-1).tolist()}
        if links is not None:
            spans = source_tokenizer.spans_in(sources[i]), target_tokenizer.spans_in(references[i])
            sentence["right"] = [
                right_share(each, sources[i], spans[0], references[i], spans[1], links[i])
                for each in weights
            ]
        if len(sentences) < config.num_shown:
            sentence["source"] = source_tokenizer.token_strings(read)
            sentence["target"] = target_tokenizer.token_strings(written)
            sentence["weights"] = weights.round(3).tolist()
        sentences.append(sentence)
    return {"sentences": sentences, "heads": names if len(names) > 1 else ["attention"]}


def agreement(first: Sequence[int], second: Sequence[int]) -> float:
    """The share of target tokens for which both attend most to the same source token.

    >>> agreement([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first)


def right_share(
    weights: np.ndarray,
    source: str,
    source_spans: Sequence[tuple[int, int]],
    target: str,
    target_spans: Sequence[tuple[int, int]],
    links: Links,
) -> float:
    """The share of linked target words that attend most to a word they are linked to.

    The weight between two words is the sum over their tokens.
    """
    words = np.zeros((len(target.split()), len(source.split())))
    rows, columns = word_of(target, target_spans), word_of(source, source_spans)
    np.add.at(words, np.ix_(rows, columns), weights)
    most = words.argmax(axis=1)
    return sum(int(most[j]) == i for i, j in links) / len({j for _, j in links})


def word_of(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The number of the word that each token belongs to; words are separated by spaces.

    >>> word_of("deux chats", [(0, 4), (4, 8), (8, 10)])
    [0, 1, 1]
    """
    # A token may begin with the space before its word.
    return [len(text[:end].split()) - 1 for _, end in spans]
