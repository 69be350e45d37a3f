"""Texts to vectors with a model's encoder: one for each token in context, and one for the whole text.

vector of a text = mean over its tokens, or that of [CLS] where a model was trained so, scaled to length 1
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from regard.data.batches import batches_for_inference
from regard.engine import VectorEngine, open_encoder
from regard.folder.checkpoint import WEIGHTS, open_tokenizers
from regard.folder.manifest import CONFIG, Manifest, read_manifest
from regard.search.passages import MAX_TOKENS
from regard.text import Span
from regard.text.tokenizer import TokenizerBase

_MAX_LETTERS = 64  # letters of the longest token of any vocabulary
_BATCH_TOKENS = 4096

OnProgress = Callable[[int, int], None]  # called with the number of passages done, and of all


class TextEncoder:
    """A model's encoder with its tokenizer."""

    def __init__(self, folder: Path, encoder: VectorEngine) -> None:
        self.folder, self.encoder = folder, encoder
        self.manifest: Manifest = read_manifest(folder)
        self.tokenizer: TokenizerBase = open_tokenizers(folder, self.manifest.tokenizer)[0]

    @classmethod
    def open(cls, folder: Path, **options: Any) -> Self:
        """Of a model folder; the options are those of `open_encoder`."""
        return cls(folder, open_encoder(folder, **options))

    @property
    def longest(self) -> int:
        """Tokens of the longest text that is read at once, special tokens not counted."""
        most = self.manifest.longest
        if self.manifest.model.position == "learned":
            most = min(most, self.manifest.model.max_positions)
        return most - len(self.tokenizer.beginning) - 1

    def count(self, text: str) -> int:
        """Tokens of a text; of one that is certainly too long only an upper bound."""
        if len(text) > _MAX_LETTERS * self.longest:
            return len(text)
        return len(self.tokenizer.encode(text))

    def vectors(self, texts: Sequence[str], progress: OnProgress = lambda done, total: None) -> np.ndarray:
        """[texts, features]: a vector of length 1 for each; equal texts are read once."""
        different = list(dict.fromkeys(texts))
        known: dict[str, np.ndarray] = {}
        for place, tokens in self._encode(different):
            known[different[place]] = normalised(tokens[0] if self.manifest.pooling == "cls" else tokens.mean(axis=0))
            progress(len(known), len(different))
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.width))

    @property
    def width(self) -> int:
        """Features of a vector."""
        config = self.manifest.model
        return config.d_state if config.is_recurrent else config.d_model

    def token_vectors(self, texts: Sequence[str]) -> list[tuple[list[Span], np.ndarray]]:
        """For each text the spans of its tokens, and their vectors in context."""
        before, found = len(self.tokenizer.beginning), dict(self._encode(texts))
        return [(self.tokenizer.spans_in(text), found[i][before:-1]) for i, text in enumerate(texts)]

    def _encode(self, texts: Sequence[str]) -> Iterator[tuple[int, np.ndarray]]:
        """The place of each text, and the vectors of its tokens, special ones included; batch by batch."""
        beginning, eos_id = self.tokenizer.beginning, self.manifest.model.eos_id
        ids = [[*beginning, *tokens, eos_id] for tokens in self.tokenizer.encode_batch(texts)]
        for group in batches_for_inference(ids, _BATCH_TOKENS) if ids else ():
            yield from zip(group, self.encoder.vectors([ids[i] for i in group]), strict=True)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A checksum of all that the vectors depend on: configuration, weights, tokenizer and arithmetic."""
        digest = hashlib.sha256((self.folder / CONFIG).read_bytes())
        digest.update(f"{self.encoder.precision} {min(MAX_TOKENS, self.longest)}".encode())
        for name in sorted({WEIGHTS, *self.manifest.tokenizer.names}):
            with open(self.folder / name, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1 along the last axis; zeros stay zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(length, 1e-12)).astype(np.float32)
