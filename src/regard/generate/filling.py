"""Blanks filled in: what may stand where a text has none, by a model that reads it whole (BERT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from regard.errors import ModelError, UsageError
from regard.folder.manifest import Manifest
from regard.text.tokenizer_base import TokenizerBase

_SPACE_MARK = "\u2581"


class Reader(Protocol):
    """An engine that has an encoder alone."""

    def log_probabilities(self, tokens: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """[places, vocabulary]: what may stand at these places of a text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One word that may stand in a blank."""

    word: str
    probability: float
    text: str
    """with the word in its place; the other blanks stay"""

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "probability": self.probability, "text": self.text}


def with_blanks(manifest: Manifest, tokenizer: TokenizerBase, text: str) -> list[int]:
    """What the encoder reads of a text, whose blanks are one piece each."""
    mask = manifest.tokenizer.mask
    if manifest.model.has_decoder:
        text = manifest.as_read(tokenizer)(text)
    parts = text.split(mask) if mask else [text]
    if len(parts) == 1:
        return [*tokenizer.beginning, *tokenizer.encode(text), manifest.model.eos_id]
    blank = tokenizer.id_of(mask)
    if blank is None:
        raise ModelError(f"the tokenizer must have the piece {mask}: it has not; get it again")
    return [
        *tokenizer.beginning,
        *tokenizer.encode_around(parts, blank),
        manifest.model.eos_id,
    ]


def fill(
    engine: Reader, manifest: Manifest, tokenizer: TokenizerBase, text: str, count: int
) -> list[list[Choice]]:
    """For each blank of a text the most probable words, best first."""
    mask = manifest.tokenizer.mask
    if not mask:
        raise ModelError("the model must have a piece that stands for a blank: it has none")
    parts = text.split(mask)
    if len(parts) == 1:
        raise UsageError(f"a text to fill must have a blank, written {mask}: got {text!r}")
    ids = with_blanks(manifest, tokenizer, text)
    places = [place for place, id in enumerate(ids) if id == tokenizer.id_of(mask)]
    if manifest.model.position == "learned" and len(ids) > manifest.model.max_positions:
        raise UsageError(
            f"a text to fill must have at most {manifest.model.max_positions} pieces: got {len(ids)}; "
            "give a part of it"
        )
    values = engine.log_probabilities(ids, places)
    values[:, sorted(tokenizer.special_ids)] = -np.inf
    found = []
    for blank_number, row in enumerate(values):
        best = np.argsort(-row, kind="stable")[:count]
        before, after = mask.join(parts[: blank_number + 1]), mask.join(parts[blank_number + 1 :])
        choices = []
        for piece, id in zip(tokenizer.token_strings(best.tolist()), best, strict=True):
            word = piece.replace(_SPACE_MARK, "")
            choices.append(Choice(word, float(np.exp(row[id])), before + word + after))
        found.append(choices)
    return found
