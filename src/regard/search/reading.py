"""Texts to vectors: pieces in, each word's vector in context out, and one for the whole text.

vector = mean over the pieces, scaled to length 1
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.batches import batches_for_inference
from regard.engine import Encoder, open_encoder
from regard.folder.checkpoint import WEIGHTS, open_tokenizers
from regard.folder.manifest import Manifest, read_manifest
from regard.search.passages import MOST_PIECES
from regard.text.tokenizer_base import Span, TokenizerBase

_MOST_LETTERS = 64
"""of a piece, in any vocabulary"""
_BATCH_PIECES = 4096
"""that are read together"""

Progress = Callable[[int, int], None]
"""told how many passages are done, and of how many"""


class Reader:
    """A model's encoder with its tokenizer."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.folder, self.encoder = folder, encoder
        self.manifest: Manifest = read_manifest(folder)
        self.tokenizer: TokenizerBase = open_tokenizers(folder, self.manifest.tokenizer)[0]

    @classmethod
    def open(cls, folder: Path, **options: Any) -> Reader:
        """Of a model folder; the options are those of `open_encoder`."""
        return cls(folder, open_encoder(folder, **options))

    @property
    def longest(self) -> int:
        """TokenizerBase of the longest text that is read at once, its beginning and end left out."""
        most = self.manifest.longest
        if self.manifest.model.position == "learned":
            most = min(most, self.manifest.model.max_positions)
        return most - len(self.tokenizer.beginning) - 1

    @property
    def most_pieces(self) -> int:
        """Of a passage."""
        return min(MOST_PIECES, self.longest)

    def count(self, text: str) -> int:
        """TokenizerBase of a text; one that is certainly too long is not counted to its end."""
        if len(text) > _MOST_LETTERS * self.longest:
            return len(text)
        return len(self.tokenizer.encode(text))

    def vectors(
        self, texts: Sequence[str], progress: Progress = lambda done, total: None
    ) -> np.ndarray:
        """[texts, features]: a vector of length 1 for each; texts that are the same are read once."""
        different = list(dict.fromkeys(texts))
        ids = [self._ids(pieces) for pieces in self.tokenizer.encode_batch(different)]
        known: dict[str, np.ndarray] = {}
        for group in batches_for_inference(ids, _BATCH_PIECES) if ids else ():
            for i, words in zip(group, self.encoder.vectors([ids[i] for i in group]), strict=True):
                known[different[i]] = normalised(words.mean(axis=0))
            progress(len(known), len(different))
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.width))

    @property
    def width(self) -> int:
        """Features of a vector."""
        config = self.manifest.model
        return config.d_state if config.is_recurrent else config.d_model

    def token_strings(self, texts: Sequence[str]) -> list[tuple[list[Span], np.ndarray]]:
        """For each text where its pieces stand, and the vectors in context of each."""
        before = len(self.tokenizer.beginning)
        ids = [self._ids(pieces) for pieces in self.tokenizer.encode_batch(texts)]
        found: dict[int, np.ndarray] = {}
        for group in batches_for_inference(ids, _BATCH_PIECES) if ids else ():
            found.update(zip(group, self.encoder.vectors([ids[i] for i in group]), strict=True))
        return [
            (self.tokenizer.spans_in(text), found[i][before:-1]) for i, text in enumerate(texts)
        ]

    @functools.cached_property
    def fingerprint(self) -> str:
        """What its vectors depend on: other weights, another tokenizer or other arithmetic give others."""
        digest = hashlib.sha256(self.manifest.to_json().encode())
        digest.update(f"{self.encoder.precision} {self.most_pieces}".encode())
        for name in sorted({WEIGHTS, *self.manifest.tokenizer.names}):
            with open(self.folder / name, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def _ids(self, pieces: Sequence[int]) -> list[int]:
        return [*self.tokenizer.beginning, *pieces, self.manifest.model.eos_id]


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Of length 1 along the last axis; a vector of zeros stays one."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: np.ndarray = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return scaled
