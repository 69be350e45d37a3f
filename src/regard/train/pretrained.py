"""Embedding tables that start from word vectors of others, and stay as they are where that is asked for.

A row is filled in where a piece of the vocabulary is a whole word that the vectors have, as it is written or in small
letters; all other rows begin as usual. One factor brings the vectors to the size of fresh rows, so that neither
kind drowns the other; directions and distances among them stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.word_vectors import Vectors, read_vectors
from regard.errors import DataError
from regard.model.transformer import Model
from regard.text.tokenizer import Tokenizer

_SPACE_MARK = "\u2581"


def start_from_vectors(
    network: Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    files: Sequence[str],
    *,
    freeze: bool,
    say: Callable[[str], None],
) -> None:
    """Fill in the tables of a network on its device; of several files the first that has a word gives its vector."""
    tables = {name: side.embedding for name, side in network.sides.items()}
    if len(tables) == 2 and tables["source"] is tables["target"]:
        del tables["target"]
    for (side, table), tokenizer in zip(tables.items(), tokenizers, strict=False):
        words = whole_words(tokenizer)
        vectors = _vectors_of(words, files, table.embedding_dim)
        rows = _fill(table, vectors)
        if freeze:
            _hold(table.weight, rows)
        whose = f"{side} pieces" if len(tables) > 1 else "pieces"
        fixed = ", which stay as they are" if freeze else ""
        say(
            f"word vectors for {len(vectors):,} of the {len(words):,} whole words among "
            f"{tokenizer.vocab_size:,} {whose}{fixed}"
        )


def whole_words(tokenizer: Tokenizer) -> dict[int, str]:
    """The pieces that are words with a space before them, by their ids."""
    pieces = tokenizer.token_strings(range(tokenizer.vocab_size))
    return {
        id: piece.removeprefix(_SPACE_MARK)
        for id, piece in enumerate(pieces)
        if piece.startswith(_SPACE_MARK) and piece != _SPACE_MARK
    }


def _vectors_of(words: dict[int, str], files: Sequence[str], width: int) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    for file in files:
        missing = {id: word for id, word in words.items() if id not in found}
        wanted = {form for word in missing.values() for form in (word, word.lower())}
        vectors: Vectors = read_vectors(file, wanted, width)
        if not vectors:
            raise DataError(
                f"{file} must have vectors of words in the vocabulary: it has none; "
                "give vectors of one of the languages"
            )
        for id, word in missing.items():
            vector = vectors.get(word, vectors.get(word.lower()))
            if vector is not None:
                found[id] = vector
    return found


@torch.no_grad()
def _fill(table: nn.Embedding, vectors: dict[int, np.ndarray]) -> Tensor:
    """Write the rows; their ids."""
    weight = table.weight
    rows = torch.tensor(list(vectors), device=weight.device)
    values = torch.from_numpy(np.stack(list(vectors.values()))).to(weight)
    size = values.norm(dim=1).mean()
    # Fresh rows have the length 1 in the mean.
    weight[rows] = values / size if size > 0 else values
    return rows


def _hold(weight: Tensor, rows: Tensor) -> None:
    """Let no gradient reach these rows, so that Adam leaves them where they are."""
    weight.register_hook(lambda gradient: gradient.index_fill(0, rows, 0))
