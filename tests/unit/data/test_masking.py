"""BERT's blanks: how many, what stands there, and what is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.batches import MASK, Batch, Masking, make_batch, num_asked
from regard.errors import ModelError
from regard.text.ragged import Ragged
from regard.text.tokenizer import EOS_ID, PAD_ID, Tokenizer

TEXT = ["ka tomi re sunal", "bi dorando ya"]
TOKENIZER = Tokenizer.train(TEXT, vocabulary=300, exact=False, signs=[MASK])
SPECIAL = np.array(sorted(TOKENIZER.special_ids))


def batch_of(num_rows: int, length: int, seed: int = 1) -> Batch:
    ordinary = [id for id in range(TOKENIZER.vocab_size) if id not in TOKENIZER.special_ids]
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, length, num_rows)
    target = Ragged.of([[EOS_ID, *rng.choice(ordinary, n), EOS_ID] for n in lengths])
    return make_batch(Ragged.of([()] * num_rows), target, np.arange(num_rows))


def test_what_is_asked_for_and_what_stands_there() -> None:
    batch = batch_of(199, 307)
    text = batch.target_output
    masked = Masking(TOKENIZER)(batch, [5, 2])
    asked = masked.target_output != PAD_ID
    num_tokens = int((~np.isin(text, SPECIAL)).sum())
    assert asked.sum() == round(0.15 * num_tokens)
    assert not np.isin(text[asked], SPECIAL).any()
    assert np.array_equal(masked.target_output[asked], text[asked])
    assert np.array_equal(masked.target_input[~asked], text[~asked])
    given = masked.target_input[asked]
    num_asked, mask_id = int(asked.sum()), TOKENIZER.id_of(MASK)
    hidden, kept = (given == mask_id).mean(), (given == text[asked]).mean()
    four_sigma = 4 * np.sqrt(0.25 / num_asked)
    assert abs(hidden - 0.8) < four_sigma and abs(kept - 0.1) < four_sigma
    replaced = given[(given != mask_id) & (given != text[asked])]
    assert not np.isin(replaced, SPECIAL).any()
    assert abs(len(replaced) / num_asked - 0.1) < four_sigma
    assert len(np.unique(replaced)) > 0.6 * (TOKENIZER.vocab_size - len(SPECIAL))


def test_every_batch_draws_anew_and_the_same_seed_the_same() -> None:
    batch, masking = batch_of(7, 31), Masking(TOKENIZER)
    first, again, other = (masking(batch, seed) for seed in ([5, 2], [5, 2], [5, 3]))
    assert np.array_equal(first.target_input, again.target_input)
    assert not np.array_equal(first.target_output, other.target_output)


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_no_batch_asks_for_more_than_its_places_allow(share: float) -> None:
    for size in range(3, 40):
        batch = batch_of(1, size)
        asked = Masking(TOKENIZER, share)(batch, [7, size]).target_output != PAD_ID
        assert asked.sum() <= num_asked(share, batch.target_output.size)


def test_a_tokenizer_without_the_sign_is_refused() -> None:
    with pytest.raises(ModelError, match=r"must have the token \[MASK\]"):
        Masking(Tokenizer.train(TEXT, vocabulary=300, exact=False))
