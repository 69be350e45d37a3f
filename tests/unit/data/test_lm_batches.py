"""Running text as rows: nothing lost, nothing twice, the same again."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from batch_fixtures import epoch

from regard.data.batches import MASK, Batch, Masking
from regard.data.running_text import TextChunks, TextStream
from regard.errors import TrainingError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

SIZES = [1, 2, 11, 12, 13, 97, 250, 5]
TOKENIZER = Tokenizer.train(
    ["ka tomi re sunal", "bi dorando ya"], vocabulary=300, exact=False, signs=[MASK]
)
MASKING = Masking(TOKENIZER)


def documents(sizes: list[int] = SIZES) -> Ragged:
    """Every token of the text differs, so that none can be counted for another."""
    ends = np.cumsum([0, *sizes])
    return Ragged.of([list(range(a + 10, b + 10)) for a, b in zip(ends, ends[1:], strict=False)])


def stream(masked: bool = False, packing: bool = True, **changes: object) -> TextStream:
    values = dict(batch_tokens=73, seed=3, masking=MASKING if masked else None)
    chunks = TextChunks.of(words() if masked else documents(), 12, masked=masked)
    return TextStream(chunks, packing=packing, **{**values, **changes})  # type: ignore[arg-type]


def words() -> Ragged:
    """Tokens of the vocabulary, none special."""
    ordinary = [id for id in range(TOKENIZER.vocab_size) if id not in TOKENIZER.special_ids]
    rng = np.random.default_rng(2)
    return Ragged.of([rng.choice(ordinary, size).tolist() for size in SIZES])


def rows(batch: Batch) -> list[tuple[list[int], list[int]]]:
    """Input and output of each real sequence, cut out by the lengths alone."""
    found = []
    if batch.packed:
        ends = np.cumsum(batch.target_lengths)
        for start, end in zip([0, *ends], ends, strict=False):
            found.append(
                (
                    batch.target_input[0, start:end].tolist(),
                    batch.target_output[0, start:end].tolist(),
                )
            )
    else:
        for row, length in enumerate(batch.target_lengths):
            found.append(
                (
                    batch.target_input[row, :length].tolist(),
                    batch.target_output[row, :length].tolist(),
                )
            )
    return [(i, o) for i, o in found if i and i[0] != PAD_ID]


def expected_steps() -> list[tuple[int, int]]:
    steps = []
    for ids in documents().lists():
        whole = [BOS_ID, *ids, EOS_ID]
        steps += list(zip(whole, whole[1:], strict=False))
    return sorted(steps)


@pytest.mark.parametrize("packing", [True, False])
def test_an_epoch_asks_for_every_token_once_after_the_one_before_it(packing: bool) -> None:
    for number in range(2):
        found = [row for batch in epoch(stream(packing=packing), number) for row in rows(batch)]
        steps = [step for i, o in found for step in zip(i, o, strict=True)]
        assert sorted(steps) == expected_steps()
        assert max(len(i) for i, _ in found) == 12
        assert all(i[1:] == o[:-1] for i, o in found)


def test_beginning_and_end_stand_only_where_a_document_begins_and_ends() -> None:
    found = [row for batch in epoch(stream()) for row in rows(batch)]
    assert sum(i.count(BOS_ID) for i, _ in found) == len(SIZES)
    assert sum(o.count(EOS_ID) for _, o in found) == len(SIZES)
    assert all(BOS_ID not in i[1:] and EOS_ID not in o[:-1] for i, o in found)


def test_packed_batches_have_one_shape_and_are_nearly_full() -> None:
    batches = epoch(stream(batch_tokens=149))
    assert len({(b.target_input.shape, b.target_lengths.shape) for b in batches}) == 1
    assert batches[0].target_input.shape == (1, 149) and batches[0].source.shape == (1, 0)
    assert max(batch.target_lengths.max() for batch in batches) <= 12
    real = sum(batch.num_tokens for batch in batches)
    assert real == len(expected_steps())


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("packing", [True, False])
def test_a_stream_goes_on_exactly_where_it_stood(masked: bool, packing: bool) -> None:
    whole = list(islice(stream(masked, packing), 40))
    cut = stream(masked, packing)
    for _ in range(17):
        next(cut)
    again = stream(masked, packing)
    again.restore(cut.state())
    for expected, got in zip(whole[17:], islice(again, 23), strict=True):
        for name in ("target_input", "target_output", "target_lengths"):
            assert np.array_equal(getattr(expected, name), getattr(got, name))


def test_a_changed_text_is_noticed() -> None:
    state = stream().state()
    other = TextStream(
        TextChunks.of(documents([*SIZES[:-1], 6]), 12, masked=False),
        batch_tokens=73,
        packing=True,
        seed=3,
    )
    with pytest.raises(TrainingError, match="they have changed"):
        other.restore(state)


def test_rows_that_a_batch_cannot_hold_are_refused() -> None:
    with pytest.raises(UsageError, match="room for a row of 12 tokens: got 11"):
        stream(batch_tokens=11, packing=False)
    with pytest.raises(UsageError, match="max_length must be at least 2"):
        TextChunks.of(documents(), 1, masked=False)


def test_to_fill_in_blanks_texts_are_read_whole_and_short_ones_too() -> None:
    found = []
    for number in range(9):
        found += [row for batch in epoch(stream(masked=True), number) for row in rows(batch)]
    assert all(i[-1] == EOS_ID and BOS_ID not in i and EOS_ID not in i[:-1] for i, _ in found)
    assert max(len(i) for i, _ in found) == 12
    total = sum(len(i) - 1 for i, _ in found)
    assert total == 9 * sum(SIZES)


def test_validation_reads_all_of_it_always_with_the_same_blanks() -> None:
    chunks = TextChunks.of(words(), 12, masked=True)
    first, second = (list(chunks.even_batches(60, MASKING, 7)) for _ in range(2))
    assert sum(len(i) - 1 for batch in first for i, _ in rows(batch)) == sum(SIZES)
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.target_input, other.target_input)
        assert np.array_equal(one.target_output, other.target_output)
    plain = list(TextChunks.of(documents(), 12, masked=False).even_batches(60, None, 7))
    steps = [s for batch in plain for i, o in rows(batch) for s in zip(i, o, strict=True)]
    assert sorted(steps) == expected_steps()
