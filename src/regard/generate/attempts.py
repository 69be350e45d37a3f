"""Of several ways to go on from a text the one that the model is surest of.

A model that knows stories by heart is nearly sure of every piece while it tells one, and of few while it makes one up. So
several ways to go on are begun side by side, and the one whose pieces were most probable is gone on with: best-of-n
sampling, with the model's own certainty as its judge. One that speaks of whom the text names comes before others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.config import DecodeConfig
from regard.decode import Constraints, Hypothesis, StepModel, StepRecord, sample_side_by_side
from regard.text.tokenizer_base import TokenizerBase
from regard.translate.translator import Translator

NUM_PIECES = 96
"""of each way before one is chosen"""
_NAMES_WORTH = 0.15
"""what it is worth, in nats a piece, that all of the names come again"""
_WORD_START, _LINE_END = "\u2581", "<0x0A>"
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ][\w'-]*\w")


def surest(
    model: StepModel,
    translator: Translator,
    prefix: Sequence[int],
    decode: DecodeConfig,
    *,
    history: list[StepRecord] | None = None,
    number: int = 0,
) -> Iterator[Hypothesis | None]:
    """Nothing after each step, and in the end the one that is chosen, its prefix included."""
    config, target = translator.config, translator.target
    limit = len(prefix) + NUM_PIECES
    steps = sample_side_by_side(
        model,
        [],
        replace(decode, n_best=decode.attempts, max_length=min(limit, decode.max_length or limit)),
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=Constraints(prefix=list(prefix)),
        history=history,
        number=number,
    )
    names = names_in(target.decode(prefix), target)
    for found in steps:
        if found:
            yield max(found, key=lambda each: _worth(each, len(prefix), names, target))
        else:
            yield None


def _worth(found: Hypothesis, start: int, names: set[str], target: TokenizerBase) -> float:
    own = found.tokens[start:]
    # A new name is one of hundreds, so never sure: counted, it would lose against a name that somebody has already.
    # The end of a text is counted, or one that says nothing would be the surest.
    is_name = [*_in_names(target.token_strings(own)), False]
    values = zip(found.token_log_probabilities[start:], is_name, strict=False)
    counted = [value for value, is_part_of_one in values if not is_part_of_one]
    if not own or not counted:
        return -math.inf
    said = target.decode(own)
    again = sum(bool(re.search(rf"\b{re.escape(name)}\b", said)) for name in names)
    return sum(counted) / len(counted) + (_NAMES_WORTH * again / len(names) if names else 0.0)


def _in_names(pieces: Sequence[str]) -> list[bool]:
    """Which are part of a word with a capital.

    >>> _in_names(["\u2581met", '\u2581"', "Qu", "ill", "on", ',"', "\u2581he"])
    [False, False, True, True, True, True, False]
    >>> _in_names(["\u2581ran", ".", "<0x0A>", "Qu", "ill"])
    [False, False, False, True, True]
    """
    found: list[bool] = []
    first = ""
    for piece in pieces:
        if piece == _LINE_END or piece.startswith(_WORD_START):
            first = ""
        if piece != _LINE_END:
            first = first or next(filter(str.isalpha, piece), "")
        found.append(first.isupper())
    return found


def names_in(text: str, target: TokenizerBase) -> set[str]:
    """Words with a capital that are no words without it, as far as the pieces tell: Jack and Rose are not found.

    It's and I'm are none, and of Tom's it is Tom.
    """
    words = {word.partition("'")[0] for word in _CAPITAL.findall(text.replace("\u2019", "'"))}
    return {word for word in words if len(word) > 1 and len(target.encode(word.lower())) > 1}
