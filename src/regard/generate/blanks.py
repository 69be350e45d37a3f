"""Blanks filled in by a model that reads the whole text, such as BERT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from regard.errors import ModelError, UsageError
from regard.folder.manifest import Manifest
from regard.text.tokenizer import TokenizerBase
from regard.translate.pipeline import encode_with_blanks

_SPACE_MARK = "\u2581"


class MaskedModel(Protocol):
    """An engine with an encoder alone."""

    def log_probabilities(self, tokens: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """[places, vocabulary]"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A word for a blank."""

    word: str
    probability: float
    text: str
    """the text with the word in its place; other blanks stay"""

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "probability": self.probability, "text": self.text}


def fill(
    engine: MaskedModel, manifest: Manifest, tokenizer: TokenizerBase, text: str, count: int
) -> list[list[Choice]]:
    """The most probable words for each blank, best first."""
    mask = manifest.tokenizer.mask
    if not mask:
        raise ModelError("the model must have a token that stands for a blank: it has none")
    parts = text.split(mask)
    if len(parts) == 1:
        raise UsageError(f"a text to fill must have a blank, written {mask}: got {text!r}")
    ids = encode_with_blanks(manifest, tokenizer, text)
    if manifest.model.position == "learned" and len(ids) > manifest.model.max_positions:
        raise UsageError(
            f"a text to fill must have at most {manifest.model.max_positions} tokens: got {len(ids)}; "
            "give a part of it"
        )
    blank = tokenizer.id_of(mask)
    values = engine.log_probabilities(ids, [place for place, id in enumerate(ids) if id == blank])
    values[:, sorted(tokenizer.special_ids)] = -np.inf
    found = []
    for number, row in enumerate(values, start=1):
        best = np.argsort(-row, kind="stable")[:count]
        before, after = mask.join(parts[:number]), mask.join(parts[number:])
        words = [token.replace(_SPACE_MARK, "") for token in tokenizer.token_strings(best.tolist())]
        found.append(
            [
                Choice(word, float(np.exp(row[id])), before + word + after)
                for word, id in zip(words, best, strict=True)
            ]
        )
    return found
