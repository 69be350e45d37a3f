"""Masked language modelling: some tokens of a text are to be predicted, most of them hidden.

Devlin et al. 2019, section 3.1: of the tokens to predict 80 % are replaced by [MASK], 10 % by a random token, and 10 %
stay, because a text in use holds no [MASK]. They are drawn anew for every batch (Liu et al. 2019, section 4.1: dynamic
masking).

Differs from BERT: the share is exact in every batch instead of in every text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.batches import Batch
from regard.errors import ModelError
from regard.text.tokenizer import PAD_ID, Tokenizer

MASK = "[MASK]"
"""the token of a blank"""


def num_asked(share: float, num_tokens: int) -> int:
    """The number of tokens to predict; it never falls with the number of tokens."""
    return min(num_tokens, max(1, round(share * num_tokens)))


@dataclass(frozen=True)
class Masking:
    """The share of tokens to predict, and the shares of those that are hidden or replaced; the rest stay."""

    tokenizer: Tokenizer
    share: float = 0.15
    hidden: float = 0.8
    random: float = 0.1

    def __post_init__(self) -> None:
        if self.tokenizer.id_of(MASK) is None:
            raise ModelError(
                f"the tokenizer must have the token {MASK}: it has not; train a new one, or use that of a model "
                "that fills in blanks"
            )

    def __call__(self, batch: Batch, seed: Sequence[int]) -> Batch:
        """From a batch whose output is the text: the input has blanks, the output their tokens, and padding elsewhere."""
        generator = np.random.default_rng(list(seed))
        special = np.zeros(self.tokenizer.vocab_size, bool)
        special[list(self.tokenizer.special_ids)] = True
        text = batch.target_output
        places = np.flatnonzero(~special[text])
        count = num_asked(self.share, len(places))
        asked = np.sort(generator.choice(places, count, replace=False))
        drawn = generator.random(count)
        random_tokens = generator.choice(np.flatnonzero(~special), count)
        answers = text.flat[asked]
        given = np.where(drawn < self.hidden + self.random, random_tokens, answers)
        given[drawn < self.hidden] = self.tokenizer.id_of(MASK)
        with_blanks, correct = text.copy(), np.full_like(text, PAD_ID)
        with_blanks.flat[asked] = given
        correct.flat[asked] = answers
        return dataclasses.replace(batch, target_input=with_blanks, target_output=correct)
