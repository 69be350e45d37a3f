"""A model to look into: its network, its engine, its two tokenizers, and the words that its tokens make."""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from regard.config import ModelConfig
from regard.decode import StepModel
from regard.engine import open_engine
from regard.engine.torch import load_model
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import Manifest, read_manifest
from regard.model.transformer import Model
from regard.text.tokenizer import SPACE_MARK, TokenizerBase

_INSIDE_WORDS = "'\u2019-"  # punctuation that does not part two words


@dataclass(frozen=True)
class Subject:
    """A loaded model, as the page needs it."""

    name: str
    manifest: Manifest
    network: Model
    source: TokenizerBase
    target: TokenizerBase
    engine: StepModel | None = None  # the engine that `translate` uses; without it torch searches
    folder: Path | None = None  # where it was loaded from
    step: int | None = None  # of the training run that had these weights, where it is a snapshot

    @classmethod
    def open(
        cls, folder: Path, network: Model | None = None, engine: StepModel | None = None, target_language: str = ""
    ) -> Self:
        """Load a model folder, or take the network and the engine that were loaded from it.

        target_language: of a model of several the one to write, by default the first.
        """
        manifest = read_manifest(folder)
        manifest = manifest.toward(target_language or next(iter(manifest.target_languages), None))
        source, target = open_tokenizers(folder, manifest.tokenizer)
        network = network or load_model(folder)[0]
        if engine is None and manifest.task == "translate":
            engine = open_engine(folder)
        return cls(folder.resolve().name, manifest, network, source, target, engine, folder)

    @property
    def config(self) -> ModelConfig:
        return self.manifest.model

    def tokenizer(self, side: str) -> TokenizerBase:
        return self.source if side == "source" else self.target

    def table(self, side: str) -> np.ndarray:
        """The embedding table of a side, a row for each token."""
        embedding: Any = getattr(self.network, side).embedding
        return embedding.weight.detach().numpy()


def words(tokens: Sequence[int], strings: Sequence[str], special: Collection[int]) -> list[list[int]]:
    """The first and last token of each word: words are separated by spaces and punctuation.

    >>> words([8, 5, 6, 7, 9, 3], ["▁l", "'", "Af", "rique", ".", "</s>"], {3})
    [[0, 3], [4, 4], [5, 5]]
    """
    spans: list[list[int]] = []
    alone = True
    for i, (token, string) in enumerate(zip(tokens, strings, strict=True)):
        signs = string.removeprefix(SPACE_MARK)
        is_punctuation = all(unicodedata.category(each)[0] == "P" and each not in _INSIDE_WORDS for each in signs)
        lone = token in special or bool(signs) and is_punctuation
        if alone or lone or string.startswith(SPACE_MARK):
            spans.append([i, i])
        else:
            spans[-1][1] = i
        alone = lone
    return spans
