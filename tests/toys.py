"""A toy model for the searches: its logits depend on the source and on everything written so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from regard.config import ModelConfig

PAD, UNKNOWN, BOS, EOS = range(4)
SOURCES = [[5, 6, 3], [4, 3], [8, 4, 4, 9, 5, 7, 3], [10, 9, 8, 7, 3]]
CONFIG = ModelConfig(bos_id=BOS, eos_id=EOS, pad_id=PAD)

Logits = Callable[[tuple[int, ...], tuple[int, ...]], np.ndarray]
"""(source, tokens so far) -> logits [vocab]"""


@dataclass
class ToyState:
    """Keeps real rows, so that a search that selects wrongly also writes wrongly."""

    sources: Any
    tokens: Any
    attention: Any = None

    def select(self, indices: Any) -> ToyState:
        assert type(indices) is type(self.tokens) and indices.ndim == 1
        attention = None if self.attention is None else self.attention[indices]
        return ToyState(self.sources[indices], self.tokens[indices], attention)


@dataclass
class ToyModel:
    """Speaks NumPy, or torch where it has a device."""

    logits: Logits
    device: str | None = None
    rows: list[int] = field(default_factory=list)
    """how many rows each step had"""
    config: ModelConfig = CONFIG

    def array(self, values: np.ndarray) -> Any:
        return values if self.device is None else torch.from_numpy(values)

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> ToyState:
        width = max(map(len, sources))
        padded = np.array([[*source] + [PAD] * (width - len(source)) for source in sources], dtype=np.int64)
        tokens = np.zeros((len(sources), 0), dtype=np.int64)
        weights = self.array(np.zeros((len(sources), width))) if attention else None
        return ToyState(self.array(padded.reshape(len(sources), width)), self.array(tokens), weights)

    def step(self, tokens: Any, state: ToyState) -> tuple[Any, ToyState]:
        assert type(tokens) is type(state.tokens) and tokens.ndim == 1
        written = np.concatenate([np.asarray(state.tokens), np.asarray(tokens)[:, None]], axis=1)
        assert (written[:, 0] == BOS).all()
        sources = [tuple(token for token in row if token != PAD) for row in np.asarray(state.sources).tolist()]
        so_far = [tuple(row[1:]) for row in written.tolist()]
        self.rows.append(len(so_far))
        logits = np.stack([self.logits(*row) for row in zip(sources, so_far, strict=True)])
        attention = None
        if state.attention is not None:
            attention = np.zeros(state.attention.shape)
            for row, pair in enumerate(zip(sources, so_far, strict=True)):
                attention[row, : len(pair[0])] = toy_attention(*pair)
            attention = self.array(attention)
        return self.array(logits), ToyState(state.sources, self.array(written), attention)


def hashed(vocab: int, scale: float = 2.0, seed: int = 0) -> Logits:
    """Logits without any pattern; no two prefixes share them."""

    def logits(source: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
        generator = np.random.default_rng([seed, *source, 1009, *tokens])
        return (scale * generator.standard_normal(vocab)).astype(np.float32)

    return logits


def bigram(table: dict[int, dict[int, float]], vocab: int) -> Logits:
    """Probabilities of the next token after the last one; what is not named is impossible."""

    def logits(source: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
        row = np.full(vocab, -np.inf, dtype=np.float32)
        for token, probability in table[tokens[-1] if tokens else BOS].items():
            row[token] = np.log(probability)
        return row

    return logits


def contains(tokens: Sequence[int], word: Sequence[int]) -> bool:
    return any(tokens[at : at + len(word)] == word for at in range(len(tokens)))


def toy_attention(source: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng([7, *source, 1013, *tokens])
    return generator.dirichlet(np.full(len(source), 0.3))


def log_probabilities(logits: Logits, source: Sequence[int], tokens: Sequence[int]) -> np.ndarray:
    row = logits(tuple(source), tuple(tokens)).astype(np.float64)
    return row - np.log(np.exp(row - row.max()).sum()) - row.max()
