"""Blanks for a model to fill in: some pieces of a text are asked for, most of them hidden.

Devlin et al. 2019, section 3.1: of the pieces that are asked for 80 % are replaced by [MASK], 10 % by a random piece,
and 10 % stay, for in use a text has no [MASK] where its other words are read. Which ones is drawn anew for every batch
(Liu et al. 2019, section 4.1: dynamic masking).

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
"""the piece that stands for a blank"""


def num_asked(share: float, num_pieces: int) -> int:
    """How many of so many pieces are asked for; of more never fewer."""
    return min(num_pieces, max(1, round(share * num_pieces)))


@dataclass(frozen=True)
class Masking:
    """How much is asked for, and what stands there instead; the rest of it stays as it is."""

    tokenizer: Tokenizer
    share: float = 0.15
    hidden: float = 0.8
    random: float = 0.1

    def __post_init__(self) -> None:
        if self.tokenizer.id_of(MASK) is None:
            raise ModelError(
                f"the tokenizer must have the piece {MASK}: it has not; let one be learnt, or use that of a model "
                "that fills in blanks"
            )

    def __call__(self, batch: Batch, seed: Sequence[int]) -> Batch:
        """The batch whose output is the text: its input has blanks, its output what belongs there, else padding."""
        generator = np.random.default_rng(list(seed))
        special = np.zeros(self.tokenizer.vocab_size, bool)
        special[list(self.tokenizer.special_ids)] = True
        text = batch.target_output
        places = np.flatnonzero(~special[text])
        count = num_asked(self.share, len(places))
        asked = np.sort(generator.choice(places, count, replace=False))
        drawn = generator.random(count)
        pieces = generator.choice(np.flatnonzero(~special), count)
        answers = text.flat[asked]
        given = np.where(drawn < self.hidden + self.random, pieces, answers)
        given[drawn < self.hidden] = self.tokenizer.id_of(MASK)
        with_blanks, correct = text.copy(), np.full_like(text, PAD_ID)
        with_blanks.flat[asked] = given
        correct.flat[asked] = answers
        return dataclasses.replace(batch, target_input=with_blanks, target_output=correct)
