"""The network at the start of a run: its device, and fresh weights, those of a given model, or rows from word vectors.

A row of an embedding table is filled where its token is a whole word that the vectors have, as written or in lower
case; all other rows are drawn at random. One factor scales the vectors to the size of random rows; directions and
ratios of distances stay as they were.
"""

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.word_vectors import read_vectors
from regard.engine.torch import to_state_dict
from regard.errors import DataError, UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.tensors import expected_tensors
from regard.model.linear import add_adapters
from regard.model.transformer import Model, build
from regard.text.tokenizer import TokenizerBase
from regard.train.corpora import Say, Tokenizers
from regard.train.optimizer import trained
from regard.train.plan import Plan

_SPACE_MARK = "\u2581"


def choose_device(wanted: str) -> torch.device:
    """The named device; `auto` is a GPU where there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"device must be one this machine has: got {wanted!r}; use cpu or auto") from error
    return device


def make_network(plan: Plan, tokenizers: Tokenizers, device: torch.device, say: Say) -> Model:
    if plan.train.threads:
        torch.set_num_threads(plan.train.threads)
    network = build(plan.model, plan.train.dropout or 0.0)
    if plan.init:
        tensors = read_tensors(plan.init)
        wanted = {name: tensors[name] for name in expected_tensors(plan.model)}
        network.load_state_dict(to_state_dict(wanted, plan.model))
    network.to(device)
    if plan.train.adapter:
        add_adapters(network, plan.train.adapter_rank)
        num_trained = sum(weight.numel() for weight in trained(network).values())
        say(f"adapters of rank {plan.train.adapter_rank}: {num_trained:,} numbers learn, all others stay")
    if plan.data.embeddings:
        start_from_vectors(network, tokenizers, plan.data.embeddings, say)
    return network


def start_from_vectors(network: Model, tokenizers: Tokenizers, files: Sequence[str], say: Say) -> None:
    """Fill the embedding tables of a network on its device; the first file that has a word gives its vector."""
    tables = {name: side.embedding for name, side in network.sides.items()}
    if len(tables) == 2 and tables["source"] is tables["target"]:
        del tables["target"]
    for (side, table), tokenizer in zip(tables.items(), tokenizers, strict=False):
        words = whole_words(tokenizer)
        vectors = _word_vectors(words, files, table.embedding_dim)
        rows = torch.tensor(list(vectors), device=table.weight.device)
        values = torch.from_numpy(np.stack(list(vectors.values()))).to(table.weight)
        size = values.norm(dim=1).mean()
        with torch.no_grad():
            # Random rows have a mean length of 1.
            table.weight[rows] = values / size if size > 0 else values
        say(f"word vectors for {len(vectors):,} of the {len(words):,} whole words among the {side} tokens")


def whole_words(tokenizer: TokenizerBase) -> dict[int, str]:
    """The tokens that are words with a space before them, by id."""
    tokens = tokenizer.token_strings(range(tokenizer.vocab_size))
    return {
        id: token.removeprefix(_SPACE_MARK)
        for id, token in enumerate(tokens)
        if token.startswith(_SPACE_MARK) and token != _SPACE_MARK
    }


def _word_vectors(words: dict[int, str], files: Sequence[str], width: int) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    for file in files:
        missing = {id: word for id, word in words.items() if id not in found}
        wanted = {form for word in missing.values() for form in (word, word.lower())}
        vectors = read_vectors(file, wanted, width)
        if not vectors:
            raise DataError(f"{file} must have vectors of words in the vocabulary: it has none; give another file")
        for id, word in missing.items():
            vector = vectors.get(word, vectors.get(word.lower()))
            if vector is not None:
                found[id] = vector
    return found
